//! Reserving: laws R1 to R10. The first line that applies decides.

use std::time::Duration;

use super::{Change, InFlight, Record, State, is_expired};
use crate::time::Timestamp;
use crate::{OnLapse, Outcome, Replay, ReserveRequest};

/// The smallest hint, given to a token that meets its own reservation in a state that it cannot have
/// back.
const SMALLEST_RETRY_AFTER: Duration = Duration::from_millis(1);

/// What becomes of a try at reserving.
pub fn reserve(
    record: Option<&Record>,
    request: &ReserveRequest,
    now: Timestamp,
) -> (Outcome, Change) {
    // R8: an expired record is vacant.
    let Some(record) = record.filter(|record| !is_expired(record, now)) else {
        return first_attempt(request, now);
    };
    // R4: another fingerprint is a mismatch in every state, and nothing changes.
    if record.fingerprint != request.operation.fingerprint {
        return (Outcome::Mismatch, Change::Keep);
    }
    match &record.state {
        // R6
        State::Completed(answer) => {
            let remembered_for = record.retention_end.saturating_since(now);
            let replay = Replay {
                answer: answer.clone(),
                remembered_for,
            };
            (Outcome::Replay(replay), Change::Keep)
        }
        // R10
        State::InFlight(flight) if record.token == request.token => {
            own_token(record, flight, request, now)
        }
        // R3
        State::InFlight(flight) if flight.is_live(now) => {
            conflict(Some(flight.lease_end.saturating_since(now)))
        }
        // R5
        State::InFlight(flight) if may_be_taken_over(record, flight, request, now) => {
            take_over(record, flight, request, now)
        }
        State::InFlight(_) => conflict(None),
    }
}

/// R1
fn first_attempt(request: &ReserveRequest, now: Timestamp) -> (Outcome, Change) {
    let record = Record {
        fingerprint: request.operation.fingerprint,
        first_reserved: now,
        last_reserved: now,
        retention: request.terms.retention(),
        retention_end: now.saturating_add(request.terms.retention()),
        token: request.token,
        attempt: 1,
        on_lapse: request.on_lapse,
        state: State::InFlight(InFlight {
            lease_end: now.saturating_add(request.terms.lease()),
            abandoned: false,
            started: false,
            progress: None,
        }),
    };
    (
        Outcome::Reserved {
            attempt: 1,
            progress: None,
        },
        Change::Put(record),
    )
}

/// R10: a resend finds its own reservation, with a new lease of its own length. One that has started
/// or was abandoned is past that: a late copy must not touch it.
fn own_token(
    record: &Record,
    flight: &InFlight,
    request: &ReserveRequest,
    now: Timestamp,
) -> (Outcome, Change) {
    if flight.started || flight.abandoned {
        let unresolved = !flight.is_live(now) && !may_be_taken_over(record, flight, request, now);
        return conflict((!unresolved).then_some(SMALLEST_RETRY_AFTER));
    }
    let lease_end = now.saturating_add(request.terms.lease());
    let mut renewed = record.clone();
    renewed.retention = request.terms.retention();
    renewed.count_retention(lease_end, now);
    renewed.state = State::InFlight(InFlight {
        lease_end,
        ..flight.clone()
    });
    let progress = flight.progress.clone();
    (
        Outcome::Reserved {
            attempt: record.attempt,
            progress,
        },
        Change::Put(renewed),
    )
}

/// R5, of a lease that is not live: whether another attempt may run, or the record is unresolved.
fn may_be_taken_over(
    record: &Record,
    flight: &InFlight,
    request: &ReserveRequest,
    now: Timestamp,
) -> bool {
    let age = now.saturating_since(record.first_reserved);
    if request.longest_age.is_some_and(|longest| longest <= age) {
        return false;
    }
    let held = record.on_lapse == OnLapse::Hold || request.on_lapse == OnLapse::Hold;
    flight.abandoned || !held || !record.may_have_run(flight)
}

/// R5: the next attempt, with the saved progress.
fn take_over(
    record: &Record,
    flight: &InFlight,
    request: &ReserveRequest,
    now: Timestamp,
) -> (Outcome, Change) {
    let attempt = record.attempt.saturating_add(1);
    let lease_end = now.saturating_add(request.terms.lease());
    let mut taken = Record {
        last_reserved: now,
        retention: request.terms.retention(),
        token: request.token,
        attempt,
        on_lapse: request.on_lapse,
        state: State::InFlight(InFlight {
            lease_end,
            abandoned: false,
            started: false,
            progress: flight.progress.clone(),
        }),
        ..record.clone()
    };
    taken.count_retention(lease_end, now);
    let progress = flight.progress.clone();
    (Outcome::Reserved { attempt, progress }, Change::Put(taken))
}

fn conflict(retry_after: Option<Duration>) -> (Outcome, Change) {
    (Outcome::Conflict { retry_after }, Change::Keep)
}
