//! The words of stores that run an operation in one transaction of their own: reservation, effect and
//! answer commit together, or not at all.

use std::error::Error as StdError;
use std::fmt;

use crate::{DerivedKey, Error, Holder, Operation, Panic, Progress, Response};

/// What a handler in a transaction says of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This is the answer: it commits together with what the handler wrote.
    Complete(Response),
    /// This is the answer, and what the handler wrote is rolled back: a declined payment, say.
    CompleteWithoutEffect(Response),
    /// This is the answer for this caller alone. Everything is rolled back: nothing happened, and the key
    /// is as it was.
    RollBack(Response),
}

impl From<Response> for Settled {
    fn from(response: Response) -> Self {
        Self::Complete(response)
    }
}

/// The reservation of an operation in a transaction. Others see nothing of it before the commit.
#[derive(Clone, Debug)]
pub struct Reserved {
    operation: Operation,
    holder: Holder,
    progress: Option<Progress>,
}

impl Reserved {
    /// For stores: what they have reserved in their transaction.
    pub fn new(operation: Operation, holder: Holder, progress: Option<Progress>) -> Self {
        Self {
            operation,
            holder,
            progress,
        }
    }

    /// The operation that is reserved.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// What writes to the store name.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// 1 for the first run; one more each time the operation is taken over.
    pub fn attempt(&self) -> u32 {
        self.holder.attempt
    }

    /// What an attempt before had saved, if anything.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// The same on every attempt: see [`DerivedKey`].
    pub fn derived_key(&self, label: &str) -> DerivedKey {
        self.operation.derived_key(label)
    }
}

/// Why there is neither an answer nor a conflict.
#[derive(Debug)]
pub enum RunInError<E> {
    /// The store could not be asked, or the commit failed. If the error says
    /// [`Applied::Unknown`](crate::Applied::Unknown), the answer of the commit was lost: effect and
    /// answer are there together, or not at all, and the same request, sent again, finds out.
    Store(Error),
    /// The handler failed. Everything was rolled back: nothing happened.
    Handler(E),
    /// The handler panicked, with this. Everything was rolled back: nothing happened.
    Panicked(Panic),
    /// The runtime shut down meanwhile.
    Cancelled,
}

impl<E: fmt::Display> fmt::Display for RunInError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(_) => f.write_str("the transaction did not commit, as far as it is known"),
            Self::Handler(_) => f.write_str("the handler failed: everything was rolled back"),
            Self::Panicked(_) => f.write_str("the handler panicked: everything was rolled back"),
            Self::Cancelled => f.write_str("the runtime shut down"),
        }
    }
}

impl<E: StdError + 'static> StdError for RunInError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Handler(error) => Some(error),
            Self::Panicked(_) | Self::Cancelled => None,
        }
    }
}

impl<E> From<Error> for RunInError<E> {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}
