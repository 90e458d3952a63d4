//! An unreliable connection to any store, driven by a seed: to test what is built on stores.
//!
//! [`Unreliable`] wraps a store and lets calls fail in every way in which calls over a network fail:
//! see [`Faults`]. The store itself stays right, and is there to be looked at.

mod plan;
mod unreliable;

pub use plan::{Fault, Faults};
pub use unreliable::Unreliable;
pub(crate) use unreliable::dropped_after;
