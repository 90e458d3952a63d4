//! Does not look at tokens: whoever writes is taken for whoever holds the record now.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use idem_sled::SledStore;
use idempotency::{
    Answer, Completion, Error, Holder, IdempotencyStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};

pub(super) struct NoToken {
    store: SledStore,
    holders: Mutex<HashMap<RecordId, Holder>>,
}

impl NoToken {
    pub(super) fn new(store: SledStore) -> Self {
        let holders = Mutex::default();
        Self { store, holders }
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<RecordId, Holder>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self, writer: &Holder) -> Holder {
        self.holders().get(&writer.record).unwrap_or(writer).clone()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for NoToken {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let outcome = self.store.reserve(request).await?;
        if let Outcome::Reserved { attempt, .. } = outcome {
            let record = request.operation.record.clone();
            let holder = Holder::new(record.clone(), request.token, attempt);
            self.holders().insert(record, holder);
        }
        Ok(outcome)
    }
    async fn complete(&self, writer: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.store.complete(&self.current(writer), answer).await
    }
    async fn renew(&self, w: &Holder, t: Terms, p: Option<&Progress>) -> Result<Update, Error> {
        self.store.renew(&self.current(w), t, p).await
    }
    async fn abandon(&self, writer: &Holder) -> Result<Update, Error> {
        self.store.abandon(&self.current(writer)).await
    }
    async fn release(&self, writer: &Holder) -> Result<Update, Error> {
        self.store.release(&self.current(writer)).await
    }
    async fn changed(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}
