//! The layer over real servers on 127.0.0.1, HTTP/1.1 and HTTP/2, and in memory.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod bounds;
mod disconnect;
mod failures;
mod frameworks;
mod logs;
mod pair_property;
mod pairs;
mod policy;
mod replay_property;
mod shutdown;
mod smoke;
mod support;
mod tower_contract;
