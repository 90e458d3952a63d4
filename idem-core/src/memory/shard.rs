//! Some of the records, and when each of them is due to be forgotten.

use std::collections::{BTreeSet, HashMap};
use std::task::Waker;

use crate::RecordId;
use crate::machine::{Change, Record, expires_at};
use crate::time::Timestamp;
use crate::waiters::Waiters;

/// Some of the records.
///
/// Invariant: `due` has exactly one entry for each record that expires by itself, at the instant that
/// [`expires_at`] gives for it, and none for any other.
#[derive(Default)]
pub(super) struct Shard {
    records: HashMap<RecordId, Record>,
    due: BTreeSet<(Timestamp, RecordId)>,
    pub(super) waiters: Waiters,
}

impl AsMut<Waiters> for Shard {
    fn as_mut(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// Below this many slots a shard keeps what memory it has.
const KEPT_CAPACITY: usize = 64;

impl Shard {
    pub(super) fn get(&self, id: &RecordId) -> Option<&Record> {
        self.records.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&RecordId, &Record)> {
        self.records.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Makes the change, and gives back whom to wake once the shard is unlocked.
    pub(super) fn apply(&mut self, id: &RecordId, change: Change) -> Vec<Waker> {
        match change {
            Change::Keep => return Vec::new(),
            Change::Put(record) => self.put(id, record),
            Change::Remove => self.remove(id),
        }
        self.waiters.take(id)
    }

    fn put(&mut self, id: &RecordId, record: Record) {
        let due = expires_at(&record);
        let before = match self.records.get_mut(id) {
            Some(slot) => expires_at(&std::mem::replace(slot, record)),
            None => {
                self.records.insert(id.clone(), record);
                None
            }
        };
        if before != due {
            self.unlist(id, before);
            self.due.extend(due.map(|due| (due, id.clone())));
        }
    }

    fn remove(&mut self, id: &RecordId) {
        if let Some(record) = self.records.remove(id) {
            self.unlist(id, expires_at(&record));
        }
    }

    fn unlist(&mut self, id: &RecordId, due: Option<Timestamp>) {
        if let Some(due) = due {
            self.due.remove(&(due, id.clone()));
        }
    }

    /// Removes at most `limit` records that are expired at `now`, and says how many. Nobody is woken:
    /// an expired record was vacant already.
    pub(super) fn sweep(&mut self, now: Timestamp, limit: usize) -> usize {
        let mut swept = 0;
        while swept < limit && self.has_due(now) {
            if let Some((_, id)) = self.due.pop_first() {
                self.records.remove(&id);
            }
            swept += 1;
        }
        if swept > 0 {
            self.give_memory_back();
        }
        swept
    }

    pub(super) fn has_due(&self, now: Timestamp) -> bool {
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// A table that was large once does not stay large: halved when three quarters are empty, which
    /// many removals have paid for.
    fn give_memory_back(&mut self) {
        let capacity = self.records.capacity();
        if capacity > KEPT_CAPACITY && self.records.len() < capacity / 4 {
            self.records.shrink_to(capacity / 2);
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.records.capacity()
    }

    /// Checks the invariant.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let expected: BTreeSet<_> = self
            .records
            .iter()
            .filter_map(|(id, record)| Some((expires_at(record)?, id.clone())))
            .collect();
        assert_eq!(self.due, expected);
    }
}
