//! The executor on top of the in-memory store, explored by shuttle: many tasks, schedules at random.
//!
//! `cargo test --release -p idem-core-shuttle`; `IDEM_EFFORT` multiplies the executions.
//!
//! Each model holds for the store, and fails for a planted fault: the same model over a store that
//! does one thing wrong.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod any_moment;
mod at_once;
mod endings;
mod explore;
mod faults;
mod heartbeats;
mod leaving;
mod lost_answers;
mod waiting;
mod world;
