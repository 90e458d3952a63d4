//! Who else keeps every law: pointers to stores, a store behind a cache, also behind one that fails, one
//! that outlives its process, and the store of the example. And who does not: a store behind a wrong cache.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

// The example is written for users of the facade.
extern crate idem_core as idempotency;

mod cached;
mod checked;
mod custom_store;
mod failing_cache;
mod forwarded;
mod kept;
mod wrong_caches;
