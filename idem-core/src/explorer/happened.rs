//! The names of steps: what a trace tells.

use super::world::Op;
use crate::executor::protocol::End;

/// What happened, for the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Tick,
    Purge,
    /// Of the caller with this index.
    Caller(u8, Act),
    OperatorLooks,
    OperatorResolves(Op),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Its call of this kind met this fate.
    Call(Op, Fate),
    /// The answer to its reserve or its starting renewal arrives.
    Hears,
    Beats(Fate),
    Charges,
    Ends(End),
    /// The process dies; the call under way is lost, or stays behind.
    Crashes {
        copy: bool,
    },
    /// The future is dropped; the call under way is lost, or stays behind.
    IsDropped {
        copy: bool,
    },
    /// A copy of an earlier call of this kind is applied.
    CopyLands(Op),
    BeginsAnew,
}

/// What becomes of a call that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Applied, and the answer arrives.
    Answered,
    /// The same, but it was sent a whole lease before the answer arrives.
    AnsweredLate,
    /// Applied, and the answer is lost.
    AnswerLost,
    /// Lost before it was applied.
    Lost,
    /// Given up by its caller, and still under way.
    Delayed,
}
