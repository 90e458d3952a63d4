//! A cache before Postgres: the whole suite behind a Redis and behind each node's own memory; what it spares the
//! database, counted; and what a Redis that fails costs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod counted;
mod failing;
mod nodes;
mod storm;
mod suites;

#[path = "../support/mod.rs"]
mod support;
mod transactions;

use support::requests::{operation, paid, request, reserve};
