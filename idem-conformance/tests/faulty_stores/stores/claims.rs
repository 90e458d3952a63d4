//! Who is given the reservation, and what the others are told.

use std::time::Duration;

use idem_core::machine::{self, Change};
use idem_core::{OnLapse, Outcome};

use super::writes::upsert;
use crate::decisions::{Decisions, but, flight, in_flight, is_live, right};

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            reserve: |found, request, now| {
                let (outcome, change) = machine::reserve(found, request, now);
                match outcome {
                    Outcome::Reserved { attempt, progress } => {
                        let attempt = attempt - 1;
                        (Outcome::Reserved { attempt, progress }, change)
                    }
                    other => (other, change),
                }
            },
            ..right("attempts counted from zero")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (given @ Outcome::Reserved { attempt: 1, .. }, _) => (given, Change::Keep),
                other => other,
            },
            complete: |found, holder, answer, now| match found {
                None => upsert(holder, answer, now),
                found => machine::complete(found, holder, answer, now),
            },
            ..right("get, then set after the handler")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (
                    Outcome::Conflict {
                        retry_after: Some(_),
                    },
                    change,
                ) => {
                    let retry_after = Some(request.terms.lease());
                    (Outcome::Conflict { retry_after }, change)
                }
                other => other,
            },
            ..right("hint of the caller's lease")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (
                    Outcome::Conflict {
                        retry_after: Some(_),
                    },
                    change,
                ) => {
                    let retry_after = Some(Duration::ZERO);
                    (Outcome::Conflict { retry_after }, change)
                }
                other => other,
            },
            ..right("hint of zero")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (
                    Outcome::Conflict {
                        retry_after: Some(left),
                    },
                    change,
                ) => {
                    let retry_after = Some(left + Duration::from_secs(1));
                    (Outcome::Conflict { retry_after }, change)
                }
                other => other,
            },
            ..right("hint beyond the lease")
        },
        Decisions {
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                ((conflict @ Outcome::Conflict { .. }, _), Some(record)) => {
                    let mut extended = record.clone();
                    in_flight(&mut extended, |flight| {
                        flight.lease_end = flight
                            .lease_end
                            .max(now.saturating_add(request.terms.lease()));
                    });
                    (conflict, Change::Put(extended))
                }
                (other, _) => other,
            },
            ..right("lease extended by a conflict")
        },
        Decisions {
            reserve: |found, request, now| {
                let in_flight = found.filter(|record| flight(record).is_some());
                match machine::reserve(in_flight, request, now) {
                    (Outcome::Reserved { .. }, _)
                        if found
                            .is_some_and(|r| r.fingerprint != request.operation.fingerprint) =>
                    {
                        machine::reserve(found, request, now)
                    }
                    other => other,
                }
            },
            ..right("runs again once completed")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Mismatch, _) => (Outcome::Mismatch, Change::Remove),
                other => other,
            },
            ..right("mismatch that deletes")
        },
        Decisions {
            reserve: |found, request, now| match found.filter(|record| is_live(record, now)) {
                Some(record) => {
                    let mut same = request.clone();
                    same.operation.fingerprint = record.fingerprint;
                    machine::reserve(found, &same, now)
                }
                None => machine::reserve(found, request, now),
            },
            ..right("conflict before mismatch")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|r| flight(r).is_some_and(|f| now >= f.lease_end && !f.abandoned))
            {
                Some(record) => {
                    let mut same = request.clone();
                    same.operation.fingerprint = record.fingerprint;
                    machine::reserve(found, &same, now)
                }
                None => machine::reserve(found, request, now),
            },
            ..right("takeover before mismatch")
        },
        Decisions {
            reserve: |found, request, now| match found.filter(|r| r.token == request.token) {
                Some(record) => {
                    let mut same = request.clone();
                    same.operation.fingerprint = record.fingerprint;
                    machine::reserve(found, &same, now)
                }
                None => machine::reserve(found, request, now),
            },
            ..right("own token before mismatch")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|r| flight(r).is_some_and(|f| f.abandoned))
            {
                Some(record) => {
                    let mut same = record.clone();
                    same.fingerprint = request.operation.fingerprint;
                    machine::reserve(Some(&same), request, now)
                }
                None => machine::reserve(found, request, now),
            },
            ..right("abandonment that forgets the fingerprint")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Reserved { attempt: 2.., .. }, _) => (
                    Outcome::Conflict {
                        retry_after: Some(request.terms.lease()),
                    },
                    Change::Keep,
                ),
                other => other,
            },
            ..right("expiry of leases ignored")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |taken| {
                    taken.token = found.map_or(taken.token, |record| record.token);
                })
            },
            ..right("takeover that keeps the old token")
        },
        Decisions {
            reserve: |found, request, now| {
                let taken = machine::reserve(found, request, now);
                match but(taken, |record| record.attempt = 1) {
                    (Outcome::Reserved { progress, .. }, change) => {
                        let attempt = 1;
                        (Outcome::Reserved { attempt, progress }, change)
                    }
                    other => other,
                }
            },
            ..right("attempt not counted")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Reserved { attempt, .. }, change) => but(
                    (
                        Outcome::Reserved {
                            attempt,
                            progress: None,
                        },
                        change,
                    ),
                    |taken| {
                        in_flight(taken, |flight| flight.progress = None);
                    },
                ),
                other => other,
            },
            ..right("progress dropped at takeover")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |taken| {
                    let started = found.and_then(flight).is_some_and(|flight| flight.started);
                    in_flight(taken, |flight| flight.started = started);
                })
            },
            ..right("takeover that keeps the start")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |taken| {
                    taken.on_lapse = found.map_or(taken.on_lapse, |first| first.on_lapse);
                })
            },
            ..right("on lapse kept from the first")
        },
        Decisions {
            reserve: |found, request, now| {
                let run_again = found.cloned().map(|mut record| {
                    record.on_lapse = OnLapse::RunAgain;
                    record
                });
                match machine::reserve(run_again.as_ref(), request, now) {
                    (Outcome::Reserved { attempt: 1, .. }, _) => {
                        machine::reserve(found, request, now)
                    }
                    other => other,
                }
            },
            ..right("hold taken from the later caller only")
        },
        Decisions {
            reserve: |found, request, now| match found {
                Some(record) if record.token != request.token => {
                    let again = request.clone().on_lapse(OnLapse::RunAgain);
                    but(machine::reserve(found, &again, now), |taken| {
                        taken.on_lapse = request.on_lapse
                    })
                }
                _ => machine::reserve(found, request, now),
            },
            ..right("hold taken from the record only")
        },
        Decisions {
            reserve: |found, request, now| {
                let started = found.cloned().map(|mut record| {
                    let other = record.token != request.token;
                    in_flight(&mut record, |flight| flight.started = other);
                    record
                });
                machine::reserve(started.as_ref(), request, now)
            },
            ..right("hold without a look at the start")
        },
        Decisions {
            reserve: |found, request, now| {
                let forgotten = found.cloned().map(|mut record| {
                    in_flight(&mut record, |flight| flight.abandoned = false);
                    record
                });
                machine::reserve(forgotten.as_ref(), request, now)
            },
            ..right("hold over an abandonment")
        },
        Decisions {
            age: |_| Duration::MAX,
            ..right("longest age ignored")
        },
        Decisions {
            reserve: |found, request, now| {
                let young = found.cloned().map(|mut record| {
                    record.first_reserved = record.last_reserved;
                    record
                });
                but(machine::reserve(young.as_ref(), request, now), |taken| {
                    taken.first_reserved = found.map_or(now, |record| record.first_reserved);
                })
            },
            ..right("age of the last reservation")
        },
        Decisions {
            reserve: |found, request, now| match (found, request.longest_age) {
                (Some(record), Some(age))
                    if record.fingerprint == request.operation.fingerprint
                        && now.saturating_since(record.first_reserved) >= age =>
                {
                    (Outcome::Conflict { retry_after: None }, Change::Keep)
                }
                _ => machine::reserve(found, request, now),
            },
            ..right("age before the lease")
        },
        Decisions {
            // As a signed number of milliseconds: the longest is less than nothing.
            age: |age| Duration::from_millis((age.as_millis() as i64).max(0) as u64),
            ..right("age that wraps")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|record| record.token == request.token && is_live(record, now))
            {
                Some(_) => {
                    let mut other = request.clone();
                    other.token = idem_core::Token::from_bytes([7; 16]);
                    machine::reserve(found, &other, now)
                }
                None => machine::reserve(found, request, now),
            },
            ..right("own lost reserve reported as conflict")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|record| record.token == request.token)
            {
                Some(record) if !is_live(record, now) => {
                    let mut dead = record.clone();
                    dead.token = idem_core::Token::from_bytes([7; 16]);
                    machine::reserve(Some(&dead), request, now)
                }
                _ => machine::reserve(found, request, now),
            },
            ..right("resend that takes over from itself")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |renewed| {
                    if let Some(old) = found.filter(|old| old.token == renewed.token) {
                        *renewed = old.clone();
                    }
                })
            },
            ..right("resend with the old lease")
        },
        Decisions {
            reserve: |found, request, now| match found.filter(|record| {
                record.token == request.token
                    && flight(record).is_some_and(|f| !f.started && !f.abandoned)
            }) {
                Some(record) => but(machine::reserve(None, request, now), |new| {
                    new.fingerprint = record.fingerprint
                }),
                None => machine::reserve(found, request, now),
            },
            ..right("resend that writes a new record")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |renewed| {
                    if found.is_some_and(|old| old.token == renewed.token) {
                        renewed.retention_end = now.saturating_add(renewed.retention);
                    }
                })
            },
            ..right("resend that shortens the retention")
        },
        Decisions {
            reserve: |found, request, now| {
                let idle = found.cloned().map(|mut record| {
                    let own = record.token == request.token;
                    in_flight(&mut record, |flight| flight.started &= !own);
                    record
                });
                machine::reserve(idle.as_ref(), request, now)
            },
            ..right("started reservation given again")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Conflict { retry_after: None }, change) => {
                    let retry_after = Some(Duration::from_millis(1));
                    (Outcome::Conflict { retry_after }, change)
                }
                other => other,
            },
            ..right("hint on an unresolved record")
        },
        Decisions {
            reserve: |found, request, now| {
                let alive = found.cloned().map(|mut record| {
                    let own = record.token == request.token;
                    in_flight(&mut record, |flight| flight.abandoned &= !own);
                    record
                });
                machine::reserve(alive.as_ref(), request, now)
            },
            ..right("late copy that revives an abandoned record")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|r| r.token == request.token && flight(r).is_none())
            {
                Some(_) => machine::reserve(None, request, now),
                None => machine::reserve(found, request, now),
            },
            ..right("late copy that reserves a completed record")
        },
        Decisions {
            reserve: |found, request, now| match found
                .filter(|record| record.attempt > 1 && request.resend)
            {
                Some(record) if record.token != request.token && is_live(record, now) => (
                    Outcome::Reserved {
                        attempt: 1,
                        progress: None,
                    },
                    Change::Keep,
                ),
                _ => machine::reserve(found, request, now),
            },
            ..right("late copy that takes its record back")
        },
        Decisions {
            reserve: |found, request, now| {
                // (999 / 1000)^14000 = 8.3e-7: the chance that the law of 14 000 tries misses it.
                let unlucky = u128::from_le_bytes(*request.token.as_bytes()) % 1000 == 0;
                machine::reserve(found.filter(|_| !unlucky), request, now)
            },
            ..right("double grant one time in a thousand")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Mismatch, _) if found.is_some_and(|record| is_live(record, now)) => {
                    machine::reserve(None, request, now)
                }
                other => other,
            },
            ..right("winner decided by the fingerprint")
        },
        Decisions {
            reserve: |found, request, now| {
                let own = found.filter(|record| record.token == request.token);
                if request.resend && own.is_some_and(|record| is_live(record, now)) {
                    let retry_after = Some(Duration::from_millis(1));
                    return (Outcome::Conflict { retry_after }, Change::Keep);
                }
                machine::reserve(found, request, now)
            },
            ..right("copies in conflict with each other")
        },
    ]
}
