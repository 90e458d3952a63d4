//! Completing, renewing, abandoning and releasing: laws C1 to C8. Each names token and attempt.

use super::{Change, InFlight, Record, State, is_expired};
use crate::time::Timestamp;
use crate::{Answer, Completion, Holder, Progress, Replay, Terms, Update};

/// What becomes of a completion: C1, C2, C3.
pub fn complete(
    record: Option<&Record>,
    holder: &Holder,
    answer: &Answer,
    now: Timestamp,
) -> (Completion, Change) {
    match standing(record, holder, now) {
        Standing::Nobody => (Completion::Superseded, Change::Keep),
        Standing::Completed(replay) => (Completion::AlreadyCompleted(replay), Change::Keep),
        Standing::InFlight(record, _) => {
            let mut completed = Record {
                state: State::Completed(answer.clone()),
                ..record.clone()
            };
            completed.count_retention(now, now);
            let remembered_for = completed.retention_end.saturating_since(now);
            (
                Completion::Completed { remembered_for },
                Change::Put(completed),
            )
        }
    }
}

/// What becomes of a renewal: C6. It counts the lease from now, never shortens it, marks the
/// reservation started, and saves progress if there is any. An abandoned record takes none (C7).
pub fn renew(
    record: Option<&Record>,
    holder: &Holder,
    terms: Terms,
    progress: Option<&Progress>,
    now: Timestamp,
) -> (Update, Change) {
    match standing(record, holder, now) {
        Standing::Nobody => (Update::Superseded, Change::Keep),
        Standing::Completed(replay) => (Update::AlreadyCompleted(replay), Change::Keep),
        Standing::InFlight(_, flight) if flight.abandoned => (Update::Superseded, Change::Keep),
        Standing::InFlight(record, flight) => {
            let lease_end = flight.lease_end.max(now.saturating_add(terms.lease()));
            let progress = progress.or(flight.progress.as_ref()).cloned();
            let mut renewed = Record {
                retention: terms.retention(),
                state: State::InFlight(InFlight {
                    lease_end,
                    abandoned: false,
                    started: true,
                    progress,
                }),
                ..record.clone()
            };
            renewed.count_retention(lease_end, now);
            (Update::Done, Change::Put(renewed))
        }
    }
}

/// What becomes of an abandonment: C7. It ends the lease now and keeps the record, its fingerprint and
/// its progress; done once, doing it again changes nothing.
pub fn abandon(record: Option<&Record>, holder: &Holder, now: Timestamp) -> (Update, Change) {
    match standing(record, holder, now) {
        Standing::Nobody => (Update::Superseded, Change::Keep),
        Standing::Completed(replay) => (Update::AlreadyCompleted(replay), Change::Keep),
        Standing::InFlight(_, flight) if flight.abandoned => (Update::Done, Change::Keep),
        Standing::InFlight(record, flight) => {
            let ended = InFlight {
                lease_end: now,
                abandoned: true,
                ..flight.clone()
            };
            let mut abandoned = Record {
                state: State::InFlight(ended),
                ..record.clone()
            };
            abandoned.count_retention(now, now);
            (Update::Done, Change::Put(abandoned))
        }
    }
}

/// What becomes of a release: C8. The key is vacant again.
pub fn release(record: Option<&Record>, holder: &Holder, now: Timestamp) -> (Update, Change) {
    match standing(record, holder, now) {
        Standing::Nobody => (Update::Superseded, Change::Keep),
        Standing::Completed(replay) => (Update::AlreadyCompleted(replay), Change::Keep),
        Standing::InFlight(..) => (Update::Done, Change::Remove),
    }
}

/// How a record stands towards one who claims to hold it.
enum Standing<'a> {
    /// C3: not the holder's, or expired, or not there.
    Nobody,
    /// C2, C5: the holder completed it, and that stands.
    Completed(Replay),
    /// C4: the holder's, live or lapsed.
    InFlight(&'a Record, &'a InFlight),
}

fn standing<'a>(record: Option<&'a Record>, holder: &Holder, now: Timestamp) -> Standing<'a> {
    match record.filter(|record| record.is_held_by(holder) && !is_expired(record, now)) {
        None => Standing::Nobody,
        Some(record) => match &record.state {
            State::Completed(answer) => Standing::Completed(Replay {
                answer: answer.clone(),
                remembered_for: record.retention_end.saturating_since(now),
            }),
            State::InFlight(flight) => Standing::InFlight(record, flight),
        },
    }
}
