//! The facade.
pub use idem_core::*;

/// Runs the README's Rust snippets as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
