//! The sled store for idempotency.

mod clock;
mod commits;
mod complete_in;
mod core;
mod disk;
mod effect_tree;
mod engine;
mod failure;
mod hands;
mod open;
mod options;
mod run_in;
mod store;
mod sync;
mod transaction;

pub use complete_in::NotCompleted;
pub use effect_tree::{EffectTree, TreeInTransaction};
pub use failure::OpenError;
pub use idem_core::{Reserved, RunInError, Settled};
pub use options::{Commit, Durability, Options};
pub use run_in::Transactions;
pub use sled;
pub use store::SledStore;
