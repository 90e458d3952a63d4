//! What is due: entries beside the records of an ordered engine.
//!
//! Two indexes, each sorted by time: `Due` for what is to be purged, `Lapse` for what `lapsed` lists.
//!
//! > **Invariant.** A record that an index [has to look at](Index::time_of) at some instant has an entry
//! > there at that instant or before.
//!
//! An engine writes one key at a time, so entry and record are two writes, and the process may die in
//! between. Entries may therefore be early or stray, and the walks put that right; what must not happen
//! is a record without one:
//!
//! - **Entries first.** A step puts the entries that its record needs, and only then the record. A crash
//!   in between leaves a stray, which a walk removes when it is due. A record whose time moved to later
//!   needs none: it has an earlier one, and a walk moves that. So a heartbeat writes no entry.
//! - **What is due already comes after.** A walk that finds an entry due and its record not there yet
//!   takes it for a stray. So an entry that is due by the time that the record is in (an abandonment
//!   lists it at once; a stalled caller wrote it long ago) is put once more after the record.
//! - **A fresh value each time.** A walk removes an entry by a swap on the version that it has seen
//!   *before* it looked at the record. Whoever puts an entry that is there already writes a new value, so
//!   that a walk which judged an earlier record fails to remove it.
//! - **A patrol for the rest** ([`patrol`](super::patrol)): what a crash within one of these windows, or a
//!   write that took effect after its entries were removed, leaves without an entry, is found by a
//!   bounded look at some records in each purge.

use super::engine::{CompareAndSwap, Swapped};
use super::{CasStore, MOST_RACES};
use crate::machine::{Record, State, expires_at};
use crate::time::Timestamp;
use crate::{Error, RecordId, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Every record that expires by itself, at the instant at which it does.
    Due,
    /// Every record in flight, at the end of its lease.
    Lapse,
}

impl Index {
    /// The instant at which this index has to look at the record, if at any.
    pub(super) fn time_of(self, record: &Record) -> Option<Timestamp> {
        match (self, &record.state) {
            (Self::Due, _) => expires_at(record),
            (Self::Lapse, State::InFlight(flight)) => Some(flight.lease_end),
            (Self::Lapse, State::Completed(_)) => None,
        }
    }
}

/// The entries that must be put when `before` becomes `after`.
pub(super) fn needed(
    id: &RecordId,
    before: Option<&Record>,
    after: Option<&Record>,
) -> Vec<(Timestamp, Vec<u8>)> {
    let entry = |index: Index| {
        let at = index.time_of(after?)?;
        let listed = before.and_then(|before| index.time_of(before));
        let covered = listed.is_some_and(|listed| listed <= at);
        (!covered).then(|| (at, index.entry_key(at, id)))
    };
    [Index::Due, Index::Lapse]
        .into_iter()
        .filter_map(entry)
        .collect()
}

impl<E: CompareAndSwap> CasStore<E> {
    /// Puts an entry, with a fresh value; says whether there was none.
    pub(super) async fn put_entry(&self, key: &[u8]) -> Result<bool, Error> {
        let mut there = None;
        for _ in 0..MOST_RACES {
            let fresh = *Token::random().as_bytes();
            let swapped = self.engine.swap(key, there.as_ref(), Some(&fresh)).await?;
            if swapped == Swapped::Done {
                return Ok(there.is_none());
            }
            there = self.engine.load(key).await?.map(|stored| stored.version);
        }
        Err(super::too_many_races())
    }

    /// Removes an entry, unless somebody put it anew since this version of it was seen.
    pub(super) async fn remove_entry(
        &self,
        key: &[u8],
        seen: Option<&E::Version>,
    ) -> Result<(), Error> {
        if seen.is_some() {
            // Lost: it is gone already, or it is somebody's again.
            let _ = self.engine.swap(key, seen, None).await?;
        }
        Ok(())
    }
}
