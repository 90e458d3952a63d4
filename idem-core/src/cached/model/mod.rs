//! Every history of two nodes with a cache in front of one store, walked through to the end.
//!
//! As in the [explorer](crate::explorer), whose [search](crate::explorer::search) this uses: one step of
//! a caller, of the network, of a cache, of the clock or of an operator at a time. What decides are **the
//! very functions that ship**: [`machine`](crate::machine) on the record, and the
//! [rules](super::rules) of [`Cached`](super::Cached). In every state, every cache is asked what it would
//! answer to everybody, and that is held against what the store would say ([`invariants`]).
//!
//! Calls of a cache fail or take effect at any later time (the put of a copy: within the time that the
//! copy is to last, by the contract of [`Cache::put`](crate::Cache::put)); entries are evicted; calls of
//! the store are lost before or after they are applied, and sent again; an operator and a process without
//! the cache change the record past it.
//!
//! # What is not covered
//! More than a few calls at a time: see the bounds in [`tests`]. Calls of the *store* that come late
//! (the explorer's matter; to a cache they are what an operator does). Records under `Hold`, which differ
//! in nothing that a cache decides on. Clocks that run at different speeds. What `granted` forgets.

mod caller;
mod config;
mod faults;
mod invariants;
mod rules;
mod steps;
mod store;
mod stored;
mod tests;
mod trace;
mod world;
