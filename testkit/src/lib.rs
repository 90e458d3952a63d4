//! The rig that the tests of this workspace stand on. Unix only.
//!
//! [`Proxy`] drops, delays and cuts what passes through it, by a [`Plan`].
//!
//! What is random follows a [`Seed`]; [`effort`] scales it. Everything here panics instead of returning errors: it is test code.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod effort;
pub mod proxy;
mod random;
mod until;

pub use effort::effort;
pub use proxy::{Fault, Plan, Proxy};
pub use random::{Rng, Seed};
pub use until::until;
