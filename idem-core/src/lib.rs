//! The core of idempotency: words, state machine, store trait, executor, in-memory store.

mod codec;
mod derived_key;
mod digest;
mod error;
mod executor;
mod fingerprint;
mod forward;
mod inspect;
mod key;
pub mod machine;
mod memory;
mod operation;
mod outcome;
mod progress;
mod redact;
mod resolve;
mod response;
mod scope;
mod store;
mod terms;
#[cfg(test)]
mod test_support;
mod time;
mod token;

pub use derived_key::DerivedKey;
pub use error::{Applied, Error};
pub use executor::{
    Builder, Counters, Entry, ExecuteError, Executed, Held, Idempotency, OnConflict, Recorded,
    Reservation, Verdict,
};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use inspect::{Condition, Cursor, Inspect, LapsedPage, Purged, RecordInfo};
pub use key::Key;
pub use memory::MemoryStore;
pub use operation::{Holder, Operation, RecordId};
pub use outcome::{Completion, Outcome, Replay, ReserveRequest, Update};
pub use progress::Progress;
pub use resolve::{Resolution, resolve};
pub use response::{Answer, Header, Response};
pub use scope::Scope;
pub use store::IdempotencyStore;
pub use terms::{OnLapse, Terms};
pub use time::{Clock, ManualClock, MonotonicClock, Timestamp};
pub use token::Token;
