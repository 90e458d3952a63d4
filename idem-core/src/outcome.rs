//! What a store is asked, and what it can answer.

use std::time::Duration;

use crate::{Answer, OnLapse, Operation, Progress, Terms, Token};

/// A try at reserving an operation.
///
/// A resend after a lost answer is the same again, token included, [marked](Self::resent) as such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReserveRequest {
    /// The operation to reserve.
    pub operation: Operation,
    /// Names this try; minted by the caller.
    pub token: Token,
    /// The lease and the retention asked for.
    pub terms: Terms,
    /// What to do if this reservation's lease lapses; also asked of a record that is taken over.
    pub on_lapse: OnLapse,
    /// The longest age for running again: no takeover of a record whose first reservation is as old
    /// or older (law R5).
    pub longest_age: Option<Duration>,
    /// This try was sent before, and may have been applied. Stores treat it as any other; a cache must
    /// not answer it, for only the store knows whether the try has won.
    pub resend: bool,
}

impl ReserveRequest {
    /// A try by `token` under `terms`, [`OnLapse::RunAgain`], no longest age.
    pub fn new(operation: Operation, token: Token, terms: Terms) -> Self {
        Self {
            operation,
            token,
            terms,
            on_lapse: OnLapse::RunAgain,
            longest_age: None,
            resend: false,
        }
    }

    /// Sets what happens if the lease lapses.
    #[must_use]
    pub fn on_lapse(mut self, on_lapse: OnLapse) -> Self {
        self.on_lapse = on_lapse;
        self
    }

    /// The same try, sent again.
    #[must_use]
    pub fn resent(mut self) -> Self {
        self.resend = true;
        self
    }

    /// Sets the longest age for running again.
    #[must_use]
    pub fn longest_age(mut self, longest_age: Option<Duration>) -> Self {
        self.longest_age = longest_age;
        self
    }
}

/// What became of a try at reserving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This caller won, and nobody else did: run the operation.
    Reserved {
        /// 1 for the first run; one more each time the same record is taken over.
        attempt: u32,
        /// What the attempt before had saved, if anything.
        progress: Option<Progress>,
    },
    /// The operation is completed: this is its answer.
    Replay(Replay),
    /// The operation is in flight.
    Conflict {
        /// When trying again may help: more than zero, at most what is left of the lease. `None`:
        /// unresolved, and waiting does not help.
        retry_after: Option<Duration>,
    },
    /// The key is known with another fingerprint: the client used it for something else.
    Mismatch,
}

/// The answer that stands for an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What was answered, byte for byte.
    pub answer: Answer,
    /// For how long it is still remembered.
    pub remembered_for: Duration,
}

/// What became of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Recorded: every repeat replays it.
    Completed {
        /// For how long it is remembered.
        remembered_for: Duration,
    },
    /// This holder had completed it already. What is inside stands; use it instead of one's own (law
    /// C2).
    AlreadyCompleted(Replay),
    /// The reservation is no longer this holder's. Nothing changed (law C3).
    Superseded,
}

/// What became of a renewal, an abandonment or a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Done.
    Done,
    /// This holder's record is completed, and what is inside stands (law C5).
    AlreadyCompleted(Replay),
    /// The reservation is no longer this holder's. Nothing changed (law C3).
    Superseded,
}
