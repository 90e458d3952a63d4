//! What the tests share: a server with the layer, a client that sees every byte, and a settable world.

pub(crate) mod client;
pub(crate) mod effort;
pub(crate) mod frames;
pub(crate) mod gate;
pub(crate) mod gated_store;
pub(crate) mod in_memory;
pub(crate) mod leaving;
pub(crate) mod provoke;
pub(crate) mod requests;
pub(crate) mod server;

use std::time::Duration;

use http::request::Parts;
use idem_core::{Idempotency, ManualClock, MemoryStore, Scope};
use idem_tower::IdempotencyLayer;

/// Nothing takes longer: a test that waits for more has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The scope is what `x-client` says; without it there is none. A real server has authenticated it.
pub(crate) fn by_client(parts: &Parts) -> Option<Scope> {
    Scope::new(parts.headers.get("x-client")?.as_bytes()).ok()
}

/// A layer with the default settings, on a store of its own, and that store's clock.
pub(crate) fn layer() -> (IdempotencyLayer, MemoryStore, ManualClock) {
    let clock = ManualClock::new();
    let store = MemoryStore::with_clock(clock.clone());
    let layer = IdempotencyLayer::new(Idempotency::new(store.clone()), by_client);
    (layer, store, clock)
}
