//! How a record is shown to operators: law P2.

use super::{Record, State, is_expired};
use crate::inspect::{Condition, RecordInfo};
use crate::time::Timestamp;
use crate::{Holder, OnLapse, Operation, RecordId};

/// The record as operators see it at `now`; `None` if it is expired.
///
/// Instants become durations before `now`, so that nobody compares two clocks.
pub fn view(id: &RecordId, record: &Record, now: Timestamp) -> Option<RecordInfo> {
    if is_expired(record, now) {
        return None;
    }
    let (condition, started, progress) = match &record.state {
        State::Completed(answer) => (Condition::Completed(answer.clone()), None, None),
        State::InFlight(flight) => {
            let condition = if flight.is_live(now) {
                Condition::Live {
                    lease_left: flight.lease_end.saturating_since(now),
                }
            } else if flight.abandoned {
                Condition::Abandoned {
                    ago: now.saturating_since(flight.lease_end),
                }
            } else if flight.started && record.on_lapse == OnLapse::Hold {
                Condition::Unresolved {
                    ago: now.saturating_since(flight.lease_end),
                }
            } else {
                Condition::Lapsed {
                    ago: now.saturating_since(flight.lease_end),
                }
            };
            (condition, Some(flight.started), flight.progress.clone())
        }
    };
    let held = matches!(condition, Condition::Unresolved { .. });
    Some(RecordInfo {
        operation: Operation {
            record: id.clone(),
            fingerprint: record.fingerprint,
        },
        holder: Holder::new(id.clone(), record.token, record.attempt),
        condition,
        on_lapse: record.on_lapse,
        started: started.unwrap_or(true),
        progress,
        first_reserved_ago: now.saturating_since(record.first_reserved),
        last_reserved_ago: now.saturating_since(record.last_reserved),
        remembered_for: (!held).then(|| record.retention_end.saturating_since(now)),
    })
}

/// Since when the record has been in flight without a live lease: what `lapsed` lists and is ordered
/// by. `None` if it is not listed at `now`.
pub fn lapsed_since(record: &Record, now: Timestamp) -> Option<Timestamp> {
    match &record.state {
        State::InFlight(flight) if !flight.is_live(now) && !is_expired(record, now) => {
            Some(flight.lease_end)
        }
        _ => None,
    }
}
