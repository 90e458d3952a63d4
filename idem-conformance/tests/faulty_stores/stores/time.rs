//! Clocks and durations.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use idem_conformance::fixture::HOUR;
use idem_core::machine::{self, Change};
use idem_core::{Clock as _, Outcome, Timestamp};

use crate::decisions::{Decisions, Op, Waits, Wakes, but, flight, in_flight, right, terms_of};

const MS: Duration = Duration::from_millis(1);

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Cut to so many bits of milliseconds.
fn in_bits(duration: Duration, bits: u32) -> Duration {
    let cut = duration.as_millis() % (1 << bits);
    Duration::from_millis(cut as u64).max(MS)
}

fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

fn seconds_rounded_up(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_millis().div_ceil(1000) as u64)
}

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            now: |clock, handle, _| clock.now().saturating_add(HOUR * (handle as u32 % 8)),
            ..right("the caller's clock used")
        },
        Decisions {
            now: |_, _, last| last,
            ..right("time read before the call")
        },
        Decisions {
            now: |clock, _, _| clock.now().saturating_add(BEGAN.elapsed()),
            ..right("a second clock")
        },
        Decisions {
            terms: |terms| match terms.lease() {
                lease if lease > 1000 * 24 * HOUR => terms_of(MS, terms.retention()),
                _ => terms,
            },
            ..right("durations that wrap")
        },
        Decisions {
            write: |_, mut record, now| {
                let wrapped = in_bits(record.retention_end.saturating_since(now), 40);
                record.retention_end = now.saturating_add(wrapped);
                record
            },
            ..right("retention that wraps")
        },
        Decisions {
            terms: |terms| terms_of(in_bits(terms.lease(), 32), terms.retention()),
            ..right("milliseconds in 32 bits")
        },
        Decisions {
            write: |_, mut record, now| {
                // Zero stands for no end.
                if whole_seconds(record.retention).is_zero() {
                    record.retention_end = now.saturating_add(Duration::MAX);
                }
                record
            },
            ..right("durations cut to whole seconds")
        },
        Decisions {
            terms: |terms| {
                terms_of(
                    seconds_rounded_up(terms.lease()),
                    seconds_rounded_up(terms.retention()),
                )
            },
            ..right("durations rounded up to seconds")
        },
        Decisions {
            reserve: |found, request, now| {
                let longer = found.cloned().map(|mut record| {
                    in_flight(&mut record, |flight| {
                        if !flight.abandoned {
                            flight.lease_end = flight.lease_end.saturating_add(MS);
                        }
                    });
                    record
                });
                machine::reserve(longer.as_ref(), request, now)
            },
            ..right("lease live at its end")
        },
        Decisions {
            age: |age| age.saturating_add(MS),
            ..right("age compared as more than")
        },
        Decisions {
            read: |mut record, _| {
                record.retention_end = record.retention_end.saturating_add(MS);
                Some(record)
            },
            ..right("record there at its end")
        },
        Decisions {
            abandon: |found, holder, now| {
                but(machine::abandon(found, holder, now), |abandoned| {
                    if abandoned.retention_end.saturating_since(now) * 2 == abandoned.retention {
                        abandoned.retention_end = now.saturating_add(abandoned.retention);
                    }
                })
            },
            ..right("half compared as at most")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        in_flight(renewed, |flight| {
                            flight.lease_end = Timestamp::from_millis(
                                flight.lease_end.as_millis().next_multiple_of(1000),
                            );
                        });
                    },
                )
            },
            ..right("renewal rounded to seconds")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (
                    Outcome::Conflict {
                        retry_after: Some(left),
                    },
                    Change::Keep,
                ) if left > MS => (
                    Outcome::Conflict {
                        retry_after: Some(left - MS),
                    },
                    Change::Keep,
                ),
                other => other,
            },
            ..right("off by one millisecond")
        },
        Decisions {
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                ((Outcome::Replay(mut replay), change), Some(record)) => {
                    replay.remembered_for = record.retention;
                    (Outcome::Replay(replay), change)
                }
                (other, _) => other,
            },
            ..right("time remembered of the whole retention")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Replay(mut replay), change) => {
                    replay.remembered_for /= 2;
                    (Outcome::Replay(replay), change)
                }
                other => other,
            },
            ..right("time remembered by half")
        },
        Decisions {
            wakes: |op| {
                if op == Op::Complete {
                    Wakes::Nobody
                } else {
                    Wakes::Everyone
                }
            },
            ..right("lost wake-up")
        },
        Decisions {
            wakes: |_| Wakes::One,
            ..right("one waiter woken")
        },
        Decisions {
            waits: Waits::RegisteredLate,
            ..right("wait registered too late")
        },
        Decisions {
            waits: Waits::ForEver,
            ..right("wait without an end")
        },
        Decisions {
            waits: Waits::Overflowing,
            ..right("wait that overflows")
        },
        Decisions {
            write: |_, mut record, _| {
                let end = record.retention_end;
                if flight(&record).is_some_and(|flight| flight.abandoned) {
                    in_flight(&mut record, |flight| flight.lease_end = end);
                }
                record
            },
            ..right("abandonment by the end of the retention")
        },
    ]
}
