//! The state machine: what every store must do, as pure functions.
//!
//! No I/O, no clock, no async: each function takes the record as it stands (or none), an input and the
//! instant `now`, and returns the outcome and the [`Change`] to make, if any. It is the specification
//! that every backend is measured against. The in-memory store and the compare-and-swap adapter run
//! it directly; SQL and Lua stores restate it in one round trip, and the conformance suite compares
//! them with it step by step.
//!
//! > A store applies outcome and change **as one atomic step**, under one reading of its clock.
//!
//! The laws are quoted by number where they are decided: R in [`reserve`], C in [`complete`],
//! [`renew`], [`abandon`] and [`release`], expiry and retention (R8, T3) in [`is_expired`] and in the
//! functions that count a retention anew.

mod expiry;
mod record;
mod reserve;
mod view;
mod write;

#[cfg(test)]
mod tests;

pub use expiry::{expires_at, is_expired};
pub use record::{InFlight, Record, State};
pub use reserve::reserve;
pub use view::{lapsed_since, view};
pub use write::{abandon, complete, release, renew};

/// What a step does to the stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing is written: the record stays as it is, to the byte.
    Keep,
    /// The record becomes this one.
    Put(Record),
    /// The record is gone: the key is vacant.
    Remove,
}
