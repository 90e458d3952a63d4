//! Says that an answer is recorded, and forgets it: every retry is new.

use std::time::Duration;

use async_trait::async_trait;
use idem_sled::SledStore;
use idempotency::{
    Answer, Completion, Error, Holder, IdempotencyStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};

pub(super) struct Forget(pub(super) SledStore);

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for Forget {
    async fn complete(&self, holder: &Holder, _: &Answer) -> Result<Completion, Error> {
        self.0.release(holder).await?;
        let remembered_for = Terms::default().retention();
        Ok(Completion::Completed { remembered_for })
    }

    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.0.reserve(request).await
    }
    async fn renew(&self, h: &Holder, t: Terms, p: Option<&Progress>) -> Result<Update, Error> {
        self.0.renew(h, t, p).await
    }
    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.abandon(holder).await
    }
    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.release(holder).await
    }
    async fn changed(&self, record: &RecordId, within: Duration) {
        self.0.changed(record, within).await;
    }
}
