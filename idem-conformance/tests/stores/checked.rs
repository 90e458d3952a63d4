//! Whether what a failing cache costs is what it may cost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_conformance::async_trait;
use idem_core::{
    Answer, Cache, Cached, Clock as _, Completion, Cursor, Error, Holder, IdempotencyStore,
    Inspect, LapsedPage, ManualClock, MemoryStore, Outcome, Progress, Purged, RecordId, RecordInfo,
    ReserveRequest, Terms, Timestamp, Update,
};

const LONGEST_MARK: Duration = Duration::from_secs(1);

/// When a reservation was last granted or renewed.
pub(crate) type Granted = Arc<Mutex<HashMap<RecordId, Timestamp>>>;

/// Asks the store whether a conflict is true. One that is not must end with its mark; then it is passed
/// over, so that everything else can be judged as exactly as without a cache.
pub(crate) struct Checked<C> {
    pub(crate) cached: Cached<MemoryStore, C>,
    pub(crate) granted: Granted,
    pub(crate) clock: ManualClock,
    /// Called for each that is allowed.
    pub(crate) false_conflict: fn(),
}

impl<C> Checked<C> {
    fn granted(&self, record: &RecordId) {
        let mut granted = self.granted.lock().unwrap();
        granted.insert(record.clone(), self.clock.now());
    }

    /// A put that lands late may do so within its time, and lasts from then on.
    fn is_of_a_mark(&self, record: &RecordId, hint: Duration) -> bool {
        let granted = self.granted.lock().unwrap().get(record).copied();
        granted.is_some_and(|granted| {
            self.clock.now().saturating_add(hint) <= granted.saturating_add(2 * LONGEST_MARK)
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<C: Cache> IdempotencyStore for Checked<C> {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let mut outcome = self.cached.reserve(request).await?;
        let record = &request.operation.record;
        if let Outcome::Conflict { retry_after } = outcome {
            let of_the_store = self.cached.store().reserve(request).await?;
            if !matches!(of_the_store, Outcome::Conflict { .. }) {
                let hint = retry_after.expect("a mark has an end");
                assert!(self.is_of_a_mark(record, hint), "a false conflict lasts");
                (self.false_conflict)();
                outcome = of_the_store;
            }
        }
        if let Outcome::Reserved { .. } = outcome {
            self.granted(record);
        }
        Ok(outcome)
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.cached.complete(holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        let update = self.cached.renew(holder, terms, progress).await?;
        if let Update::Done = update {
            self.granted(&holder.record);
        }
        Ok(update)
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.cached.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.cached.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.cached.changed(record, within).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<C: Cache> Inspect for Checked<C> {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.cached.get(record).await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.cached.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        self.cached.purge_expired(limit).await
    }
}
