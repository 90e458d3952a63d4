//! A script: what is asked of a store, step by step.

use std::time::Duration;

use idem_core::{OnLapse, Terms};

/// Steps on an empty store.
pub(crate) type Script = Vec<Step>;

/// One step. Records, tokens and holders are named by number, so that a script means something on its
/// own, however much of it was cut away.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Reserve(Reserve),
    Write(usize, Who, Write),
    /// The whole walk through the lapsed records, in pages of so many.
    Lapsed(usize),
    /// Purges until nothing is left, so many a call.
    Purge(usize),
    Advance(Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct Reserve {
    pub(crate) record: usize,
    pub(crate) token: u64,
    /// Asks for something else than usual.
    pub(crate) other: bool,
    pub(crate) terms: Terms,
    pub(crate) on_lapse: OnLapse,
    pub(crate) longest_age: Option<Duration>,
    pub(crate) resend: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// An answer of its own each time; kept whole, or without its body.
    Complete {
        whole: bool,
    },
    Renew {
        terms: Terms,
        progress: bool,
    },
    Abandon,
    Release,
}

/// Who writes to a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    /// Its holder, or who completed it; if it has none, who was the last to reserve it.
    Holder,
    /// The one who was the last but so many to reserve it.
    Former(usize),
    /// The holder's token with another attempt.
    OtherAttempt,
    /// A token that reserved nothing.
    Stranger,
}
