//! Connections that are cut, scripts that are forgotten, and servers that are killed, while operations run. The provider
//! knows the derived key again: no effect happens twice, whatever is lost; what was acknowledged is lost only where the
//! crate's docs say so; and nothing is stuck.
//!
//! The campaigns run without the feature `cluster`, which changes nothing on a single server: once is long enough.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

#[cfg(not(feature = "cluster"))]
mod cuts;
mod load;
mod points;
#[cfg(not(feature = "cluster"))]
mod server;
#[path = "../support/mod.rs"]
mod support;
