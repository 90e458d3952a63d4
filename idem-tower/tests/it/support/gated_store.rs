//! A store in memory that answers when the test says so, or not at all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_core::{
    Answer, Completion, Error, Holder, IdempotencyStore, Inspect as _, Key, MemoryStore, Outcome,
    Progress, RecordId, RecordInfo, ReserveRequest, Scope, Terms, Update, async_trait,
};

use super::gate::Gate;

#[derive(Clone)]
pub(crate) struct GatedStore {
    pub(crate) inner: MemoryStore,
    pub(crate) on_reserve: Arc<Method>,
    pub(crate) on_complete: Arc<Method>,
    pub(crate) on_abandon: Arc<Method>,
    pub(crate) on_changed: Arc<Method>,
}

/// What happens to the calls of one method. At first they simply go through, and are counted.
pub(crate) struct Method {
    /// Passed before the call is carried out.
    pub(crate) before: Gate,
    /// Passed after it was carried out, before it is answered.
    pub(crate) after: Gate,
    fails: Mutex<Option<fn() -> Error>>,
}

impl Method {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            before: Gate::opened(),
            after: Gate::opened(),
            fails: Mutex::new(None),
        })
    }

    /// From now on it fails so, and is not carried out.
    pub(crate) fn fail(&self, error: fn() -> Error) {
        *self.fails.lock().unwrap() = Some(error);
    }

    pub(crate) fn mend(&self) {
        *self.fails.lock().unwrap() = None;
    }

    pub(crate) fn calls(&self) -> usize {
        self.before.arrivals()
    }

    async fn begin(&self) -> Result<(), Error> {
        self.before.pass().await;
        match *self.fails.lock().unwrap() {
            Some(error) => Err(error()),
            None => Ok(()),
        }
    }
}

impl GatedStore {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self {
            inner,
            on_reserve: Method::new(),
            on_complete: Method::new(),
            on_abandon: Method::new(),
            on_changed: Method::new(),
        }
    }

    /// What is recorded of the key that Ana sent.
    pub(crate) async fn record(&self, key: &str) -> Option<RecordInfo> {
        let scope = Scope::new("ana").unwrap();
        let record = RecordId::new(scope, Key::new(key).unwrap());
        self.inner.get(&record).await.unwrap()
    }
}

#[async_trait]
impl IdempotencyStore for GatedStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.on_reserve.begin().await?;
        let outcome = self.inner.reserve(request).await;
        self.on_reserve.after.pass().await;
        outcome
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.on_complete.begin().await?;
        let completion = self.inner.complete(holder, answer).await;
        self.on_complete.after.pass().await;
        completion
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.inner.renew(holder, terms, progress).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.on_abandon.begin().await?;
        let update = self.inner.abandon(holder).await;
        self.on_abandon.after.pass().await;
        update
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.inner.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.on_changed.before.pass().await;
        self.inner.changed(record, within).await;
    }
}
