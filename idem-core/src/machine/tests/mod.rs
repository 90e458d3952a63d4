//! The machine against the laws, each test named by the law that it checks.
//!
//! The words of these tests: [`in_flight`] is a record first reserved at 0 and held since 30 by token
//! `a` as attempt 3, with a lease that ends at 100, a retention of 1000 that ends at 1000, and progress
//! saved by the attempt before. Everything else is said as a difference from it. All numbers are
//! milliseconds.

mod abandon;
mod complete;
mod expiry;
mod record;
mod release;
mod renew;
mod reserve;
mod reserve_table;
mod retention;
mod saturation;
mod standing_table;
mod view;
mod walk;

use std::time::Duration;

use super::*;
use crate::{
    Answer, Fingerprint, Holder, Key, OnLapse, Operation, Outcome, Progress, RecordId, Replay,
    ReserveRequest, Response, Scope, Terms, Timestamp, Token,
};

/// Zero of the tests' time, far enough from the clock's own for instants before it.
const ORIGIN: u64 = 1_000_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(ORIGIN + millis)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn terms(lease: u64, retention: u64) -> Terms {
    Terms::new(ms(lease), ms(retention)).unwrap()
}

fn token(name: char) -> Token {
    Token::from_bytes([u8::try_from(name).unwrap(); 16])
}

fn record_id() -> RecordId {
    RecordId::new(Scope::new("tenant").unwrap(), Key::new("key").unwrap())
}

fn fingerprint() -> Fingerprint {
    Fingerprint::from_parts(1, [7; 32])
}

fn other_fingerprint() -> Fingerprint {
    Fingerprint::from_parts(1, [8; 32])
}

/// A try by this token, with a lease of 200 and a retention of 1400.
fn request(by: char) -> ReserveRequest {
    let operation = Operation {
        record: record_id(),
        fingerprint: fingerprint(),
    };
    ReserveRequest::new(operation, token(by), terms(200, 1400))
}

fn holder(by: char, attempt: u32) -> Holder {
    Holder::new(record_id(), token(by), attempt)
}

fn progress(text: &'static str) -> Progress {
    Progress::new(text).unwrap()
}

fn answer() -> Answer {
    Answer::Full(Response::new(201).header("id", "pay_1").body("paid"))
}

fn other_answer() -> Answer {
    Answer::Full(Response::new(500).body("late"))
}

/// See the module.
fn in_flight() -> Record {
    Record {
        fingerprint: fingerprint(),
        first_reserved: at(0),
        last_reserved: at(30),
        retention: ms(1000),
        retention_end: at(1000),
        token: token('a'),
        attempt: 3,
        on_lapse: OnLapse::RunAgain,
        state: State::InFlight(InFlight {
            lease_end: at(100),
            abandoned: false,
            started: false,
            progress: Some(progress("saved")),
        }),
    }
}

/// The holder of [`in_flight`].
fn current() -> Holder {
    holder('a', 3)
}

impl Record {
    /// The record, made under `Hold`.
    fn held(self) -> Self {
        Self {
            on_lapse: OnLapse::Hold,
            ..self
        }
    }

    /// The record, renewed at least once.
    fn started(self) -> Self {
        self.with_flight(|flight| flight.started = true)
    }

    /// The record, abandoned at `when`.
    fn abandoned(self, when: u64) -> Self {
        self.with_flight(|flight| {
            flight.abandoned = true;
            flight.lease_end = at(when);
        })
    }

    /// The record, completed with [`answer`].
    fn completed(self) -> Self {
        self.completed_with(answer())
    }

    fn completed_with(self, answer: Answer) -> Self {
        Self {
            state: State::Completed(answer),
            ..self
        }
    }

    fn with_flight(mut self, change: impl FnOnce(&mut InFlight)) -> Self {
        let State::InFlight(flight) = &mut self.state else {
            panic!("the record is not in flight");
        };
        change(flight);
        self
    }

    fn flight(&self) -> &InFlight {
        match &self.state {
            State::InFlight(flight) => flight,
            State::Completed(_) => panic!("the record is completed"),
        }
    }
}

impl Change {
    fn into_record(self) -> Record {
        match self {
            Self::Put(record) => record,
            other => panic!("nothing is put: {other:?}"),
        }
    }
}

fn reserved(attempt: u32, progress: Option<Progress>) -> Outcome {
    Outcome::Reserved { attempt, progress }
}

fn conflict(retry_after: u64) -> (Outcome, Change) {
    let retry_after = Some(ms(retry_after));
    (Outcome::Conflict { retry_after }, Change::Keep)
}

fn unresolved() -> (Outcome, Change) {
    (Outcome::Conflict { retry_after: None }, Change::Keep)
}

fn standing_answer(remembered_for: u64) -> Replay {
    Replay {
        answer: answer(),
        remembered_for: ms(remembered_for),
    }
}
