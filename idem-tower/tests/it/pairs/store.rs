//! The store of a row: it counts, and fails where the row says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{
    Answer, Completion, Error, Holder, IdempotencyStore, MemoryStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};
use tokio::sync::Semaphore;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fault {
    None,
    /// It cannot be reached.
    Away,
    /// It cannot be reached from the second reservation on.
    AwayAfterTheFirst,
    /// Reservations get no answer.
    Silent,
    /// It refuses, and will go on refusing: a table is missing.
    Refuses,
    /// The records cannot be read.
    Corrupt,
    /// No completion reaches it.
    NeverCompletes,
    /// No abandon and no release reaches it.
    NeverGivesBack,
}

#[derive(Clone)]
pub(super) struct RowStore {
    inner: MemoryStore,
    fault: Fault,
    reserves: Arc<AtomicUsize>,
    waits: Arc<Semaphore>,
}

impl RowStore {
    pub(super) fn new(inner: MemoryStore, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            reserves: Arc::default(),
            waits: Arc::new(Semaphore::new(0)),
        }
    }

    /// So many reservations were asked for.
    pub(super) fn reserves(&self) -> usize {
        self.reserves.load(Ordering::SeqCst)
    }

    /// Resolves when somebody waits for a record to change.
    pub(super) async fn is_waited_for(&self) {
        self.waits.acquire().await.unwrap().forget();
    }

    fn fails_if(&self, fails: bool) -> Result<(), Error> {
        match fails {
            true => Err(Error::unavailable("the store is away", "no route")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl IdempotencyStore for RowStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let before = self.reserves.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Away => return Err(Error::unavailable("the store is away", "no route")),
            Fault::AwayAfterTheFirst if before > 0 => {
                return Err(Error::unavailable("the store is away", "no route"));
            }
            Fault::Silent => return Err(Error::unknown_outcome("no answer", "connection reset")),
            Fault::Refuses => return Err(Error::failed("no such table", "undefined table")),
            Fault::Corrupt => return Err(Error::corrupt("not a record")),
            _ => {}
        }
        self.inner.reserve(request).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.fails_if(self.fault == Fault::NeverCompletes)?;
        self.inner.complete(holder, answer).await
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
        self.fails_if(self.fault == Fault::NeverGivesBack)?;
        self.inner.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.fails_if(self.fault == Fault::NeverGivesBack)?;
        self.inner.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.waits.add_permits(1);
        self.inner.changed(record, within).await;
    }
}
