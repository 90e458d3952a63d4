//! What a store holds.

use std::collections::BTreeMap;

use idem_core::machine::{Change, Record, expires_at};
use idem_core::{Purged, RecordId, Timestamp};

/// The records, by place.
#[derive(Clone, Default)]
pub(crate) struct Data {
    pub(crate) records: BTreeMap<Vec<u8>, (RecordId, Record)>,
    /// What became due when, as it was when each record was first reserved: nobody has to use it.
    pub(crate) due: Vec<(Timestamp, Vec<u8>)>,
    /// When the last call was.
    pub(crate) last: Timestamp,
}

impl Data {
    pub(crate) fn apply(&mut self, place: &[u8], id: &RecordId, change: Change) {
        match change {
            Change::Keep => {}
            Change::Put(record) => {
                if let (1, Some(due)) = (record.attempt, expires_at(&record)) {
                    self.due.push((due, place.to_vec()));
                }
                self.records.insert(place.to_vec(), (id.clone(), record));
            }
            Change::Remove => drop(self.records.remove(place)),
        }
    }

    /// Removes what is to go, as many as `limit`.
    pub(crate) fn remove_if(&mut self, limit: usize, goes: impl Fn(&Record) -> bool) -> Purged {
        let all: Vec<Vec<u8>> = self
            .records
            .iter()
            .filter(|(_, (_, record))| goes(record))
            .map(|(place, _)| place.clone())
            .collect();
        for place in all.iter().take(limit) {
            self.records.remove(place);
        }
        Purged {
            removed: all.len().min(limit),
            more: all.len() > limit,
        }
    }
}
