//! What a store decides. [`right`] decides as it should; a wrong store overrides one of it.

use std::time::Duration;

use idem_conformance::fixture::HOUR;
use idem_core::machine::{self, Change, InFlight, Record, State};
use idem_core::{
    Answer, Clock as _, Completion, Cursor, Error, Fingerprint, Holder, LapsedPage, ManualClock,
    Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Response, Terms, Timestamp,
    Update,
};

use crate::data::Data;

/// What kind of store it is: which words are true of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `exact_time`, `reopen`
    Plain,
    /// `exact_time`, `limit`
    Limited,
    /// `copies`
    Copies,
    /// `marks`
    Marks,
}

/// A kind of call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Reserve,
    Complete,
    Renew,
    Abandon,
    Release,
    Get,
    Purge,
}

/// Who is woken by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    Everyone,
    One,
    Nobody,
}

/// How a wait begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    InTime,
    ForEver,
    Overflowing,
    RegisteredLate,
}

/// What is done to a record that is held.
pub(crate) type Updated = (Update, Change);

/// What is listed, and since when each is lapsed.
pub(crate) type Listed = Vec<(Timestamp, RecordInfo)>;

/// A record, if there is one.
pub(crate) type Found<'a> = Option<&'a Record>;

/// All that a store decides.
#[derive(Clone, Copy)]
pub(crate) struct Decisions {
    /// What is wrong, as `LAWS.md` names it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,

    /// Under which name a record is kept.
    pub(crate) place: fn(&RecordId) -> Vec<u8>,
    /// What is kept of what a request names.
    pub(crate) fingerprint: fn(Fingerprint) -> Fingerprint,
    pub(crate) terms: fn(Terms) -> Terms,
    pub(crate) age: fn(Duration) -> Duration,
    pub(crate) progress: fn(&Progress) -> Progress,
    pub(crate) answer: fn(&Answer) -> Answer,
    pub(crate) accepts: fn(&Answer) -> Result<(), Error>,

    /// What time it is, for a handle with this number, if the call before was at this instant.
    pub(crate) now: fn(&ManualClock, u64, Timestamp) -> Timestamp,
    /// What is seen of a record that is there.
    pub(crate) read: fn(Record, Timestamp) -> Option<Record>,
    /// What is written in the place of what is there.
    pub(crate) write: fn(Found<'_>, Record, Timestamp) -> Record,

    pub(crate) reserve: fn(Found<'_>, &ReserveRequest, Timestamp) -> (Outcome, Change),
    pub(crate) complete: fn(Found<'_>, &Holder, &Answer, Timestamp) -> (Completion, Change),
    pub(crate) renew: fn(Found<'_>, &Holder, Terms, Option<&Progress>, Timestamp) -> Updated,
    pub(crate) abandon: fn(Found<'_>, &Holder, Timestamp) -> Updated,
    pub(crate) release: fn(Found<'_>, &Holder, Timestamp) -> Updated,

    /// What `get` shows and writes.
    pub(crate) get: fn(&RecordId, Found<'_>, Timestamp) -> (Option<RecordInfo>, Change),
    /// What `lapsed` lists of a record, and since when it is lapsed.
    pub(crate) list: fn(&RecordId, &Record, Timestamp) -> Option<(Timestamp, RecordInfo)>,
    /// A page of what is listed.
    pub(crate) page: fn(Listed, Option<&Cursor>, usize) -> LapsedPage,
    pub(crate) purge: fn(&mut Data, Timestamp, usize) -> Purged,

    /// Whether it steps aside between reading and writing.
    pub(crate) apart: fn(Op, Found<'_>, Timestamp) -> bool,
    pub(crate) wakes: fn(Op) -> Wakes,
    pub(crate) waits: Waits,

    /// Whether all handles, or even all stores, share their records.
    pub(crate) handles_share: bool,
    pub(crate) stores_share: bool,
    /// What of a change reaches the disk, and whether it does so before the call is seen by others.
    pub(crate) durable: fn(Op, Change) -> Change,
    pub(crate) seen_before_durable: fn(Op) -> bool,

    /// For how long a cache before it keeps what it is told to keep for so long.
    pub(crate) cached_for: fn(Duration) -> Duration,
    pub(crate) longest_mark: Duration,
}

/// The right store.
pub(crate) fn right(name: &'static str) -> Decisions {
    Decisions {
        name,
        kind: Kind::Plain,
        place,
        fingerprint: |fingerprint| fingerprint,
        terms: |terms| terms,
        age: |age| age,
        progress: Progress::clone,
        answer: Answer::clone,
        accepts: |_| Ok(()),
        now: |clock, _, _| clock.now(),
        read: |record, _| Some(record),
        write: |_, record, _| record,
        reserve: machine::reserve,
        complete: machine::complete,
        renew: machine::renew,
        abandon: machine::abandon,
        release: machine::release,
        get: |id, record, now| (shown(id, record, now), Change::Keep),
        list: |id, record, now| {
            let since = machine::lapsed_since(record, now)?;
            Some((since, machine::view(id, record, now)?))
        },
        page: |listed, after, limit| page_by(mark, listed, after, limit),
        purge: |data, now, limit| data.remove_if(limit, |record| machine::is_expired(record, now)),
        apart: |_, _, _| false,
        wakes: |_| Wakes::Everyone,
        waits: Waits::InTime,
        handles_share: true,
        stores_share: false,
        durable: |_, change| change,
        seen_before_durable: |_| false,
        cached_for: |time_to_live| time_to_live,
        longest_mark: Duration::from_secs(1),
    }
}

/// The largest response of a limited store.
pub(crate) const LIMIT: usize = 100_000;

/// The right store that keeps responses up to a size.
pub(crate) fn limited(name: &'static str) -> Decisions {
    Decisions {
        kind: Kind::Limited,
        accepts: |answer| match answer.full().map_or(0, Response::encoded_len) {
            ..=LIMIT => Ok(()),
            size => Err(Error::too_large("response", size as u64, LIMIT as u64)),
        },
        ..right(name)
    }
}

/// The right store behind a cache that copies answers.
pub(crate) fn copied(name: &'static str) -> Decisions {
    Decisions {
        kind: Kind::Copies,
        ..right(name)
    }
}

/// The right store behind a cache that refuses rapid repeats.
pub(crate) fn marked(name: &'static str) -> Decisions {
    Decisions {
        kind: Kind::Marks,
        ..right(name)
    }
}

/// The length of the scope, the scope, the key.
fn place(id: &RecordId) -> Vec<u8> {
    let mut place = vec![id.scope.as_bytes().len() as u8];
    place.extend(id.scope.as_bytes());
    place.extend(id.key.as_str().as_bytes());
    place
}

/// The place of a record with another key.
pub(crate) fn place_of_key(id: &RecordId, key: &str) -> Vec<u8> {
    [id.scope.as_bytes(), b"\0", key.as_bytes()].concat()
}

pub(crate) fn shown(id: &RecordId, record: Found<'_>, now: Timestamp) -> Option<RecordInfo> {
    machine::view(id, record?, now)
}

/// Where a record stands in the list: by when it lapsed, then by its name.
pub(crate) fn mark(since: Timestamp, info: &RecordInfo) -> Vec<u8> {
    let mut mark = since.as_millis().to_be_bytes().to_vec();
    mark.extend(place(&info.operation.record));
    mark
}

/// A page in the order of these marks, which are its cursors.
pub(crate) fn page_by(
    mark: fn(Timestamp, &RecordInfo) -> Vec<u8>,
    listed: Listed,
    after: Option<&Cursor>,
    limit: usize,
) -> LapsedPage {
    let mut marked: Vec<(Vec<u8>, RecordInfo)> = listed
        .into_iter()
        .map(|(since, info)| (mark(since, &info), info))
        .filter(|(mark, _)| after.is_none_or(|after| after.as_bytes() < mark.as_slice()))
        .collect();
    marked.sort_by(|(one, _), (other, _)| one.cmp(other));
    let more = marked.len() > limit;
    marked.truncate(limit);
    let last = marked.last().filter(|_| more);
    LapsedPage {
        next: last.map(|(mark, _)| Cursor::from_bytes(mark.clone())),
        records: marked.into_iter().map(|(_, info)| info).collect(),
    }
}

/// The same step, but another record is written.
pub(crate) fn but<T>(step: (T, Change), wrong: impl FnOnce(&mut Record)) -> (T, Change) {
    match step {
        (reply, Change::Put(mut record)) => {
            wrong(&mut record);
            (reply, Change::Put(record))
        }
        kept => kept,
    }
}

/// The same record, but in flight otherwise.
pub(crate) fn in_flight(record: &mut Record, wrong: impl FnOnce(&mut InFlight)) {
    if let State::InFlight(flight) = &mut record.state {
        wrong(flight);
    }
}

/// What is in flight in this record.
pub(crate) fn flight(record: &Record) -> Option<&InFlight> {
    match &record.state {
        State::InFlight(flight) => Some(flight),
        State::Completed(_) => None,
    }
}

/// Whether the record is in flight and its lease is live.
pub(crate) fn is_live(record: &Record, now: Timestamp) -> bool {
    flight(record).is_some_and(|flight| now < flight.lease_end && !flight.abandoned)
}

/// Who holds this record.
pub(crate) fn holder_of(record: Found<'_>, holder: &Holder) -> Holder {
    let held_by = record.map_or((holder.token, holder.attempt), |r| (r.token, r.attempt));
    Holder::new(holder.record.clone(), held_by.0, held_by.1)
}

/// The same with another response; what was not kept stays so.
pub(crate) fn respond(answer: &Answer, other: impl FnOnce(&Response) -> Response) -> Answer {
    answer
        .full()
        .map_or_else(|| answer.clone(), |response| Answer::from(other(response)))
}

/// Terms that need not fit together.
pub(crate) fn terms_of(lease: Duration, retention: Duration) -> Terms {
    let retention = retention.max(lease.saturating_mul(2));
    Terms::new(lease, retention)
        .unwrap_or_else(|_| Terms::new(HOUR, 2 * HOUR).expect("an hour fits"))
}
