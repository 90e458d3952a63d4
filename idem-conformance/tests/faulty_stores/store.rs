//! A store that does as its [`Decisions`] say: the state machine over a map under one lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use idem_conformance::async_trait;
use idem_core::machine::{self, Change, Record};
use idem_core::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, ManualClock,
    Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Timestamp, Update,
};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::data::Data;
use crate::decisions::{Decisions, Found, Op, Waits, Wakes};

/// What all handles share.
pub(crate) struct Shared {
    pub(crate) memory: Mutex<Data>,
    pub(crate) disk: Mutex<Data>,
    written: Notify,
}

impl Shared {
    /// What is there after a crash.
    pub(crate) fn from_disk(disk: Data) -> Self {
        Self {
            memory: Mutex::new(disk.clone()),
            disk: Mutex::new(disk),
            written: Notify::new(),
        }
    }
}

/// A handle on a store.
pub(crate) struct Handle {
    pub(crate) decisions: &'static Decisions,
    pub(crate) clock: ManualClock,
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: u64,
}

/// Long enough for others to come between.
pub(crate) async fn step_aside() {
    for _ in 0..3 {
        yield_now().await;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    fn now(&self, data: &mut Data) -> Timestamp {
        let now = (self.decisions.now)(&self.clock, self.number, data.last);
        data.last = idem_core::Clock::now(&self.clock);
        now
    }

    fn look(&self, data: &mut Data, id: &RecordId) -> (Option<Record>, Timestamp) {
        let now = self.now(data);
        let found = data.records.get(&(self.decisions.place)(id)).cloned();
        let seen = found.and_then(|(_, record)| (self.decisions.read)(record, now));
        (seen, now)
    }

    /// One step of the machine: one reading of the clock, under one lock.
    async fn step<T>(
        &self,
        op: Op,
        id: &RecordId,
        decide: impl Fn(Found<'_>, Timestamp) -> (T, Change),
    ) -> T {
        let done = {
            let mut data = lock(&self.shared.memory);
            let (found, now) = self.look(&mut data, id);
            if (self.decisions.apart)(op, found.as_ref(), now) {
                Err((found, now))
            } else {
                let (reply, change) = decide(found.as_ref(), now);
                self.write(&mut data, op, id, found.as_ref(), change.clone(), now);
                Ok((reply, change))
            }
        };
        let (reply, change) = match done {
            Ok(done) => done,
            Err((found, now)) => {
                step_aside().await;
                let (reply, change) = decide(found.as_ref(), now);
                let mut data = lock(&self.shared.memory);
                self.write(&mut data, op, id, found.as_ref(), change.clone(), now);
                (reply, change)
            }
        };
        if change != Change::Keep {
            if (self.decisions.seen_before_durable)(op) {
                step_aside().await;
                self.write_to_disk(op, id, change);
            }
            self.wake(op);
        }
        reply
    }

    fn write(
        &self,
        data: &mut Data,
        op: Op,
        id: &RecordId,
        found: Found<'_>,
        change: Change,
        now: Timestamp,
    ) {
        let change = match change {
            Change::Put(record) => Change::Put((self.decisions.write)(found, record, now)),
            other => other,
        };
        if !(self.decisions.seen_before_durable)(op) {
            self.write_to_disk(op, id, change.clone());
        }
        data.apply(&(self.decisions.place)(id), id, change);
    }

    fn write_to_disk(&self, op: Op, id: &RecordId, change: Change) {
        let change = (self.decisions.durable)(op, change);
        lock(&self.shared.disk).apply(&(self.decisions.place)(id), id, change);
    }

    fn wake(&self, op: Op) {
        match (self.decisions.wakes)(op) {
            Wakes::Everyone => self.shared.written.notify_waiters(),
            Wakes::One => self.shared.written.notify_one(),
            Wakes::Nobody => {}
        }
    }
}

#[async_trait]
impl IdempotencyStore for Handle {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let id = &request.operation.record;
        let mut kept = request.clone();
        kept.operation.fingerprint = (self.decisions.fingerprint)(request.operation.fingerprint);
        kept.terms = (self.decisions.terms)(request.terms);
        kept.longest_age = request.longest_age.map(self.decisions.age);
        let reserve = |found: Found<'_>, now| (self.decisions.reserve)(found, &kept, now);
        Ok(self.step(Op::Reserve, id, reserve).await)
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        (self.decisions.accepts)(answer)?;
        let kept = (self.decisions.answer)(answer);
        let complete = |found: Found<'_>, now| (self.decisions.complete)(found, holder, &kept, now);
        Ok(self.step(Op::Complete, &holder.record, complete).await)
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        let terms = (self.decisions.terms)(terms);
        let kept = progress.map(self.decisions.progress);
        let renew = |found: Found<'_>, now| {
            (self.decisions.renew)(found, holder, terms, kept.as_ref(), now)
        };
        Ok(self.step(Op::Renew, &holder.record, renew).await)
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        let abandon = |found: Found<'_>, now| (self.decisions.abandon)(found, holder, now);
        Ok(self.step(Op::Abandon, &holder.record, abandon).await)
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        let release = |found: Found<'_>, now| (self.decisions.release)(found, holder, now);
        Ok(self.step(Op::Release, &holder.record, release).await)
    }

    /// Any write wakes: it may resolve early.
    async fn changed(&self, _: &RecordId, within: Duration) {
        match self.decisions.waits {
            Waits::InTime => drop(timeout(within, self.shared.written.notified()).await),
            Waits::ForEver => self.shared.written.notified().await,
            Waits::Overflowing => {
                let end = Instant::now() + within;
                let wait = self.shared.written.notified();
                drop(tokio::time::timeout_at(end.into(), wait).await);
            }
            Waits::RegisteredLate => {
                step_aside().await;
                drop(timeout(within, self.shared.written.notified()).await);
            }
        }
    }
}

#[async_trait]
impl Inspect for Handle {
    async fn get(&self, id: &RecordId) -> Result<Option<RecordInfo>, Error> {
        let get = |found: Found<'_>, now| (self.decisions.get)(id, found, now);
        Ok(self.step(Op::Get, id, get).await)
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let mut data = lock(&self.shared.memory);
        let now = self.now(&mut data);
        let seen = data.records.values().filter_map(|(id, record)| {
            let record = (self.decisions.read)(record.clone(), now)?;
            (self.decisions.list)(id, &record, now)
        });
        Ok((self.decisions.page)(seen.collect(), after, limit))
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let (now, listed) = {
            let mut data = lock(&self.shared.memory);
            let now = self.now(&mut data);
            if !(self.decisions.apart)(Op::Purge, None, now) {
                return Ok((self.decisions.purge)(&mut data, now, limit));
            }
            let due = data.records.iter();
            let due = due.filter(|(_, (_, record))| machine::is_expired(record, now));
            let places: Vec<_> = due.map(|(place, _)| place.clone()).take(limit).collect();
            (now, places)
        };
        step_aside().await;
        let mut data = lock(&self.shared.memory);
        for place in &listed {
            data.records.remove(place);
        }
        let more = data
            .records
            .values()
            .any(|(_, record)| machine::is_expired(record, now));
        Ok(Purged {
            removed: listed.len(),
            more,
        })
    }
}
