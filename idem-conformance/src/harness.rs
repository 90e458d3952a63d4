//! What a store's author gives the suite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{IdempotencyStore, Inspect};

/// A store that can be inspected: what the suite tests.
pub trait Store: IdempotencyStore + Inspect {}

impl<T: IdempotencyStore + Inspect + ?Sized> Store for T {}

/// A fresh, isolated store, and the hands on its clock.
///
/// Every law opens one of its own. Dropping it cleans up, after a panic too: keep temporary folders and
/// the like in it.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// Opens a store without records that shares nothing with any other, also when tests run side by
    /// side. A server that is not there is a panic that says how to get it; never a test that passes.
    async fn open() -> Self
    where
        Self: Sized;

    /// The store under test; each call gives a handle on the same records.
    fn store(&self) -> Arc<dyn Store>;

    /// Moves the store's time forward by `by`, at once, and that of any cache before it: an injected
    /// clock is advanced; on a server, the instants in the records are moved back by as much. No law
    /// sleeps through a lease.
    ///
    /// A store that goes on with a call whose future was dropped has to end it first, if it has read its clock
    /// already: otherwise what that call writes later counts from before.
    async fn advance(&self, by: Duration);
}

/// For stores that outlive their process (the word `reopen`): the laws of durability are emitted for
/// them.
#[async_trait]
pub trait Reopen: Harness + Sized {
    /// Closes the store and opens it again over the same data, as after a crash: what was not
    /// acknowledged may be lost, nothing else. Time does not move.
    async fn reopen(self) -> Self;
}

/// For stores that keep responses only up to a size (the word `limit`).
pub trait Limited: Harness {
    /// The largest response that the store keeps, in bytes as
    /// [`Response::encoded_len`](idem_core::Response::encoded_len) counts them.
    const LARGEST_RESPONSE: usize;
}
