//! For this crate's own tests: the machine over a map, with one decision twisted.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use idem_core::machine::{self, Change, Record};
use idem_core::{
    Clock, Cursor, Error, Inspect, LapsedPage, ManualClock, Purged, RecordId, RecordInfo, Timestamp,
};

use crate::call::{Call, Reply, store_of_calls};
use crate::{Harness, Store};

/// What is wrong with a toy store.
pub(crate) trait Twist: Send + Sync + 'static {
    /// How much real time passes at each call.
    const CREEP: Duration = Duration::ZERO;

    /// What is done instead of `right`.
    fn twist(
        call: &Call,
        record: Option<&Record>,
        now: Timestamp,
        right: (Reply, Change),
    ) -> (Reply, Change) {
        let _ = (call, record, now);
        right
    }

    /// Steps aside between reading and writing, so that another call may come between.
    fn reads_and_writes_apart(call: &Call) -> bool {
        let _ = call;
        false
    }
}

pub(crate) struct Toy<T> {
    clock: ManualClock,
    records: Mutex<BTreeMap<RecordId, Record>>,
    twist: PhantomData<fn(T)>,
}

impl<T: Twist> Toy<T> {
    async fn call(&self, call: Call) -> Result<Reply, Error> {
        self.clock.advance(T::CREEP);
        let now = self.clock.now();
        let decide =
            |record: Option<&Record>| T::twist(&call, record, now, call.specified(record, now));
        let id = call.record();
        if T::reads_and_writes_apart(&call) {
            let (reply, change) = decide(self.lock().get(id));
            tokio::task::yield_now().await;
            apply(&mut self.lock(), id, change);
            return Ok(reply);
        }
        let mut records = self.lock();
        let (reply, change) = decide(records.get(id));
        apply(&mut records, id, change);
        Ok(reply)
    }

    async fn wait(&self, _: &RecordId, _: Duration) {}

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RecordId, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply(records: &mut BTreeMap<RecordId, Record>, id: &RecordId, change: Change) {
    match change {
        Change::Keep => {}
        Change::Put(record) => drop(records.insert(id.clone(), record)),
        Change::Remove => drop(records.remove(id)),
    }
}

store_of_calls!(impl[T: Twist] for Toy<T>);

#[async_trait]
impl<T: Twist> Inspect for Toy<T> {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        Ok(self.call(Call::Get(record.clone())).await?.info())
    }

    /// A cursor counts the records before it.
    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let now = self.clock.now();
        let records = self.lock();
        let mut found: Vec<_> = records
            .iter()
            .filter_map(|(id, record)| {
                let since = machine::lapsed_since(record, now)?;
                Some((since, machine::view(id, record, now)?))
            })
            .collect();
        found.sort_by_key(|(since, _)| *since);
        let before = after.map_or(0, |cursor| usize::from(cursor.as_bytes()[0]));
        let end = found.len().min(before + limit);
        let next = (end < found.len()).then(|| Cursor::from_bytes([end as u8]));
        let page = found.drain(before..end);
        Ok(LapsedPage {
            records: page.map(|(_, info)| info).collect(),
            next,
        })
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let now = self.clock.now();
        let mut removed = 0;
        let mut more = false;
        self.lock().retain(|_, record| {
            let expired = machine::is_expired(record, now);
            let goes = expired && removed < limit;
            removed += usize::from(goes);
            more |= expired && !goes;
            !goes
        });
        Ok(Purged { removed, more })
    }
}

/// A harness over a toy store.
pub(crate) struct ToyHarness<T>(Arc<Toy<T>>);

#[async_trait]
impl<T: Twist> Harness for ToyHarness<T> {
    async fn open() -> Self {
        Self(Arc::new(Toy {
            clock: ManualClock::new(),
            records: Mutex::default(),
            twist: PhantomData,
        }))
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0) as Arc<dyn Store>
    }

    async fn advance(&self, by: Duration) {
        self.0.clock.advance(by);
    }
}
