//! The executor over a store that fails on request, under paused time: every timer and the store's
//! clock are the same clock, and no test waits for real.

mod by_handler;
mod conflicts;
mod dropped;
mod endings;
mod faults;
mod leases;
mod lost_answers;
mod observed;
mod support;
#[cfg(feature = "json")]
mod values;
