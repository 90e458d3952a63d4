//! Who else keeps every law: pointers to stores, a store behind a cache, one that outlives its process,
//! and the store of the example.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

// The example is written for users of the facade.
extern crate idem_core as idempotency;

mod cached;
mod custom_store;
mod forwarded;
mod kept;
