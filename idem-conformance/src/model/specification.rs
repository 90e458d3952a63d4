//! The machine over a plain map: what a store should be.

use std::collections::BTreeMap;
use std::time::Duration;

use idem_core::machine::{self, Change, Record};
use idem_core::{RecordId, RecordInfo, Timestamp};

use crate::call::{Call, Reply};
use crate::fixture;

/// On how many records a script plays.
pub(super) const RECORDS: usize = 4;

/// Their names: those that run into each other if a store joins scope and key are among them.
pub(super) fn records() -> [RecordId; RECORDS] {
    [("a", "b:c"), ("a:b", "c"), ("a", "B:c"), ("b", "b:c")]
        .map(|(scope, key)| fixture::record(scope, key))
}

/// All records, expired ones included until they are known to be purged.
#[derive(Default)]
pub(super) struct Specification {
    records: BTreeMap<RecordId, Record>,
    now: Timestamp,
}

impl Specification {
    pub(super) fn call(&mut self, call: &Call) -> Reply {
        let id = call.record();
        let (reply, change) = call.specified(self.records.get(id), self.now);
        match change {
            Change::Keep => {}
            Change::Put(record) => drop(self.records.insert(id.clone(), record)),
            Change::Remove => drop(self.records.remove(id)),
        }
        reply
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now = self.now.saturating_add(by);
    }

    pub(super) fn now(&self) -> Duration {
        self.now.saturating_since(Timestamp::default())
    }

    pub(super) fn get(&self, id: &RecordId) -> Option<RecordInfo> {
        machine::view(id, self.records.get(id)?, self.now)
    }

    /// Since when a record has been without a live lease, if `lapsed` is to list it.
    pub(super) fn lapsed_since(&self, id: &RecordId) -> Option<Timestamp> {
        machine::lapsed_since(self.records.get(id)?, self.now)
    }

    /// How many records a purge may remove; fewer, if the store removes some by itself.
    pub(super) fn expired(&self) -> usize {
        let records = self.records.values();
        records
            .filter(|record| machine::is_expired(record, self.now))
            .count()
    }

    pub(super) fn purge(&mut self) {
        let now = self.now;
        self.records
            .retain(|_, record| !machine::is_expired(record, now));
    }
}
