//! Make retries safe: idempotency keys with fenced leases, over any store.
//!
//! This crate is the facade: everything is in [`idem_core`], re-exported here. Features add stores and
//! layers as their crates arrive; none changes what is there without it:
//!
//! - `json`: values instead of responses, `Idempotency::execute_value`.
//! - `memory-cache`: `MemoryCache`, for [`Cached`].
//! - `postgres`: `idem_postgres`, the Postgres store; key and effect in one transaction.
//! - `redis`: `idem_redis`, the Redis store; `redis-cluster` adds clusters to it.
//! - `sled`: `idem_sled`, the embedded store: durable, with nothing to install.
//! - `tower`: `idem_tower`, the HTTP layer for tower, hyper and axum; `axum` adds extractors to it.
//!
//! ```
//! use idempotency::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let idempotency = Idempotency::new(MemoryStore::new());
//! let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw("150.00"));
//! let charge = async |_: Reservation| Ok::<_, Error>(Response::new(201).body("paid"));
//!
//! let first = idempotency.execute(&operation, charge).await?;
//! let retry = idempotency.execute(&operation, charge).await?;
//! assert_eq!(first.response(), retry.response()); // one charge, one answer
//! # Ok(()) }
//! ```

pub use idem_core::*;
#[cfg(feature = "postgres")]
pub use idem_postgres;
#[cfg(feature = "redis")]
pub use idem_redis;
#[cfg(feature = "sled")]
pub use idem_sled;
#[cfg(feature = "tower")]
pub use idem_tower;

/// Runs the README's Rust snippets as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
