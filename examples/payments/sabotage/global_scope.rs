//! Keeps all keys in one scope: clients meet each other's records.

use std::time::Duration;

use async_trait::async_trait;
use idem_sled::SledStore;
use idempotency::{
    Answer, Completion, Error, Holder, IdempotencyStore, Outcome, Progress, RecordId,
    ReserveRequest, Scope, Terms, Update,
};

pub(super) struct GlobalScope(pub(super) SledStore);

fn shared(record: &RecordId) -> RecordId {
    RecordId::new(Scope::digest("everybody"), record.key.clone())
}

fn sharing(holder: &Holder) -> Holder {
    Holder::new(shared(&holder.record), holder.token, holder.attempt)
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for GlobalScope {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let mut request = request.clone();
        request.operation.record = shared(&request.operation.record);
        self.0.reserve(&request).await
    }
    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.0.complete(&sharing(holder), answer).await
    }
    async fn renew(&self, h: &Holder, t: Terms, p: Option<&Progress>) -> Result<Update, Error> {
        self.0.renew(&sharing(h), t, p).await
    }
    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.abandon(&sharing(holder)).await
    }
    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.release(&sharing(holder)).await
    }
    async fn changed(&self, record: &RecordId, within: Duration) {
        self.0.changed(&shared(record), within).await;
    }
}
