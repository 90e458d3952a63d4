//! The facade.
pub use idem_core::*;
