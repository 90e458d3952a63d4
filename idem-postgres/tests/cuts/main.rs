//! A line that is cut between the application and Postgres, before the server has applied a request and
//! after it has, but before its answer: at every request of every call, and at random under load.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod line;
mod points;
mod storm;

#[path = "../support/mod.rs"]
mod support;
mod transactions;

use support::requests::operation;
