//! Make retries safe: the state machine, the store trait, the executor and the in-memory store.
//!
//! A client sends `POST /payments`; the card is charged; the answer is lost; the client tries again.
//! The client names the operation once, with a key, and repeats that name on every try. This crate
//! remembers, per client, what became of the operation, and answers every repeat with the first
//! answer.
//!
//! ```
//! use idem_core::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let idempotency = Idempotency::new(MemoryStore::new());
//!
//! // Whose it is, what the client calls it, what it asks for.
//! let operation = Operation::new(
//!     Scope::new("acct_812")?,
//!     Key::new("8e03978e-40d5-43e8-bc93-6894a57f9324")?,
//!     Fingerprint::builder().bytes("path", "/payments").json("body", r#"{"amount":"150.00"}"#).finish(),
//! );
//! let executed = idempotency
//!     .execute(&operation, async |reservation: Reservation| {
//!         let provider_key = reservation.derived_key("charge"); // the same on every attempt
//!         # let _ = provider_key;
//!         Ok::<_, Error>(Response::new(201).body("paid"))
//!     })
//!     .await?;
//!
//! match executed {
//!     Executed::Ran { response, .. } => println!("201, as answered: {response:?}"),
//!     Executed::Replayed(replay) => println!("a repeat: {:?}", replay.answer),
//!     Executed::Conflict { retry_after: Some(_) } => println!("409: in flight, try again later"),
//!     Executed::Conflict { retry_after: None } => println!("409: unresolved, a person has to look"),
//!     Executed::Mismatch => println!("422: the key was used for something else"),
//! }
//! # Ok(()) }
//! ```
//!
//! # The idea in a minute
//! One **record** per scope and key, in a store that many processes share.
//!
//! ```text
//!             reserve                      complete
//!  vacant ───────────────▶ in flight ─────────────────▶ completed ──▶ every repeat is a replay
//!    ▲                     │   ▲    │                       │
//!    │      release        │   │    │ lease lapses,         │ retention ends
//!    ├─────────────────────┘   │    │ or abandoned          │
//!    │                         │    ▼                       │
//!    │              reserve: attempt + 1, new token         │
//!    └──────────────────────────────────────────────────────┘
//! ```
//!
//! - A **reservation** is won by exactly one caller. It stands for a *lease*, which a heartbeat renews
//!   while the handler runs. If its process dies, the lease lapses and the next request takes over: no
//!   key stays stuck.
//! - Every write names the **token and attempt** that reserved it. One that comes back late, after
//!   another took over, changes nothing and never sends its answer.
//! - The **effect** must survive a second attempt: it is in the same transaction as the record, or the
//!   provider deduplicates it by [`Reservation::derived_key`], or it is never run a second time without a
//!   person ([`OnLapse::Hold`]). *No library can do without one of the three.*
//! - A call without an answer is **unknown**, not failed. It is sent again with the same token, and finds
//!   its own work.
//!
//! # Where to look
//! | to | see |
//! | --- | --- |
//! | run operations once | [`Idempotency`], [`Builder`] |
//! | understand what can happen to a request | [`Executed`], [`Verdict`] |
//! | read the rules | [`machine`]: the specification, as pure functions |
//! | run jobs whose answer is a value | `Idempotency::execute_value`, feature `json` |
//! | spare a database rapid repeats | [`Cached`], [`Cache`] |
//! | give the space of expired records back | [`Janitor`] |
//! | keep records in a store of your own | [`CompareAndSwap`] and [`CasStore`]: three functions; or [`IdempotencyStore`] and [`Inspect`] |
//! | settle what nobody attends any more | [`Inspect::lapsed`], [`resolve`] |
//! | test with time under control | [`ManualClock`] |
//!
//! # Features
//! - `json`: values instead of responses, stored as JSON (adds serde and serde_json). Off by default.
//! - `memory-cache`: `MemoryCache`, for [`Cached`] (adds quick_cache). Off by default.
//!
//! # What it needs
//! A tokio runtime with time enabled, for the executor and for [`MemoryStore`]'s
//! [`changed`](IdempotencyStore::changed). No framework, no database, no TLS.
//!
//! Spans and events go to `tracing`; keys and scopes appear in them as short digests, answers and
//! fingerprints never.

mod cached;
mod cas;
mod codec;
mod derived_key;
mod digest;
mod error;
mod executor;
#[cfg(test)]
mod explorer;
mod fingerprint;
mod forward;
#[cfg(any(test, idem_fuzz))]
#[doc(hidden)]
pub mod fuzzing;
mod inspect;
mod janitor;
mod jitter;
mod key;
pub mod machine;
mod memory;
mod operation;
mod outcome;
mod panics;
mod polling;
mod progress;
mod redact;
mod resolve;
mod response;
mod scope;
mod store;
mod sync;
mod terms;
#[cfg(test)]
mod test_support;
mod time;
mod token;
mod transacted;
mod waiters;

/// The attribute that implementations of this crate's traits need, in the version that fits.
pub use async_trait::async_trait;
#[cfg(feature = "memory-cache")]
pub use cached::MemoryCache;
pub use cached::{Cache, CacheFront, CacheKey, CacheValue, Cached};
pub use cas::{CasStore, CompareAndSwap, MAX_ENGINE_KEY_LEN, Planned, Stored, Swapped};
pub use derived_key::DerivedKey;
pub use error::{Applied, Error};
pub use executor::{
    Builder, Counters, Entry, ExecuteError, Executed, Held, Idempotency, OnConflict, Recorded,
    Reservation, Verdict,
};
#[cfg(feature = "json")]
pub use executor::{DoesNotFit, ExecuteValueError, ExecutedValue};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use inspect::{Condition, Cursor, Inspect, LapsedPage, Purged, RecordInfo};
pub use janitor::{Janitor, RunningJanitor};
pub use key::Key;
pub use memory::MemoryStore;
pub use operation::{Holder, Operation, RecordId};
pub use outcome::{Completion, Outcome, Replay, ReserveRequest, Update};
pub use panics::Panic;
pub use polling::{Look, Polling};
pub use progress::Progress;
pub use resolve::{Resolution, resolve};
pub use response::{Answer, Header, Response};
pub use scope::Scope;
pub use store::IdempotencyStore;
pub use terms::{OnLapse, Terms};
pub use time::{Clock, ManualClock, MonotonicClock, Timestamp};
pub use token::Token;
pub use transacted::{Reserved, RunInError, Settled};
