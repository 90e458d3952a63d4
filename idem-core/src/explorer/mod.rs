//! Every history of a few callers of one record, walked through to the end.
//!
//! The state machine is small, and so is each decision of the executor; what is hard to see is what they
//! do together when callers die, leases lapse, answers are lost and copies of earlier calls arrive late.
//! So that is searched exhaustively, within small bounds: three callers, each of whom may become an
//! attempt, [one step](steps) of one of them, of the network, of the clock, of the janitor or of an
//! operator at a time, and the [invariants] are checked at every step and in every state. What is called
//! are **the very functions that ship**: [`machine`](crate::machine) on the record, and
//! [`protocol`](crate::executor::protocol) for the callers; [`rules`] is the table of them. Nothing is
//! restated, except, on purpose, the laws that the outcome is compared with.
//!
//! # Why not stateright
//! It would do the search, and that is the smallest part of this ([`search`], a breadth-first search of
//! some hundred lines). What makes it feasible is in the state: instants are relative, so that the clock
//! needs no bound; callers without a difference are interchangeable; a state waits whole only until it
//! was looked at, and is a hash afterwards. With that here anyway, a dependency would add less than it
//! costs to build.
//!
//! # What is not covered
//! More than a handful of calls, copies and resends at a time: see the bounds in [`tests`]. Progress,
//! other fingerprints (a stranger is asked for in every state, but never holds the record) and callers
//! with different terms. A caller who waits for its turn, except as one who begins anew. That the async
//! code around the protocol takes the steps in the order that [`caller`] takes them in: that is for the
//! executor's own tests. Time is the same for everybody and runs evenly; a clock that jumps is a lease
//! that lapsed early.
//!
//! # How to read a failure
//! It prints one of the shortest ways to the violation: on the left what happened, on the right what
//! stood afterwards. `A0#1` is caller A's first token, as attempt 1.

mod caller;
mod faults;
mod happened;
mod invariants;
mod model;
mod rules;
pub(crate) mod search;
mod steps;
mod store;
mod stored;
mod symmetry;
mod tests;
mod trace;
mod world;
