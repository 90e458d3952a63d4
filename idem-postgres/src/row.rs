//! A row as a record of the state machine.

use std::time::Duration;

use bytes::Bytes;
use idem_core::machine::{InFlight, Record, State};
use idem_core::{
    Answer, Error, Fingerprint, Key, OnLapse, Progress, RecordId, Response, Scope, Timestamp, Token,
};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

/// A record as it was read, and when, by the server's clock.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) now: Timestamp,
    pub(crate) record: Record,
    /// One more with every write.
    pub(crate) revision: i64,
    /// As it stands in the row, also of a completed record.
    pub(crate) lease_ends_at: i64,
}

/// The server's clock in a row.
pub(crate) fn now(row: &PgRow) -> Result<Timestamp, Error> {
    instant(row, "now")
}

/// The record in a row. What cannot be read is an error for its key, never a vacant one.
pub(crate) fn found(row: &PgRow) -> Result<Found, Error> {
    let fingerprint_version: i16 = column(row, "fingerprint_version")?;
    let fingerprint = Fingerprint::from_parts(
        u8::try_from(fingerprint_version).map_err(|_| corrupt("fingerprint_version"))?,
        bytes(row, "fingerprint")?,
    );
    let attempt: i64 = column(row, "attempt")?;
    let hold: bool = column(row, "hold")?;
    let retention: i64 = column(row, "retention")?;
    let record = Record {
        fingerprint,
        first_reserved: instant(row, "first_reserved_at")?,
        last_reserved: instant(row, "last_reserved_at")?,
        retention: Duration::from_millis(
            u64::try_from(retention).map_err(|_| corrupt("retention"))?,
        ),
        retention_end: instant(row, "retention_ends_at")?,
        token: Token::from_bytes(bytes(row, "token")?),
        attempt: u32::try_from(attempt).map_err(|_| corrupt("attempt"))?,
        on_lapse: if hold {
            OnLapse::Hold
        } else {
            OnLapse::RunAgain
        },
        state: state(row)?,
    };
    Ok(Found {
        // The row may have been written after the statement arrived and before it read: by then it was
        // that late. And a clock that was set back since must not show more than was given.
        now: now(row)?.max(instant(row, "written_at")?),
        record,
        revision: column(row, "revision")?,
        lease_ends_at: column(row, "lease_ends_at")?,
    })
}

/// The scope and key in a row.
pub(crate) fn record_id(row: &PgRow) -> Result<RecordId, Error> {
    let scope: Vec<u8> = column(row, "scope")?;
    let key: Vec<u8> = column(row, "key")?;
    let scope = Scope::new(scope).map_err(|_| corrupt("scope"))?;
    let key = String::from_utf8(key).map_err(|_| corrupt("key"))?;
    let key = Key::new(key).map_err(|_| corrupt("key"))?;
    Ok(RecordId::new(scope, key))
}

fn state(row: &PgRow) -> Result<State, Error> {
    let state: &str = column(row, "state")?;
    let abandoned = match state {
        "completed" => return answer(row).map(State::Completed),
        "abandoned" => true,
        "in_flight" => false,
        _ => return Err(corrupt("state")),
    };
    let progress: Option<Vec<u8>> = column(row, "progress")?;
    Ok(State::InFlight(InFlight {
        lease_end: instant(row, "lease_ends_at")?,
        abandoned,
        started: column(row, "started")?,
        progress: progress
            .map(Progress::new)
            .transpose()
            .map_err(|_| corrupt("progress"))?,
    }))
}

fn answer(row: &PgRow) -> Result<Answer, Error> {
    let status: i32 = column(row, "status")?;
    let status = u16::try_from(status).map_err(|_| corrupt("status"))?;
    let body_length: Option<&str> = column(row, "body_length")?;
    let Some(body_length) = body_length else {
        let answer: Vec<u8> = column(row, "answer")?;
        let response = Response::decode(&Bytes::from(answer))?;
        return Ok(Answer::Full(response));
    };
    Ok(Answer::NotRetained {
        status,
        body_length: body_length.parse().map_err(|_| corrupt("body_length"))?,
    })
}

fn instant(row: &PgRow, name: &str) -> Result<Timestamp, Error> {
    let millis: i64 = column(row, name)?;
    let millis = u64::try_from(millis).map_err(|_| corrupt(name))?;
    Ok(Timestamp::from_millis(millis))
}

fn bytes<const N: usize>(row: &PgRow, name: &str) -> Result<[u8; N], Error> {
    let bytes: Vec<u8> = column(row, name)?;
    bytes.try_into().map_err(|_| corrupt(name))
}

pub(crate) fn column<'r, T>(row: &'r PgRow, name: &str) -> Result<T, Error>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(name).map_err(|_| corrupt(name))
}

fn corrupt(column: &str) -> Error {
    Error::corrupt(format!("the record cannot be read: column {column}"))
}
