//! Time that moves between calls, not within one.
//!
//! A step reads its clock and swaps afterwards. In life that is milliseconds later; the suite moves time by hours
//! at once, also beside calls that lost their callers, and then it would count as a step at the wrong hour.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, Outcome,
    Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};
use idem_sled::SledStore;
use tokio::sync::RwLock;

/// The store, whose calls each hold the moment.
#[derive(Clone)]
pub(crate) struct OneMoment {
    pub(crate) store: SledStore,
    moment: Arc<RwLock<()>>,
}

impl OneMoment {
    pub(crate) fn of(store: SledStore) -> Self {
        Self {
            store,
            moment: Arc::default(),
        }
    }

    /// Calls this between all calls, also those whose futures were dropped.
    pub(crate) async fn between(&self, move_time: impl FnOnce()) {
        let _moment = self.moment.write().await;
        self.store.flush().await.unwrap();
        move_time();
    }
}

#[async_trait]
impl IdempotencyStore for OneMoment {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let _moment = self.moment.read().await;
        self.store.reserve(request).await
    }
    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        let _moment = self.moment.read().await;
        self.store.complete(holder, answer).await
    }
    async fn renew(&self, h: &Holder, t: Terms, p: Option<&Progress>) -> Result<Update, Error> {
        let _moment = self.moment.read().await;
        self.store.renew(h, t, p).await
    }
    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        let _moment = self.moment.read().await;
        self.store.abandon(holder).await
    }
    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        let _moment = self.moment.read().await;
        self.store.release(holder).await
    }
    async fn changed(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}

#[async_trait]
impl Inspect for OneMoment {
    async fn get(&self, id: &RecordId) -> Result<Option<RecordInfo>, Error> {
        let _moment = self.moment.read().await;
        self.store.get(id).await
    }
    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let _moment = self.moment.read().await;
        self.store.lapsed(after, limit).await
    }
    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let _moment = self.moment.read().await;
        self.store.purge_expired(limit).await
    }
}
