//! A reference, a box or an `Arc` of a store is a store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, Outcome,
    Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};

macro_rules! forward_to_inner {
    ($($pointer:ty),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: IdempotencyStore + ?Sized> IdempotencyStore for $pointer {
            async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
                (**self).reserve(request).await
            }

            async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
                (**self).complete(holder, answer).await
            }

            async fn renew(
                &self,
                holder: &Holder,
                terms: Terms,
                progress: Option<&Progress>,
            ) -> Result<Update, Error> {
                (**self).renew(holder, terms, progress).await
            }

            async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
                (**self).abandon(holder).await
            }

            async fn release(&self, holder: &Holder) -> Result<Update, Error> {
                (**self).release(holder).await
            }

            async fn changed(&self, record: &RecordId, within: Duration) {
                (**self).changed(record, within).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Inspect + ?Sized> Inspect for $pointer {
            async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
                (**self).get(record).await
            }

            async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
                (**self).lapsed(after, limit).await
            }

            async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
                (**self).purge_expired(limit).await
            }
        }
    )*};
}

forward_to_inner!(&T, Box<T>, Arc<T>);
