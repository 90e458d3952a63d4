//! The sled store for idempotency.

mod clock;
mod commits;
mod core;
mod disk;
mod engine;
mod failure;
mod hands;
mod open;
mod options;
mod store;
mod sync;

pub use failure::OpenError;
pub use options::{Durability, Options};
pub use sled;
pub use store::SledStore;
