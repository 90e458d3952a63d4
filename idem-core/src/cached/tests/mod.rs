//! `Cached` over the memory store, with a cache that all nodes share and one that is a node's own.

mod answers;
mod failures;
mod front;
mod support;
