//! The in-memory store.

mod cursor;
mod shard;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::poll_fn;
use std::hash::BuildHasher as _;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use self::cursor::Place;
use self::shard::Shard;
use crate::machine::{self, Change, Record};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{MODEL_CHECKED, Mutex, MutexGuard, RandomState};
use crate::time::{Clock, MonotonicClock, Timestamp};
use crate::waiters::Waiting;
use crate::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, Outcome,
    Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};

/// Records in this process's memory: for tests, and for services of one process that may forget.
///
/// Clones are handles on the same records.
///
/// | | |
/// | --- | --- |
/// | clock | injected; by default [monotonic](MonotonicClock) |
/// | lost when | the process ends, or the last handle is dropped |
/// | durable when acknowledged | no |
/// | largest response | no limit of its own |
/// | `changed` | wakes at the write itself; it needs a tokio runtime with time enabled |
/// | memory | bounded by what is live: every call also removes a few expired records, so they leave without anyone reading them |
/// | cost | a call touches its record and a few expired ones; it grows with the logarithm of the records held. `lapsed` looks at every record |
///
/// The store never evicts a record to make room: a forgotten key is a double charge.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    /// Whose turn it is to be swept beside the shard that is in use anyway.
    sweep_next: AtomicUsize,
}

/// A model checker has enough to explore in two.
const SHARDS: usize = if MODEL_CHECKED { 2 } else { 64 };

/// How many expired records a call removes from a shard. A call adds one record at most, so two are
/// enough for the sweep to win.
const SWEPT_PER_CALL: usize = 2;

impl MemoryStore {
    /// An empty store on a monotonic clock.
    pub fn new() -> Self {
        Self::with_clock(MonotonicClock::new())
    }

    /// An empty store on a clock of one's own, such as a [`ManualClock`](crate::ManualClock) in tests.
    pub fn with_clock(clock: impl Clock + 'static) -> Self {
        Self(Arc::new(Inner {
            clock: Arc::new(clock),
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            sweep_next: AtomicUsize::new(0),
        }))
    }

    /// How many records are held, expired ones that were not swept yet included.
    pub fn len(&self) -> usize {
        self.0.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Whether no record is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One atomic step of the machine on one record, under one reading of the clock.
    fn step<T>(
        &self,
        id: &RecordId,
        decide: impl FnOnce(Option<&Record>, Timestamp) -> (T, Change),
    ) -> T {
        let mut shard = lock(self.shard(id));
        // Read under the lock: of two steps on a record, the later one never sees the earlier time.
        let now = self.0.clock.now();
        shard.sweep(now, SWEPT_PER_CALL);
        let (outcome, change) = decide(shard.get(id), now);
        let woken = shard.apply(id, change);
        drop(shard);
        woken.into_iter().for_each(|waker| waker.wake());
        self.sweep_another(now);
        outcome
    }

    /// Sweeps one more shard, each in its turn: what expires in a shard that nobody uses leaves too.
    fn sweep_another(&self, now: Timestamp) {
        let turn = self.0.sweep_next.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut shard) = self.0.shards[turn % SHARDS].try_lock() {
            shard.sweep(now, SWEPT_PER_CALL);
        }
    }

    fn shard(&self, id: &RecordId) -> &Mutex<Shard> {
        // The remainder is below SHARDS, so the cast loses nothing.
        &self.0.shards[(self.0.hasher.hash_one(id) % SHARDS as u64) as usize]
    }
}

/// A panic of another thread leaves a shard whole: every change to it is complete before anything can
/// panic.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for MemoryStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let id = &request.operation.record;
        Ok(self.step(id, |record, now| machine::reserve(record, request, now)))
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        Ok(self.step(&holder.record, |record, now| {
            machine::complete(record, holder, answer, now)
        }))
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        Ok(self.step(&holder.record, |record, now| {
            machine::renew(record, holder, terms, progress, now)
        }))
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        Ok(self.step(&holder.record, |record, now| {
            machine::abandon(record, holder, now)
        }))
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        Ok(self.step(&holder.record, |record, now| {
            machine::release(record, holder, now)
        }))
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        let shard = self.shard(record);
        let mut waiting = Waiting::new(shard, record);
        // Whether the time ran out or the record was written: the caller looks again.
        let _ = tokio::time::timeout(within, poll_fn(|cx| waiting.poll(cx))).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for MemoryStore {
    async fn get(&self, id: &RecordId) -> Result<Option<RecordInfo>, Error> {
        let shard = lock(self.shard(id));
        let now = self.0.clock.now();
        Ok(shard
            .get(id)
            .and_then(|record| machine::view(id, record, now)))
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let place = after.map(Place::of_cursor).transpose()?;
        let limit = limit.max(1); // an empty page could not say where to go on
        let now = self.0.clock.now();
        let horizon = place.as_ref().map_or(now, |place| place.horizon);
        let mut found = Vec::new();
        for shard in &self.0.shards {
            let shard = lock(shard);
            for (id, record) in shard.iter() {
                let Some(since) = machine::lapsed_since(record, now) else {
                    continue;
                };
                let listed = |place: &Place| (since, id) <= (place.after.0, &place.after.1);
                if since <= horizon && !place.as_ref().is_some_and(listed) {
                    found.extend(machine::view(id, record, now).map(|info| (since, info)));
                }
            }
        }
        found.sort_unstable_by(|(a_since, a), (b_since, b)| {
            (a_since, &a.operation.record).cmp(&(b_since, &b.operation.record))
        });
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(since, info)| {
            let after = (*since, info.operation.record.clone());
            Place { horizon, after }.to_cursor()
        });
        Ok(LapsedPage {
            records: found.into_iter().map(|(_, info)| info).collect(),
            next,
        })
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let now = self.0.clock.now();
        let mut purged = Purged {
            removed: 0,
            more: false,
        };
        for shard in &self.0.shards {
            let mut shard = lock(shard);
            purged.removed += shard.sweep(now, limit - purged.removed);
            purged.more |= shard.has_due(now);
        }
        Ok(purged)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("clock", &self.0.clock)
            .finish_non_exhaustive()
    }
}
