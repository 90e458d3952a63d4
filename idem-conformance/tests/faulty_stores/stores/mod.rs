//! The stores: one decision each.

mod answers;
mod beside;
mod claims;
mod names;
mod races;
mod shown;
mod tenure;
mod time;
mod writes;

use crate::decisions::{Decisions, copied, limited, marked, right};

/// Stores with nothing wrong.
pub(crate) fn right_stores() -> Vec<Decisions> {
    vec![
        right("the right store"),
        limited("the right store with a limit"),
        copied("the right store behind copies"),
        marked("the right store behind marks"),
    ]
}

/// Stores with one thing wrong.
pub(crate) fn wrong_stores() -> Vec<Decisions> {
    [
        names::stores(),
        claims::stores(),
        tenure::stores(),
        writes::stores(),
        answers::stores(),
        time::stores(),
        shown::stores(),
        races::stores(),
        beside::stores(),
    ]
    .concat()
}
