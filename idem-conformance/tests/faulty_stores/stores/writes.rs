//! Completing, renewing, abandoning and releasing.

use idem_core::machine::{self, Change, State};
use idem_core::{
    Answer, Completion, Fingerprint, Holder, Operation, ReserveRequest, Terms, Timestamp, Token,
    Update,
};

use crate::decisions::{Decisions, but, flight, holder_of, in_flight, is_live, right};

/// A completed record where none was reserved.
pub(super) fn upsert(holder: &Holder, answer: &Answer, now: Timestamp) -> (Completion, Change) {
    let operation = Operation {
        record: holder.record.clone(),
        fingerprint: Fingerprint::raw("a"),
    };
    let request = ReserveRequest::new(operation, holder.token, Terms::default());
    match machine::reserve(None, &request, now) {
        (_, Change::Put(record)) => {
            let holder = holder_of(Some(&record), holder);
            machine::complete(Some(&record), &holder, answer, now)
        }
        _ => unreachable!("what is vacant is reserved"),
    }
}

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            complete: |found, holder, answer, now| {
                machine::complete(found, &holder_of(found, holder), answer, now)
            },
            ..right("completion without token")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                let attempt = holder_of(found, holder).attempt;
                machine::complete(
                    found,
                    &Holder {
                        attempt,
                        ..holder.clone()
                    },
                    answer,
                    now,
                )
            },
            ..right("completion without attempt")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                let attempt = holder_of(found, holder).attempt.min(holder.attempt);
                let held = found.cloned().map(|mut record| {
                    record.attempt = attempt;
                    record
                });
                let attempt_now = found.map_or(0, |record| record.attempt);
                but(
                    machine::renew(held.as_ref(), holder, terms, progress, now),
                    |record| record.attempt = attempt_now,
                )
            },
            ..right("attempt compared as at least")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                let (completion, _) = machine::complete(found, holder, answer, now);
                (completion, Change::Keep)
            },
            ..right("completion that stores nothing")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                machine::complete(found.filter(|r| r.attempt == 1), holder, answer, now)
            },
            ..right("completion by attempt 1 only")
        },
        Decisions {
            complete: |found, holder, answer, now| match (
                machine::complete(found, holder, answer, now),
                found,
            ) {
                ((Completion::Completed { .. }, change), Some(record)) => (
                    Completion::Completed {
                        remembered_for: record.retention + record.retention,
                    },
                    change,
                ),
                (other, _) => other,
            },
            ..right("time remembered overstated")
        },
        Decisions {
            complete: |found, holder, answer, now| match machine::complete(
                found, holder, answer, now,
            ) {
                (Completion::AlreadyCompleted(_), change) => (Completion::Superseded, change),
                other => other,
            },
            ..right("complete not repeatable")
        },
        Decisions {
            complete: |found, holder, answer, now| match machine::complete(
                found, holder, answer, now,
            ) {
                (Completion::AlreadyCompleted(replay), change) => (
                    Completion::Completed {
                        remembered_for: replay.remembered_for,
                    },
                    change,
                ),
                other => other,
            },
            ..right("repeat that reports success, not what stands")
        },
        Decisions {
            complete: |found, holder, answer, now| match (
                machine::complete(found, holder, answer, now),
                found,
            ) {
                ((Completion::AlreadyCompleted(mut replay), _), Some(record)) => {
                    let mut overwritten = record.clone();
                    overwritten.state = State::Completed(answer.clone());
                    replay.answer = answer.clone();
                    (
                        Completion::AlreadyCompleted(replay),
                        Change::Put(overwritten),
                    )
                }
                (other, _) => other,
            },
            ..right("second response overwrites the first")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                let live = found.filter(|record| flight(record).is_none() || is_live(record, now));
                machine::complete(live, holder, answer, now)
            },
            ..right("completion needs a live lease")
        },
        Decisions {
            complete: |found, holder, answer, now| match found {
                None => upsert(holder, answer, now),
                found => machine::complete(found, holder, answer, now),
            },
            ..right("completion that inserts")
        },
        Decisions {
            complete: |found, holder, answer, now| match machine::complete(
                found, holder, answer, now,
            ) {
                (Completion::Superseded, _) => upsert(holder, answer, now),
                other => other,
            },
            ..right("completion by upsert")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                let kept = found.cloned().map(|mut record| {
                    record.retention_end = record
                        .retention_end
                        .max(now.saturating_add(std::time::Duration::from_millis(1)));
                    record
                });
                machine::complete(kept.as_ref(), holder, answer, now)
            },
            ..right("writes to an expired record")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                machine::renew(found, &holder_of(found, holder), terms, progress, now)
            },
            ..right("renewal that revives a dead token")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                let revived = found.cloned().map(|mut record| {
                    in_flight(&mut record, |flight| flight.abandoned = false);
                    record
                });
                machine::renew(revived.as_ref(), holder, terms, progress, now)
            },
            ..right("late renewal revives an abandoned record")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                machine::renew(
                    found.filter(|r| is_live(r, now) || flight(r).is_none()),
                    holder,
                    terms,
                    progress,
                    now,
                )
            },
            ..right("renewal needs a live lease")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| match machine::renew(
                found, holder, terms, progress, now,
            ) {
                (Update::AlreadyCompleted(_), _) => {
                    let mut reopened = found.cloned().expect("it is completed");
                    reopened.state = State::InFlight(machine::InFlight {
                        lease_end: now.saturating_add(terms.lease()),
                        abandoned: false,
                        started: true,
                        progress: progress.cloned(),
                    });
                    (Update::Done, Change::Put(reopened))
                }
                other => other,
            },
            ..right("renewal that reopens a completed record")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        let before = found
                            .and_then(flight)
                            .map_or(now, |flight| flight.lease_end);
                        in_flight(renewed, |flight| {
                            flight.lease_end = before.saturating_add(terms.lease())
                        });
                    },
                )
            },
            ..right("lease added to the one before")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        let first = found
                            .and_then(flight)
                            .map_or(now, |flight| flight.lease_end);
                        let lease = first.saturating_since(renewed.last_reserved);
                        in_flight(renewed, |flight| {
                            flight.lease_end = now.saturating_add(lease)
                        });
                    },
                )
            },
            ..right("renewal by the first lease")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        in_flight(renewed, |flight| {
                            flight.lease_end = now.saturating_add(terms.lease())
                        });
                    },
                )
            },
            ..right("renewal that shortens a lease")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        in_flight(renewed, |flight| flight.started = false);
                    },
                )
            },
            ..right("renewal that does not mark the start")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        renewed.last_reserved = now;
                    },
                )
            },
            ..right("renewal that counts as a reservation")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        in_flight(renewed, |flight| flight.progress = progress.cloned());
                    },
                )
            },
            ..right("renewal that forgets progress")
        },
        Decisions {
            abandon: |found, holder, now| {
                machine::abandon(
                    found.filter(|r| is_live(r, now) || flight(r).is_none()),
                    holder,
                    now,
                )
            },
            ..right("abandonment needs a live lease")
        },
        Decisions {
            abandon: |found, holder, now| {
                but(machine::abandon(found, holder, now), |abandoned| {
                    let end = found
                        .and_then(flight)
                        .map_or(now, |flight| flight.lease_end);
                    in_flight(abandoned, |flight| {
                        flight.abandoned = false;
                        flight.lease_end = end;
                    });
                })
            },
            ..right("abandonment that keeps the lease")
        },
        Decisions {
            abandon: |found, holder, now| {
                but(machine::abandon(found, holder, now), |abandoned| {
                    in_flight(abandoned, |flight| flight.progress = None);
                })
            },
            ..right("abandonment that drops progress")
        },
        Decisions {
            abandon: machine::release,
            ..right("abandonment as release")
        },
        Decisions {
            abandon: |found, holder, now| {
                let again = found.cloned().map(|mut record| {
                    in_flight(&mut record, |flight| flight.abandoned = false);
                    record
                });
                machine::abandon(again.as_ref(), holder, now)
            },
            ..right("abandonment that counts anew")
        },
        Decisions {
            abandon: |found, holder, now| {
                but(machine::abandon(found, holder, now), |abandoned| {
                    abandoned.token = Token::from_bytes([0; 16]);
                })
            },
            ..right("abandonment that drops the token")
        },
        Decisions {
            abandon: |found, holder, now| match machine::abandon(found, holder, now) {
                (Update::AlreadyCompleted(_), _) => (Update::Done, Change::Remove),
                other => other,
            },
            ..right("abandonment of a completed record")
        },
        Decisions {
            release: |found, holder, now| match machine::release(found, holder, now) {
                (Update::AlreadyCompleted(_), _) => (Update::Done, Change::Remove),
                other => other,
            },
            ..right("release of a completed record")
        },
        Decisions {
            release: |found, holder, now| machine::release(found, &holder_of(found, holder), now),
            ..right("release by key alone")
        },
        Decisions {
            release: |found, holder, now| match found.filter(|r| r.attempt == holder.attempt) {
                Some(_) => machine::release(found, &holder_of(found, holder), now),
                None => machine::release(found, holder, now),
            },
            ..right("release by a rejected duplicate")
        },
        Decisions {
            complete: |found, holder, answer, now| match found
                .filter(|r| r.attempt > holder.attempt)
            {
                Some(_) => machine::complete(found, &holder_of(found, holder), answer, now),
                None => machine::complete(found, holder, answer, now),
            },
            ..right("writes by who once held it")
        },
        Decisions {
            release: machine::abandon,
            ..right("release that keeps the record")
        },
        Decisions {
            release: |found, holder, now| match machine::release(found, holder, now) {
                (Update::Superseded, change) => (Update::Done, change),
                other => other,
            },
            ..right("release that always succeeds")
        },
        Decisions {
            complete: |found, holder, answer, now| match found
                .filter(|r| !is_live(r, now) && flight(r).is_some_and(|f| f.started))
            {
                Some(_) => (Completion::Superseded, Change::Keep),
                None => machine::complete(found, holder, answer, now),
            },
            ..right("unresolved records refuse writes")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| match machine::renew(
                found, holder, terms, progress, now,
            ) {
                (Update::AlreadyCompleted(_), change) => (Update::Superseded, change),
                other => other,
            },
            ..right("superseded once completed")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        if renewed.attempt > 1 {
                            in_flight(renewed, |flight| flight.progress = progress.cloned());
                        }
                    },
                )
            },
            ..right("two rules that hold one by one")
        },
        Decisions {
            release: |found, holder, now| match found
                .filter(|r| flight(r).is_none() && r.attempt > holder.attempt)
            {
                Some(_) => (Update::Done, Change::Remove),
                None => machine::release(found, holder, now),
            },
            ..right("late release of a completed record")
        },
        Decisions {
            release: |found, holder, now| match found
                .filter(|r| flight(r).is_some() && r.attempt > holder.attempt)
            {
                Some(_) => (Update::Done, Change::Remove),
                None => machine::release(found, holder, now),
            },
            ..right("late release of a taken record")
        },
        Decisions {
            release: |found, holder, now| match found
                .filter(|r| is_live(r, now) && flight(r).is_some_and(|f| !f.started))
            {
                Some(_) => (Update::Done, Change::Remove),
                None => machine::release(found, holder, now),
            },
            ..right("second release frees the next holder")
        },
        Decisions {
            release: |found, holder, now| {
                let (told, change) = machine::release(found, holder, now);
                let kept = found.filter(|_| change == Change::Remove);
                let (_, abandoned) = but(machine::abandon(kept, holder, now), |record| {
                    record.attempt = 0
                });
                (told, abandoned)
            },
            ..right("release that keeps the fingerprint")
        },
    ]
}
