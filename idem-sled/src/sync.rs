//! The lock and the condition of the group commit: the standard ones, or loom's.
//!
//! `idem_loom` is set by hand, for the model checks of this crate alone, never in what is published.

#[cfg(not(all(test, idem_loom)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(all(test, idem_loom))]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
