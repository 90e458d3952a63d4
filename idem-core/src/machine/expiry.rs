//! When a record is forgotten, and when its retention is counted anew.

use super::{Record, State};
use crate::OnLapse;
use crate::time::Timestamp;

/// Whether the record is forgotten at `now`: then it is vacant for every purpose (law R8), whether or
/// not it was purged.
///
/// **A record that was made under `Hold` and started never expires while it is in flight and was not
/// abandoned**: it stays until somebody resolves it.
pub fn is_expired(record: &Record, now: Timestamp) -> bool {
    expires_at(record).is_some_and(|end| end <= now)
}

/// The first instant at which the record is expired if nothing is written to it; `None` if it then
/// never is.
pub fn expires_at(record: &Record) -> Option<Timestamp> {
    match &record.state {
        State::Completed(_) => Some(record.retention_end),
        State::InFlight(flight) if flight.abandoned => Some(record.retention_end),
        State::InFlight(flight) if flight.started && record.on_lapse == OnLapse::Hold => None,
        // A live lease is never cut short by the end of the retention.
        State::InFlight(flight) => Some(record.retention_end.max(flight.lease_end)),
    }
}

impl Record {
    /// Counts the retention anew from `now` if less than half of it would be left at `after` (law T3):
    /// the end of the lease that is being set, or the moment of an answer. It never gets shorter.
    pub(super) fn count_retention(&mut self, after: Timestamp, now: Timestamp) {
        let left = self.retention_end.saturating_since(after);
        if left.saturating_mul(2) < self.retention {
            self.retention_end = self.retention_end.max(now.saturating_add(self.retention));
        }
    }
}
