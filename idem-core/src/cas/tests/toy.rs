//! An engine in memory, with everything that can go wrong in one.

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;

use crate::cas::index::Index;
use crate::cas::keys::{parse_record_key, record_key};
use crate::machine::Record;
use crate::time::Timestamp;
use crate::{CompareAndSwap, Error, RecordId, Stored, Swapped};

type Map = BTreeMap<Vec<u8>, Stored<u64>>;

/// What survives the process. Versions never come back, also if a key was removed.
#[derive(Default)]
pub(super) struct Data(Mutex<(Map, u64)>);

/// Something that happens once, in between.
pub(super) type Between = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// What becomes of a swap of a record whose answer is lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum LostAnswer {
    Applied,
    NotApplied,
}

/// A process's own handle on the data.
pub(super) struct Toy<const ORDERED: bool> {
    data: Arc<Data>,
    /// So many calls are left until the process dies: then every call fails, before it does anything.
    pub(super) dies_in: Mutex<Option<usize>>,
    pub(super) lose: Mutex<Option<LostAnswer>>,
    /// Runs just after the next load of a record, or scan of an engine that is not ordered.
    pub(super) after_read: Mutex<Option<Between>>,
    /// Runs just before the next swap of a record.
    pub(super) before_swap: Mutex<Option<Between>>,
    /// A seed: each call yields up to three times, before and after.
    pub(super) yields: Option<AtomicUsize>,
    pub(super) calls: AtomicUsize,
}

impl<const ORDERED: bool> Toy<ORDERED> {
    pub(super) fn new(data: Arc<Data>) -> Self {
        Self {
            data,
            dies_in: Mutex::default(),
            lose: Mutex::default(),
            after_read: Mutex::default(),
            before_swap: Mutex::default(),
            yields: None,
            calls: AtomicUsize::new(0),
        }
    }

    pub(super) fn dying_in(self, calls: usize) -> Self {
        *self.dies_in.lock().unwrap() = Some(calls);
        self
    }

    pub(super) fn yielding(mut self, seed: usize) -> Self {
        self.yields = Some(AtomicUsize::new(seed));
        self
    }

    pub(super) fn taken_calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }

    async fn pause(&self) {
        let Some(seed) = &self.yields else { return };
        let mut hasher = DefaultHasher::new();
        seed.fetch_add(1, Ordering::SeqCst).hash(&mut hasher);
        for _ in 0..hasher.finish() % 4 {
            tokio::task::yield_now().await;
        }
    }

    /// One call of the process; an error once it is dead.
    fn live(&self) -> Result<(), Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match &mut *self.dies_in.lock().unwrap() {
            None => Ok(()),
            Some(0) => Err(dead()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    /// For an engine that is not ordered: an order that has nothing to do with that of the bytes.
    fn place(key: &[u8]) -> (u64, Vec<u8>) {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        (hasher.finish(), key.to_vec())
    }
}

fn dead() -> Error {
    Error::unavailable("the process is dead", "killed by the test")
}

fn lost() -> Error {
    let source = io::Error::new(io::ErrorKind::ConnectionReset, "cut by the test");
    Error::unknown_outcome("the answer was lost", source)
}

async fn run(between: &Mutex<Option<Between>>) {
    let between = between.lock().unwrap().take();
    if let Some(between) = between {
        between().await;
    }
}

#[async_trait]
impl<const ORDERED: bool> CompareAndSwap for Toy<ORDERED> {
    type Version = u64;
    const ORDERED: bool = ORDERED;

    async fn load(&self, key: &[u8]) -> Result<Option<Stored<u64>>, Error> {
        self.live()?;
        self.pause().await;
        let stored = self.data.lock().0.get(key).cloned();
        if parse_record_key(key).is_some() {
            run(&self.after_read).await;
        }
        self.pause().await;
        Ok(stored)
    }

    async fn swap(
        &self,
        key: &[u8],
        expected: Option<&u64>,
        value: Option<&[u8]>,
    ) -> Result<Swapped, Error> {
        assert!(expected.is_some() || value.is_some(), "nothing for nothing");
        self.live()?;
        self.pause().await;
        let lose = if parse_record_key(key).is_some() {
            run(&self.before_swap).await;
            self.lose.lock().unwrap().take()
        } else {
            None
        };
        if let Some(LostAnswer::NotApplied) = lose {
            return Err(lost());
        }
        let swapped = self.data.swap(key, expected, value);
        self.pause().await;
        lose.map_or(Ok(swapped), |_| Err(lost()))
    }

    async fn scan(&self, after: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, Stored<u64>)>, Error> {
        self.live()?;
        self.pause().await;
        // A short page is not the last one.
        let limit = limit.min(5);
        let page = if ORDERED {
            let data = self.data.lock();
            let range = (Bound::Excluded(after), Bound::Unbounded);
            let rest = data.0.range::<[u8], _>(range).take(limit);
            rest.map(|(key, stored)| (key.clone(), stored.clone()))
                .collect()
        } else {
            let mut all: Vec<_> = self.data.lock().0.clone().into_iter().collect();
            all.retain(|(key, _)| after.is_empty() || Self::place(key) > Self::place(after));
            all.sort_by_cached_key(|(key, _)| Self::place(key));
            all.truncate(limit);
            all
        };
        if !ORDERED {
            run(&self.after_read).await;
        }
        self.pause().await;
        Ok(page)
    }
}

impl Data {
    fn lock(&self) -> MutexGuard<'_, (Map, u64)> {
        self.0.lock().unwrap()
    }

    fn swap(&self, key: &[u8], expected: Option<&u64>, value: Option<&[u8]>) -> Swapped {
        let mut data = self.lock();
        if data.0.get(key).map(|stored| &stored.version) != expected {
            return Swapped::Lost;
        }
        match value {
            None => drop(data.0.remove(key)),
            Some(value) => {
                data.1 += 1;
                let (value, version) = (value.to_vec(), data.1);
                data.0.insert(key.to_vec(), Stored { value, version });
            }
        }
        Swapped::Done
    }

    /// Writes past every condition.
    pub(super) fn put(&self, key: &[u8], value: &[u8]) {
        let version = self.lock().0.get(key).map(|stored| stored.version);
        assert_eq!(self.swap(key, version.as_ref(), Some(value)), Swapped::Done);
    }

    pub(super) fn value(&self, id: &RecordId) -> Option<Vec<u8>> {
        let data = self.lock();
        data.0
            .get(&record_key(id))
            .map(|stored| stored.value.clone())
    }

    pub(super) fn records(&self) -> Vec<(RecordId, Record)> {
        let data = self.lock();
        let record = |(key, stored): (&Vec<u8>, &Stored<u64>)| {
            Some((
                parse_record_key(key)?,
                Record::decode(&stored.value).unwrap(),
            ))
        };
        data.0.iter().filter_map(record).collect()
    }

    pub(super) fn entries(&self, index: Index) -> Vec<(Timestamp, RecordId)> {
        let data = self.lock();
        let keys = data.0.keys();
        keys.filter_map(|key| index.parse_entry_key(key)).collect()
    }

    /// Removes all entries of an index.
    pub(super) fn forget(&self, index: Index) {
        self.lock().0.retain(|key, _| !index.holds(key));
    }

    /// Checks the invariant of the indexes.
    #[track_caller]
    pub(super) fn check(&self) {
        for index in [Index::Due, Index::Lapse] {
            let entries = self.entries(index);
            for (id, record) in self.records() {
                if let Some(time) = index.time_of(&record) {
                    let listed = |(at, of): &(Timestamp, RecordId)| *of == id && *at <= time;
                    assert!(
                        entries.iter().any(listed),
                        "{index:?} at {time:?} of {id:?}: {entries:?}"
                    );
                }
            }
        }
    }
}
