//! A store that outlives its process and has a limit: the words `reopen` and `limit`.

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Limited, Reopen, Store, async_trait, conformance};
use idem_core::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, ManualClock,
    MemoryStore, Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};

/// Refuses what is over the limit. The memory stands for a disk.
#[derive(Clone)]
struct Kept(MemoryStore);

const LIMIT: usize = 100_000;

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for Kept {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.0.reserve(request).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        let size = answer.full().map_or(0, |response| response.encoded_len());
        if size > LIMIT {
            return Err(Error::too_large("response", size as u64, LIMIT as u64));
        }
        self.0.complete(holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.0.renew(holder, terms, progress).await
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

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for Kept {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.0.get(record).await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.0.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        self.0.purge_expired(limit).await
    }
}

struct Disk {
    clock: ManualClock,
    store: Kept,
}

#[async_trait]
impl Harness for Disk {
    async fn open() -> Self {
        let clock = ManualClock::new();
        Self {
            store: Kept(MemoryStore::with_clock(clock.clone())),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl Reopen for Disk {
    async fn reopen(self) -> Self {
        self
    }
}

impl Limited for Disk {
    const LARGEST_RESPONSE: usize = LIMIT;
}

conformance!(Disk, exact_time, reopen, limit);
