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

mod agree;
mod call;
pub mod check;
pub mod effort;
pub mod faults;
pub mod fixture;
mod harness;
pub mod history;
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
