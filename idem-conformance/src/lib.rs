//! The conformance suite of idempotency stores: one behaviour, proven on every store.
//!
//! Implement [`Harness`] for your store, and let [`conformance!`] emit one test per law into your
//! crate. A store that passes behaves as the state machine of [`idem_core::machine`] says.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use idem_conformance::{Harness, Store, async_trait, conformance};
//! use idem_core::{ManualClock, MemoryStore};
//!
//! struct Memory {
//!     clock: ManualClock,
//!     store: MemoryStore,
//! }
//!
//! #[async_trait]
//! impl Harness for Memory {
//!     async fn open() -> Self {
//!         let clock = ManualClock::new();
//!         Self { store: MemoryStore::with_clock(clock.clone()), clock }
//!     }
//!     fn store(&self) -> Arc<dyn Store> {
//!         Arc::new(self.store.clone())
//!     }
//!     async fn advance(&self, by: Duration) {
//!         self.clock.advance(by);
//!     }
//! }
//!
//! conformance!(Memory, exact_time);
//! # fn main() {}
//! ```
//!
//! That is all of `tests/conformance.rs`; `cargo test` runs it. For a server, `open` makes a schema or
//! a prefix of its own, `Drop` removes it, and `advance` moves the instants in its records back.
//!
//! # What it checks
//! Every law of the design, under its number: [`laws`] has the table. The words after the harness say
//! what else your store is; [`conformance!`] explains them. What does not apply is not emitted, and a
//! last test says how many laws were.
//!
//! No law sleeps through a lease, and real time decides no verdict: see [`fixture`]. Only the laws of
//! waiting (W1) look at real time, and wait for seconds at most.
//!
//! # When a law fails
//! Its name is the sentence that is not true of your store, the panic says what was seen, and its place
//! is an ordinary function in [`laws`], to be read from the top.
//!
//! A new law asks something new of every store. Laws are added in minor versions only, and the changelog
//! lists them. What is public here besides [`Harness`] and the macros may change with any version.

mod agree;
mod call;
pub mod check;
pub mod effort;
pub mod faults;
pub mod fixture;
mod harness;
pub mod history;
#[doc = include_str!("../LAWS.md")]
pub mod laws;
mod list;
mod model;
mod random;
mod readable;
mod registry;
mod runner;
#[cfg(test)]
mod toy;

pub use harness::{Harness, Limited, Reopen, Store};
pub use idem_core::async_trait;
#[doc(hidden)]
pub use registry::{__law, check_emitted};
pub use registry::{Law, all_laws, laws_for};
pub use runner::{Runtime, Verdict, judge, run};
