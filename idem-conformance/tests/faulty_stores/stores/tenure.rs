//! How long a record is remembered, and what purging removes.

use std::time::Duration;

use idem_conformance::fixture::HOUR;
use idem_core::machine::{self, Change, expires_at, is_expired};
use idem_core::{OnLapse, Outcome, Purged, Timestamp};

use crate::decisions::{Decisions, Op, but, flight, in_flight, is_live, right, shown};

const NEVER: Timestamp = Timestamp::from_millis(u64::MAX);

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            read: |mut record, _| {
                if flight(&record).is_none() {
                    record.retention_end = NEVER;
                }
                Some(record)
            },
            ..right("completed records stay")
        },
        Decisions {
            read: |mut record, _| {
                if flight(&record).is_some_and(|flight| flight.abandoned) {
                    record.retention_end = NEVER;
                }
                Some(record)
            },
            ..right("abandoned records stay")
        },
        Decisions {
            read: |mut record, now| {
                if flight(&record).is_some_and(|f| now >= f.lease_end && !f.abandoned) {
                    record.retention_end = NEVER;
                }
                Some(record)
            },
            ..right("lapsed records stay")
        },
        Decisions {
            read: |record, now| {
                (is_live(&record, now) || now < record.retention_end).then_some(record)
            },
            ..right("unresolved records expire")
        },
        Decisions {
            read: |record, now| {
                (now < record.first_reserved.saturating_add(record.retention)).then_some(record)
            },
            ..right("expiry of a live lease")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                let held = found.is_some_and(|record| record.on_lapse == OnLapse::Hold);
                but(machine::complete(found, holder, answer, now), |completed| {
                    if held {
                        completed.retention_end = now;
                    }
                })
            },
            ..right("retention not counted for held records")
        },
        Decisions {
            renew: |found, holder, terms, progress, now| {
                let end = found.map_or(now, |record| record.retention_end);
                but(
                    machine::renew(found, holder, terms, progress, now),
                    |renewed| {
                        in_flight(renewed, |flight| {
                            flight.lease_end = flight.lease_end.min(end)
                        });
                    },
                )
            },
            ..right("lease cut at the retention")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                but(machine::complete(found, holder, answer, now), |completed| {
                    completed.retention_end = now.saturating_add(completed.retention / 2);
                })
            },
            ..right("retention counted from half")
        },
        Decisions {
            get: |id, found, now| {
                let touched = found
                    .filter(|record| !is_expired(record, now))
                    .cloned()
                    .map(|mut record| {
                        record.retention_end = now.saturating_add(record.retention);
                        record
                    });
                (
                    shown(id, found, now),
                    touched.map_or(Change::Keep, Change::Put),
                )
            },
            ..right("retention restarted by reads")
        },
        Decisions {
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                ((replay @ Outcome::Replay(_), _), Some(record)) => {
                    let mut touched = record.clone();
                    touched.retention_end = now.saturating_add(record.retention);
                    (replay, Change::Put(touched))
                }
                (other, _) => other,
            },
            ..right("retention restarted by replays")
        },
        Decisions {
            reserve: |found, request, now| match (machine::reserve(found, request, now), found) {
                ((refused @ (Outcome::Conflict { .. } | Outcome::Mismatch), _), Some(record)) => {
                    let mut touched = record.clone();
                    touched.retention_end = now.saturating_add(record.retention);
                    (refused, Change::Put(touched))
                }
                (other, _) => other,
            },
            ..right("retention restarted by conflicts")
        },
        Decisions {
            write: |found, mut record, now| {
                let kept = found.filter(|old| !is_expired(old, now));
                record.retention_end = kept.map_or(record.retention_end, |old| old.retention_end);
                record
            },
            ..right("retention never counted anew")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |taken| {
                    if taken.attempt > 1 {
                        taken.retention_end = now.saturating_add(taken.retention);
                    }
                })
            },
            ..right("retention restarted by a takeover")
        },
        Decisions {
            reserve: |found, request, now| {
                but(machine::reserve(found, request, now), |renewed| {
                    if let Some(old) = found.filter(|old| old.token == renewed.token) {
                        renewed.retention_end = old.retention_end;
                    }
                })
            },
            ..right("retention not counted anew by a resend")
        },
        Decisions {
            complete: |found, holder, answer, now| {
                but(machine::complete(found, holder, answer, now), |completed| {
                    completed.retention_end = found.map_or(now, |old| old.retention_end);
                })
            },
            ..right("not counted anew at completion")
        },
        Decisions {
            abandon: |found, holder, now| {
                but(machine::abandon(found, holder, now), |abandoned| {
                    abandoned.retention_end = found.map_or(now, |old| old.retention_end);
                })
            },
            ..right("not counted anew at abandonment")
        },
        Decisions {
            write: |_, mut record, _| {
                record.retention_end = record.first_reserved.saturating_add(record.retention);
                record
            },
            ..right("retention from the first reservation only")
        },
        Decisions {
            write: |_, mut record, now| {
                record.retention_end = now.saturating_add(record.retention);
                record
            },
            ..right("retention of the last request")
        },
        Decisions {
            write: |found, mut record, now| {
                let first = found.filter(|old| !is_expired(old, now));
                record.retention = first.map_or(record.retention, |old| old.retention);
                record.retention_end = match first {
                    Some(old) => record
                        .retention_end
                        .min(old.retention_end.max(now.saturating_add(old.retention))),
                    None => record.retention_end,
                };
                record
            },
            ..right("retention of the first request")
        },
        Decisions {
            purge: |data, _, limit| data.remove_if(limit, |_| true),
            ..right("purge of everything")
        },
        Decisions {
            purge: |data, now, limit| {
                data.remove_if(limit, |record| {
                    !is_live(record, now) && record.retention_end <= now
                })
            },
            ..right("unresolved records purged")
        },
        Decisions {
            purge: |data, now, _| data.remove_if(usize::MAX, |record| is_expired(record, now)),
            ..right("purge of everything at once")
        },
        Decisions {
            purge: |data, now, limit| {
                data.remove_if(limit, |record| {
                    record.first_reserved.saturating_add(record.retention) <= now
                })
            },
            ..right("purge by the first due time")
        },
        Decisions {
            purge: |data, now, limit| {
                data.due.sort();
                let listed = data.due.partition_point(|(due, _)| *due <= now);
                let removed = data
                    .due
                    .drain(..listed.min(limit))
                    .filter(|(_, place)| data.records.remove(place).is_some());
                Purged {
                    removed: removed.count(),
                    more: listed > limit,
                }
            },
            ..right("purge by a stale list")
        },
        Decisions {
            purge: |data, now, limit| {
                data.remove_if(limit, |record| {
                    expires_at(record)
                        .is_some_and(|end| end <= now.saturating_add(Duration::from_secs(1)))
                })
            },
            ..right("purge a second early")
        },
        Decisions {
            apart: |op, _, _| op == Op::Purge,
            ..right("purge that lists, then deletes")
        },
        Decisions {
            read: |record, now| {
                Some(record).filter(|record| !is_expired(record, now.saturating_add(HOUR)))
            },
            ..right("expiry an hour early")
        },
    ]
}
