//! What the scripts answer.

use std::time::Duration;

use idem_core::machine::{Record, State};
use idem_core::{Completion, Error, Outcome, Replay, Timestamp, Update};
use redis::Value;

use crate::failure::Failure;
use crate::value::read_progress;

/// The letter that a script answers with, and what follows it. None if there is no record to speak of.
struct Reply(Option<(u8, Vec<Value>)>);

impl Reply {
    fn of(value: Value) -> Result<Self, Error> {
        let Value::Array(mut values) = value else {
            return Err(Failure::strange().into_error());
        };
        if values.is_empty() {
            return Ok(Self(None));
        }
        let rest = values.split_off(1);
        match &values[..] {
            [Value::BulkString(letter)] => match &letter[..] {
                b"X" => Err(unreadable(&rest)),
                [letter] => Ok(Self(Some((*letter, rest)))),
                _ => Err(Failure::strange().into_error()),
            },
            _ => Err(Failure::strange().into_error()),
        }
    }
}

/// A record that cannot be read is an error for its key, never a vacant one.
fn unreadable(why: &[Value]) -> Error {
    match why {
        [Value::BulkString(why)] => {
            let why = String::from_utf8_lossy(why);
            Error::corrupt(format!("the record cannot be read: {why}"))
        }
        _ => Error::corrupt("the record cannot be read"),
    }
}

pub(crate) fn outcome(value: Value) -> Result<Outcome, Error> {
    match Reply::of(value)?.0 {
        Some((b'R', rest)) => match &rest[..] {
            [Value::Int(attempt), Value::BulkString(progress)] => Ok(Outcome::Reserved {
                attempt: u32::try_from(*attempt).map_err(|_| Failure::strange().into_error())?,
                progress: read_progress(progress)?,
            }),
            _ => Err(Failure::strange().into_error()),
        },
        Some((b'A', rest)) => replay(&rest).map(Outcome::Replay),
        Some((b'C', rest)) => Ok(Outcome::Conflict {
            retry_after: Some(millis(rest.first())?),
        }),
        Some((b'U', _)) => Ok(Outcome::Conflict { retry_after: None }),
        Some((b'M', _)) => Ok(Outcome::Mismatch),
        _ => Err(Failure::strange().into_error()),
    }
}

pub(crate) fn completion(value: Value) -> Result<Completion, Error> {
    match Reply::of(value)?.0 {
        Some((b'D', rest)) => Ok(Completion::Completed {
            remembered_for: millis(rest.first())?,
        }),
        Some((b'A', rest)) => replay(&rest).map(Completion::AlreadyCompleted),
        Some((b'S', _)) => Ok(Completion::Superseded),
        _ => Err(Failure::strange().into_error()),
    }
}

pub(crate) fn update(value: Value) -> Result<Update, Error> {
    match Reply::of(value)?.0 {
        Some((b'D', _)) => Ok(Update::Done),
        Some((b'A', rest)) => replay(&rest).map(Update::AlreadyCompleted),
        Some((b'S', _)) => Ok(Update::Superseded),
        _ => Err(Failure::strange().into_error()),
    }
}

/// A record, and when it was looked at.
pub(crate) fn record(value: Value) -> Result<Option<(Record, Timestamp)>, Error> {
    match Reply::of(value)?.0 {
        None => Ok(None),
        Some((b'V', rest)) => match &rest[..] {
            [now, Value::BulkString(record)] => Ok(Some((Record::decode(record)?, instant(now)?))),
            _ => Err(Failure::strange().into_error()),
        },
        Some(_) => Err(Failure::strange().into_error()),
    }
}

/// Which write of a record it is, and how long ago it was.
pub(crate) fn seen(value: Value) -> Result<Option<(Vec<u8>, Duration)>, Error> {
    match Reply::of(value)?.0 {
        None => Ok(None),
        Some((b'V', mut rest)) => match (rest.pop(), rest.pop()) {
            (Some(Value::BulkString(write)), age) => Ok(Some((write, millis(age.as_ref())?))),
            _ => Err(Failure::strange().into_error()),
        },
        Some(_) => Err(Failure::strange().into_error()),
    }
}

/// The answer of `TIME`.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    let Value::Array(parts) = value else {
        return None;
    };
    let number = |value: &Value| match value {
        Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    let [seconds, micros] = &parts[..] else {
        return None;
    };
    let millis = number(seconds)?.saturating_mul(1000);
    Some(Timestamp::from_millis(
        millis.saturating_add(number(micros)? / 1000),
    ))
}

fn replay(rest: &[Value]) -> Result<Replay, Error> {
    let [left, Value::BulkString(record)] = rest else {
        return Err(Failure::strange().into_error());
    };
    let remembered_for = millis(Some(left))?;
    match Record::decode(record)?.state {
        State::Completed(answer) => Ok(Replay {
            answer,
            remembered_for,
        }),
        State::InFlight(_) => Err(Failure::strange().into_error()),
    }
}

fn millis(value: Option<&Value>) -> Result<Duration, Error> {
    match value {
        Some(Value::Int(millis)) => match u64::try_from(*millis) {
            Ok(millis) => Ok(Duration::from_millis(millis)),
            Err(_) => Err(Failure::strange().into_error()),
        },
        _ => Err(Failure::strange().into_error()),
    }
}

fn instant(value: &Value) -> Result<Timestamp, Error> {
    let since_the_epoch = millis(Some(value))?;
    Ok(Timestamp::default().saturating_add(since_the_epoch))
}
