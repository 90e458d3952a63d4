//! A record here and a record of the machine: the same, but for how instants and names are written.

use std::time::Duration;

use super::model::{Config, Model};
use super::world::{Held, NEWCOMER, Record, State, Try};
use crate::machine::{self, InFlight};
use crate::time::Timestamp;
use crate::{
    Answer, Fingerprint, Key, OnLapse, Operation, RecordId, Replay, ReserveRequest, Scope, Terms,
    Token,
};

/// One tick is one millisecond of the machine. Far enough from zero that every instant of a record
/// that still matters can be counted back from it.
const NOW: u64 = 1_000;

impl Model {
    pub(super) fn now(&self, later: u8) -> Timestamp {
        Timestamp::from_millis(NOW + u64::from(later))
    }

    /// The record as the machine knows it, at `NOW`.
    pub(super) fn stored(&self, record: &Record) -> machine::Record {
        let ago = |ticks: u8| Timestamp::from_millis(NOW - u64::from(ticks));
        machine::Record {
            fingerprint: self.operation.fingerprint,
            first_reserved: ago(record.age),
            last_reserved: ago(0),
            retention: self.terms.retention(),
            retention_end: self.now(record.retention),
            token: token(record.holder.by),
            attempt: u32::from(record.holder.attempt),
            on_lapse: on_lapse(record.hold),
            state: match record.state {
                State::Completed(by) => machine::State::Completed(answer(by)),
                State::InFlight {
                    lease,
                    started,
                    abandoned,
                } => machine::State::InFlight(InFlight {
                    lease_end: self.now(lease),
                    abandoned,
                    started,
                    progress: None,
                }),
            },
        }
    }

    /// The machine's record as it is kept here, counted from `NOW`.
    pub(super) fn kept(&self, record: &machine::Record) -> Record {
        let left = |end: Timestamp| end.saturating_since(self.now(0)).as_millis() as u8;
        let age = self
            .now(0)
            .saturating_since(record.first_reserved)
            .as_millis() as u8;
        let (age, state) = match &record.state {
            // Nothing asks for the age of a completed record.
            machine::State::Completed(answer) => (0, State::Completed(try_of(answer))),
            machine::State::InFlight(flight) => {
                let state = State::InFlight {
                    lease: left(flight.lease_end),
                    started: flight.started,
                    abandoned: flight.abandoned,
                };
                (age, state)
            }
        };
        let [caller, serial, ..] = *record.token.as_bytes();
        Record {
            holder: Held {
                by: Try { caller, serial },
                attempt: record.attempt as u8,
            },
            hold: record.on_lapse == OnLapse::Hold,
            retention: left(record.retention_end),
            age,
            state,
        }
    }
}

impl Config {
    pub(super) fn terms(&self) -> Terms {
        let ticks = |ticks: u8| Duration::from_millis(u64::from(ticks));
        Terms::new(ticks(self.lease), ticks(self.retention)).unwrap()
    }
}

impl Model {
    pub(super) fn request(&self, by: Try, hold: bool) -> &ReserveRequest {
        &self.requests[request_index(by, hold)]
    }
}

const SERIALS: u8 = 8;

fn request_index(by: Try, hold: bool) -> usize {
    usize::from(by.caller * SERIALS + by.serial) * 2 + usize::from(hold)
}

/// Every reserve that can be asked for.
pub(super) fn requests(config: &Config) -> Vec<ReserveRequest> {
    let longest = |ticks: u8| Duration::from_millis(u64::from(ticks));
    let mut requests = Vec::new();
    for caller in 0..=NEWCOMER.caller {
        for serial in 0..SERIALS {
            for hold in [false, true] {
                let by = Try { caller, serial };
                assert_eq!(request_index(by, hold), requests.len());
                let request = ReserveRequest::new(operation(), token(by), config.terms())
                    .on_lapse(on_lapse(hold))
                    .longest_age(config.longest_age.map(longest));
                requests.push(request);
            }
        }
    }
    requests
}

/// The same key for something else.
pub(super) fn stranger(config: &Config) -> ReserveRequest {
    let mut operation = operation();
    operation.fingerprint = Fingerprint::from_parts(Fingerprint::VERSION, [8; 32]);
    ReserveRequest::new(operation, token(NEWCOMER), config.terms())
}

pub(super) fn operation() -> Operation {
    Operation {
        record: RecordId::new(Scope::new("scope").unwrap(), Key::new("key").unwrap()),
        fingerprint: Fingerprint::from_parts(Fingerprint::VERSION, [7; 32]),
    }
}

pub(super) fn on_lapse(hold: bool) -> OnLapse {
    if hold {
        OnLapse::Hold
    } else {
        OnLapse::RunAgain
    }
}

pub(super) fn token(by: Try) -> Token {
    let mut bytes = [0; 16];
    bytes[0] = by.caller;
    bytes[1] = by.serial;
    Token::from_bytes(bytes)
}

/// Each try would answer differently; what is in an answer does not matter, so that it is not kept is
/// as good as any.
pub(super) fn answer(by: Try) -> Answer {
    Answer::NotRetained {
        status: u16::from_be_bytes([by.caller, by.serial]),
        body_length: 0,
    }
}

fn try_of(answer: &Answer) -> Try {
    let [caller, serial] = answer.status().to_be_bytes();
    Try { caller, serial }
}

pub(super) fn answered(replay: &Replay) -> Try {
    try_of(&replay.answer)
}
