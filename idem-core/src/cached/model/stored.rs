//! Records, requests and entries here and in the crate: the same, but for how instants and names are
//! written.

use std::time::Duration;

use super::super::entry::Entry;
use super::config::Model;
use super::world::{Kept, Record, State, What};
use crate::machine::{self, InFlight};
use crate::time::Timestamp;
use crate::{
    Answer, Fingerprint, Holder, Key, OnLapse, Operation, RecordId, ReserveRequest, Scope, Terms,
    Token,
};

/// One tick is one millisecond of the machine.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_000);

pub(super) fn ticks(ticks: u8) -> Duration {
    Duration::from_millis(u64::from(ticks))
}

pub(super) fn in_ticks(duration: Duration) -> u8 {
    u8::try_from(duration.as_millis()).unwrap()
}

impl Model {
    /// The record as the machine knows it, at [`NOW`].
    pub(super) fn stored(&self, record: &Record) -> machine::Record {
        machine::Record {
            fingerprint: fingerprint(self.config.fingerprint(record.token)),
            first_reserved: NOW,
            last_reserved: NOW,
            retention: self.terms.retention(),
            retention_end: NOW.saturating_add(ticks(record.retention)),
            token: token(record.token),
            attempt: u32::from(record.attempt),
            on_lapse: OnLapse::RunAgain,
            state: match record.state {
                State::Completed(by) => machine::State::Completed(answer(by)),
                State::InFlight {
                    lease,
                    started,
                    abandoned,
                } => machine::State::InFlight(InFlight {
                    lease_end: NOW.saturating_add(ticks(lease)),
                    abandoned,
                    started,
                    progress: None,
                }),
            },
        }
    }

    /// The machine's record as it is kept here, counted from [`NOW`].
    pub(super) fn kept(&self, record: &machine::Record) -> Record {
        let left = |end: Timestamp| in_ticks(end.saturating_since(NOW));
        Record {
            token: number(&record.token),
            attempt: record.attempt as u8,
            retention: left(record.retention_end),
            state: match &record.state {
                machine::State::Completed(answer) => State::Completed(answered(answer)),
                machine::State::InFlight(flight) => State::InFlight {
                    lease: left(flight.lease_end),
                    started: flight.started,
                    abandoned: flight.abandoned,
                },
            },
        }
    }
}

impl Kept {
    pub(super) fn new(entry: &Entry, time_to_live: Duration) -> Self {
        let what = match entry {
            Entry::Mark { token, .. } => What::Mark(number(token)),
            Entry::Copy { answer, .. } => What::Copy(answered(answer)),
        };
        Self {
            what,
            fingerprint: entry.fingerprint().as_bytes()[0],
            left: in_ticks(time_to_live),
            age: 0,
        }
    }

    pub(super) fn entry(&self) -> Entry {
        let fingerprint = fingerprint(self.fingerprint);
        match self.what {
            What::Mark(by) => Entry::Mark {
                fingerprint,
                token: token(by),
            },
            What::Copy(by) => Entry::Copy {
                fingerprint,
                answer: answer(by),
            },
        }
    }
}

pub(super) fn request(by: u8, asks_for: u8, terms: Terms) -> ReserveRequest {
    let record = RecordId::new(Scope::new("scope").unwrap(), Key::new("key").unwrap());
    let operation = Operation {
        record,
        fingerprint: fingerprint(asks_for),
    };
    ReserveRequest::new(operation, token(by), terms)
}

pub(super) fn holder(request: &ReserveRequest, attempt: u8) -> Holder {
    let record = request.operation.record.clone();
    Holder::new(record, request.token, u32::from(attempt))
}

fn fingerprint(asks_for: u8) -> Fingerprint {
    Fingerprint::from_parts(Fingerprint::VERSION, [asks_for; 32])
}

fn token(number: u8) -> Token {
    Token::from_bytes([number; 16])
}

pub(super) fn number(token: &Token) -> u8 {
    token.as_bytes()[0]
}

/// Each token would answer differently; what is in an answer does not matter.
pub(super) fn answer(by: u8) -> Answer {
    Answer::NotRetained {
        status: u16::from(by),
        body_length: 0,
    }
}

pub(super) fn answered(answer: &Answer) -> u8 {
    answer.status() as u8
}
