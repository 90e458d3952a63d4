//! Model-based runs: random scripts of every operation, played on a store and on the state machine
//! over a plain map, and compared after every step.
//!
//! Read in this order: [`script`] says what a script is, [`scripts`] makes them up, [`play`] plays one,
//! [`search`] looks for one that fails and makes it short.

mod play;
mod script;
mod scripts;
mod search;
mod specification;
#[cfg(test)]
mod tests;

pub(crate) use scripts::{in_milliseconds, on_the_hour};
pub(crate) use search::search;
