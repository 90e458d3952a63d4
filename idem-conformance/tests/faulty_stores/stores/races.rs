//! Looking in one moment, writing in another.

use idem_core::Outcome;
use idem_core::machine::{self, Change, is_expired};

use crate::decisions::{Decisions, Op, copied, flight, is_live, right};

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            apart: |op, found, _| op == Op::Reserve && found.is_none(),
            ..right("check-then-insert")
        },
        Decisions {
            apart: |op, found, now| {
                op == Op::Reserve && found.is_none_or(|record| is_expired(record, now))
            },
            ..right("check-then-insert over an expired record")
        },
        Decisions {
            apart: |op, found, now| {
                op == Op::Reserve && found.is_some_and(|r| flight(r).is_some() && !is_live(r, now))
            },
            ..right("takeover decided on a stale read")
        },
        Decisions {
            apart: |op, _, _| op == Op::Complete,
            ..right("completion decided on a stale read")
        },
        Decisions {
            apart: |op, _, _| op == Op::Renew,
            ..right("renewal decided on a stale read")
        },
        Decisions {
            apart: |op, _, _| op == Op::Abandon,
            ..right("abandonment decided on a stale read")
        },
        Decisions {
            apart: |op, _, _| op == Op::Release,
            ..right("release decided on a stale read")
        },
        Decisions {
            apart: |op, _, _| op != Op::Purge,
            ..right("look, then write")
        },
        Decisions {
            apart: |op, _, _| op != Op::Purge,
            ..copied("look, then write, behind copies")
        },
        Decisions {
            reserve: |found, request, now| match machine::reserve(found, request, now) {
                (Outcome::Mismatch, Change::Keep) => (
                    Outcome::Conflict {
                        retry_after: Some(request.terms.lease()),
                    },
                    Change::Keep,
                ),
                other => other,
            },
            ..right("mismatch reported as conflict")
        },
        Decisions {
            apart: |op, found, now| {
                op == Op::Reserve
                    && found
                        .and_then(flight)
                        .is_some_and(|flight| now >= flight.lease_end && !flight.abandoned)
            },
            ..right("takeover that overwrites a completion")
        },
        Decisions {
            apart: |op, found, now| {
                op == Op::Renew && found.is_some_and(|record| is_live(record, now))
            },
            ..right("renewal beside an abandonment")
        },
    ]
}
