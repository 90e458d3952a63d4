//! What operators see.

use idem_core::machine::{self, Change, Record};
use idem_core::{Condition, Cursor, Fingerprint, Holder, LapsedPage, RecordInfo, Timestamp};

use crate::decisions::{Decisions, Found, flight, in_flight, mark, page_by, right, shown};

/// What the right `get` shows, but for one thing.
fn otherwise(
    id: &idem_core::RecordId,
    found: Found<'_>,
    now: Timestamp,
    wrong: impl FnOnce(&mut RecordInfo),
) -> (Option<RecordInfo>, Change) {
    let mut info = shown(id, found, now);
    if let Some(info) = &mut info {
        wrong(info);
    }
    (info, Change::Keep)
}

/// A record that has all the time in the world.
fn for_ever(record: &Record) -> Record {
    let mut record = record.clone();
    record.retention_end = Timestamp::from_millis(u64::MAX);
    record
}

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            get: |id, found, now| {
                otherwise(id, found, now, |info| {
                    let all = info.operation.fingerprint;
                    info.operation.fingerprint = Fingerprint::from_parts(1, *all.as_bytes());
                })
            },
            ..right("`get` without the fingerprint's version")
        },
        Decisions {
            get: |id, found, now| {
                otherwise(id, found, now, |info| {
                    if let Condition::Unresolved { ago } = info.condition {
                        info.condition = Condition::Lapsed { ago };
                    }
                })
            },
            ..right("`get` that calls all of it lapsed")
        },
        Decisions {
            get: |id, found, now| otherwise(id, found, now, |info| info.holder.attempt = 1),
            ..right("`get` that shows the first attempt")
        },
        Decisions {
            get: |id, found, now| {
                otherwise(id, found, now, |info| {
                    if matches!(info.condition, Condition::Completed(_)) {
                        info.condition = Condition::Completed(idem_core::Response::new(200).into());
                    }
                })
            },
            ..right("`get` without the answer")
        },
        Decisions {
            get: |id, found, now| {
                let renewed = found.and_then(|record| {
                    let holder = Holder::new(id.clone(), record.token, record.attempt);
                    let terms =
                        idem_core::Terms::new(record.retention / 4, record.retention).ok()?;
                    Some(machine::renew(found, &holder, terms, None, now).1)
                });
                (shown(id, found, now), renewed.unwrap_or(Change::Keep))
            },
            ..right("`get` that renews")
        },
        Decisions {
            get: |id, found, now| (shown(id, found.map(for_ever).as_ref(), now), Change::Keep),
            ..right("`get` shows an expired record")
        },
        Decisions {
            get: |id, found, now| {
                otherwise(id, found, now, |info| {
                    let seconds = info.first_reserved_ago.as_secs();
                    info.first_reserved_ago = std::time::Duration::from_secs(seconds);
                })
            },
            ..right("ages rounded to seconds")
        },
        Decisions {
            list: |id, record, now| {
                let since = machine::lapsed_since(record, now)
                    .filter(|_| flight(record).is_some_and(|f| !f.abandoned))?;
                Some((since, machine::view(id, record, now)?))
            },
            ..right("`lapsed` without the abandoned")
        },
        Decisions {
            list: |id, record, now| {
                let since = machine::lapsed_since(record, now)?;
                let mut info = machine::view(id, record, now)?;
                info.holder.attempt = 1;
                Some((since, info))
            },
            ..right("`lapsed` with the first holder")
        },
        Decisions {
            list: |id, record, now| {
                let kept = for_ever(record);
                Some((
                    machine::lapsed_since(&kept, now)?,
                    machine::view(id, &kept, now)?,
                ))
            },
            ..right("`lapsed` shows an expired record")
        },
        Decisions {
            list: |id, record, now| {
                let mut early = record.clone();
                in_flight(&mut early, |flight| {
                    flight.lease_end = Timestamp::from_millis(flight.lease_end.as_millis() - 1);
                });
                Some((
                    machine::lapsed_since(&early, now)?,
                    machine::view(id, record, now)?,
                ))
            },
            ..right("`lapsed` lists a live lease")
        },
        Decisions {
            page: |listed, after, limit| {
                page_by(
                    |_, info| info.operation.record.key.as_str().into(),
                    listed,
                    after,
                    limit,
                )
            },
            ..right("`lapsed` in order of keys")
        },
        Decisions {
            page: |listed, after, limit| {
                page_by(
                    |since, _| since.as_millis().to_be_bytes().into(),
                    listed,
                    after,
                    limit,
                )
            },
            ..right("pages by time alone")
        },
        Decisions {
            page: |mut listed, after, limit| {
                listed.sort_by_key(|(since, _)| *since);
                let before = after.map_or(0, |cursor| usize::from(cursor.as_bytes()[0]));
                let end = listed.len().min(before.saturating_add(limit));
                let next = (end < listed.len()).then(|| Cursor::from_bytes([end as u8]));
                let records = listed
                    .into_iter()
                    .take(end)
                    .skip(before)
                    .map(|(_, info)| info);
                LapsedPage {
                    records: records.collect(),
                    next,
                }
            },
            ..right("pages by count")
        },
        Decisions {
            page: |listed, after, limit| {
                let short = |since, info: &RecordInfo| {
                    let mut mark = mark(since, info);
                    mark.truncate(40);
                    mark
                };
                page_by(short, listed, after, limit)
            },
            ..right("cursor that cannot hold a key")
        },
    ]
}
