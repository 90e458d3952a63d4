//! Concurrent histories, and whether they are linearizable (law L1).
//!
//! A [`Recorder`] wraps any store and notes when each call began, when it was answered, and how; every
//! concurrent caller has a handle of its own. [`Recorder::take`] gives a [`History`] for each record,
//! and [`History::check`] says whether some order of its calls, in which none comes before one that was
//! answered before it began, has the outcomes of the [state machine](idem_core::machine). A call without
//! an answer may take effect at any later moment, or never.
//!
//! ```
//! use std::sync::Arc;
//! use idem_conformance::history::{Precision, Recorder};
//! use idem_core::{Fingerprint, IdempotencyStore, Key, MemoryStore, Operation, ReserveRequest, Scope, Terms, Token};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), idem_core::Error> {
//! let recorder = Recorder::new(Arc::new(MemoryStore::new()));
//! let operation = Operation::new(Scope::new("a")?, Key::new("k")?, Fingerprint::raw("x"));
//! let tries = (0..4).map(|number| {
//!     let (store, operation) = (recorder.caller(number), operation.clone());
//!     tokio::spawn(async move {
//!         let request = ReserveRequest::new(operation, Token::random(), Terms::default());
//!         store.reserve(&request).await
//!     })
//! });
//! for handle in tries.collect::<Vec<_>>() {
//!     handle.await.expect("no panic")?;
//! }
//! for history in recorder.take() {
//!     history.check(Precision::WithinSlack).unwrap_or_else(|broken| panic!("{broken}"));
//! }
//! # Ok(()) }
//! ```

mod check;
mod recorder;
#[cfg(test)]
mod tests;
mod timeline;
pub(crate) mod workload;

pub use crate::agree::Precision;
pub use check::NotLinearizable;
pub use recorder::{History, Recorder};
