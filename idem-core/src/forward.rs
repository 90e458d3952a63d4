//! A reference, a box or an `Arc` of a store is a store, and of a cache a cache.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Answer, Cache, CacheKey, CacheValue, Completion, Cursor, Error, Holder, IdempotencyStore,
    Inspect, LapsedPage, Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms,
    Update,
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

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Cache + ?Sized> Cache for $pointer {
            fn is_shared(&self) -> bool {
                (**self).is_shared()
            }

            async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
                (**self).get(key).await
            }

            async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
                (**self).put(key, value, time_to_live).await
            }

            async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
                (**self).remove(key).await
            }
        }
    )*};
}

forward_to_inner!(&T, Box<T>, Arc<T>);
