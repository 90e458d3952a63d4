//! What a crash leaves, and what a cache in front of a store does.

use std::time::Duration;

use idem_conformance::fixture::HOUR;
use idem_core::Outcome;
use idem_core::machine::{self, Change};

use crate::decisions::{Decisions, Op, but, copied, in_flight, marked, right};

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            durable: |op, change| {
                if op == Op::Reserve {
                    Change::Keep
                } else {
                    change
                }
            },
            ..right("reservations in memory")
        },
        Decisions {
            durable: |op, change| {
                if op == Op::Complete {
                    Change::Keep
                } else {
                    change
                }
            },
            ..right("answers in memory")
        },
        Decisions {
            durable: |op, change| {
                if op == Op::Renew {
                    Change::Keep
                } else {
                    change
                }
            },
            ..right("renewals in memory")
        },
        Decisions {
            durable: |op, change| {
                if op == Op::Abandon {
                    Change::Keep
                } else {
                    change
                }
            },
            ..right("abandonments in memory")
        },
        Decisions {
            durable: |op, change| {
                if op == Op::Release {
                    Change::Keep
                } else {
                    change
                }
            },
            ..right("releases in memory")
        },
        Decisions {
            durable: |_, change| match change {
                Change::Put(record) if record.attempt > 1 => Change::Keep,
                other => other,
            },
            ..right("takeovers in memory")
        },
        Decisions {
            durable: |_, change| {
                but(((), change), |record| {
                    in_flight(record, |flight| flight.started = false)
                })
                .1
            },
            ..right("the start in memory")
        },
        Decisions {
            seen_before_durable: |op| op == Op::Complete,
            ..right("replay before it is durable")
        },
        Decisions {
            seen_before_durable: |op| op == Op::Reserve,
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                // It is there already, as far as the memory knows.
                ((given, _), Some(record)) if record.token == request.token => {
                    (given, Change::Keep)
                }
                (other, _) => other,
            },
            ..right("resend answered before it is durable")
        },
        Decisions {
            seen_before_durable: |op| op == Op::Complete,
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                // Only a replay waits for what it tells.
                ((replay @ Outcome::Replay(_), _), Some(record)) => {
                    (replay, Change::Put(record.clone()))
                }
                (other, _) => other,
            },
            ..right("repeat answered before it is durable")
        },
        Decisions {
            cached_for: |time_to_live| time_to_live * 2,
            ..copied("copies for the whole retention")
        },
        Decisions {
            longest_mark: Duration::MAX,
            ..marked("marks for the whole lease")
        },
        Decisions {
            cached_for: |time_to_live| time_to_live * 5,
            ..marked("entries kept for five times as long")
        },
        Decisions {
            cached_for: |time_to_live| match time_to_live {
                mark if mark <= Duration::from_secs(1) => HOUR,
                copy => copy,
            },
            ..marked("a mark that is put for a lease")
        },
    ]
}
