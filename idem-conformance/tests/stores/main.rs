//! Who else keeps every law: pointers to stores, a store behind a cache, one that outlives its process.
//!
//! `CasStore` over the toy engine and `examples/custom_store.rs` belong here too, a module for each.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod cached;
mod forwarded;
mod kept;
