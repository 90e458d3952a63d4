//! Records what concurrent callers ask of a store, and what they are answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use idem_core::{Applied, Cursor, Error, Inspect, LapsedPage, Purged, RecordId, RecordInfo};

use crate::Store;
use crate::call::{Call, Reply, store_of_calls};

/// A store whose calls are recorded. Begin with an empty store.
///
/// Calls that list or purge many records are passed on and not recorded.
pub struct Recorder {
    store: Arc<dyn Store>,
    log: Arc<Log>,
    caller: usize,
}

struct Log {
    begun: Instant,
    /// Orders beginnings and answers: whoever reads a larger number came later in real time.
    turn: AtomicU64,
    entries: Mutex<Vec<Arc<Entry>>>,
}

/// The calls on one record, in the order in which they began.
#[derive(Debug)]
pub struct History {
    pub(super) record: RecordId,
    pub(super) entries: Vec<Arc<Entry>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) caller: usize,
    pub(super) event: Event,
    pub(super) began: Moment,
    /// Never set if the answer was lost, or its caller went away.
    pub(super) end: OnceLock<End>,
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Call(Call),
    /// The store's time moved.
    Moved(Duration),
}

#[derive(Clone, Debug)]
pub(super) enum End {
    Answered(Moment, Box<Reply>),
    Moved(Moment),
    /// The store said that it did not and never will take effect.
    NotApplied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) turn: u64,
    pub(super) since_begin: Duration,
}

impl Recorder {
    /// Records the calls on `store`. This handle is of caller 0.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let log = Log {
            begun: Instant::now(),
            turn: AtomicU64::new(0),
            entries: Mutex::default(),
        };
        Self {
            store,
            log: Arc::new(log),
            caller: 0,
        }
    }

    /// A handle for another caller, which only shows in what is printed.
    pub fn caller(&self, number: usize) -> Self {
        Self {
            store: Arc::clone(&self.store),
            log: Arc::clone(&self.log),
            caller: number,
        }
    }

    /// Says that the store's time moved forward by `by` while `moving` ran. Calls that were under way
    /// may have taken effect before or after.
    pub async fn time_moves(&self, by: Duration, moving: impl Future<Output = ()>) {
        let entry = self.log.begin(self.caller, Event::Moved(by));
        moving.await;
        let now = self.log.now();
        entry.end.get_or_init(|| End::Moved(now));
    }

    /// The histories so far, one for each record, which must have been vacant at their beginning; and
    /// begins new ones.
    pub fn take(&self) -> Vec<History> {
        let entries = std::mem::take(&mut *self.log.lock());
        let mut histories: BTreeMap<RecordId, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in &entries {
            if let Event::Call(call) = &entry.event {
                histories.entry(call.record().clone()).or_default();
            }
        }
        for entry in entries {
            match &entry.event {
                Event::Call(call) => histories
                    .entry(call.record().clone())
                    .or_default()
                    .push(entry),
                Event::Moved(_) => {
                    histories
                        .values_mut()
                        .for_each(|history| history.push(Arc::clone(&entry)));
                }
            }
        }
        let histories = histories.into_iter();
        histories
            .map(|(record, entries)| History { record, entries })
            .collect()
    }

    async fn call(&self, call: Call) -> Result<Reply, Error> {
        let entry = self.log.begin(self.caller, Event::Call(call.clone()));
        let result = call.send(&*self.store).await;
        let now = self.log.now();
        match &result {
            Ok(reply) => {
                entry
                    .end
                    .get_or_init(|| End::Answered(now, Box::new(reply.clone())));
            }
            Err(error) if error.applied() == Applied::No => {
                entry.end.get_or_init(|| End::NotApplied);
            }
            Err(_) => {}
        }
        result
    }

    async fn wait(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}

impl Log {
    fn begin(&self, caller: usize, event: Event) -> Arc<Entry> {
        let mut entries = self.lock();
        // Read under the lock: the entries stand in the order of their beginnings.
        let began = self.now();
        let entry = Arc::new(Entry {
            caller,
            event,
            began,
            end: OnceLock::new(),
        });
        entries.push(Arc::clone(&entry));
        entry
    }

    fn now(&self) -> Moment {
        Moment {
            turn: self.turn.fetch_add(1, Ordering::SeqCst),
            since_begin: self.begun.elapsed(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// When it was answered. `None`: it may take effect at any later moment, or never.
    pub(super) fn ended(&self) -> Option<Moment> {
        match self.end.get()? {
            End::Answered(moment, _) | End::Moved(moment) => Some(*moment),
            End::NotApplied => None,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let before = |a: &Self, b: &Self| a.ended().is_some_and(|ended| ended < b.began);
        !before(self, other) && !before(other, self)
    }

    fn is_call(&self) -> bool {
        matches!(self.event, Event::Call(_))
    }
}

impl History {
    /// Of which record.
    pub fn record(&self) -> &RecordId {
        &self.record
    }

    /// How many calls it has.
    pub fn calls(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_call()).count()
    }

    /// How many of them were answered.
    pub fn answered(&self) -> usize {
        let answered = |entry: &&Arc<Entry>| entry.is_call() && entry.ended().is_some();
        self.entries.iter().filter(answered).count()
    }

    /// How many of them nobody knows the outcome of.
    pub fn unknown(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.end.get().is_none())
            .count()
    }

    /// How many of its answered calls were under way at the same time as another answered one.
    pub fn overlapping(&self) -> usize {
        let answered = |entry: &&Arc<Entry>| entry.is_call() && entry.ended().is_some();
        let answered: Vec<_> = self.entries.iter().filter(answered).collect();
        let overlaps = |entry: &&&Arc<Entry>| {
            let mut others = answered.iter().filter(|other| !Arc::ptr_eq(other, entry));
            others.any(|other| entry.overlaps(other))
        };
        answered.iter().filter(overlaps).count()
    }
}

store_of_calls!(impl[] for Recorder);

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for Recorder {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        Ok(self.call(Call::Get(record.clone())).await?.info())
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.store.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        self.store.purge_expired(limit).await
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
