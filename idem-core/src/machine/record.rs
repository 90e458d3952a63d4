//! A record: everything a store remembers of one operation.

use std::time::Duration;

use crate::time::Timestamp;
use crate::{Answer, Error, Fingerprint, Holder, OnLapse, Progress, Token};

/// Everything a store remembers of one operation, under its scope and key.
///
/// Instants are by the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What the operation asks for, with the version of the algorithm that computed it.
    pub fingerprint: Fingerprint,
    /// When the first attempt reserved it.
    pub first_reserved: Timestamp,
    /// When the current attempt reserved it.
    pub last_reserved: Timestamp,
    /// How long the record is to be remembered, as its holder last asked.
    pub retention: Duration,
    /// Until when the record is remembered, as counted so far.
    pub retention_end: Timestamp,
    /// The token of the current attempt, or of the one that completed it.
    pub token: Token,
    /// The number of that attempt, from 1.
    pub attempt: u32,
    /// What its current attempt asked for if its lease lapses.
    pub on_lapse: OnLapse,
    /// In flight or completed.
    pub state: State,
}

/// Whether an operation is still running, as far as its record knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Reserved; the answer is not known yet.
    InFlight(InFlight),
    /// Answered.
    Completed(Answer),
}

/// What is known of an operation in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The lease is live while `now < lease_end`.
    pub lease_end: Timestamp,
    /// Its holder said that it is safe to run again. The lease ended at that moment.
    pub abandoned: bool,
    /// The reservation was renewed at least once by its token.
    pub started: bool,
    /// What was saved for the next attempt.
    pub progress: Option<Progress>,
}

impl Record {
    /// Whether `holder` is who holds this record now, or who completed it.
    pub(super) fn is_held_by(&self, holder: &Holder) -> bool {
        self.token == holder.token && self.attempt == holder.attempt
    }

    /// Whether the current attempt may have had an effect. One made under `Hold` and not started has
    /// not run; any other may have.
    pub(super) fn may_have_run(&self, flight: &InFlight) -> bool {
        flight.started || self.on_lapse == OnLapse::RunAgain
    }

    /// The record as a versioned sequence of bytes, for stores that keep one value.
    pub fn encode(&self) -> Vec<u8> {
        crate::codec::encode_record(self)
    }

    /// Reads what [`Record::encode`] wrote.
    ///
    /// # Errors
    /// [Corrupt](Error::is_corrupt) if the bytes are not a record of a known version. Such a record is
    /// an error for its key, never a vacant one.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        crate::codec::decode_record(bytes)
    }
}

impl InFlight {
    /// The lease ended without a word, or the holder abandoned it.
    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        now < self.lease_end && !self.abandoned
    }
}
