//! What a handler may say, and what a caller is told.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::{Answer, Error, Panic, Replay, Response};

/// What a handler says of its run.
///
/// A plain [`Response`] completes, whatever its status: a declined card and a validation error are
/// answers too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is the answer: every repeat replays it.
    Complete(Response),
    /// This is the answer, and its body is not to be kept, since it is too large or still streams:
    /// repeats are told so, and nothing runs twice.
    CompleteWithoutBody {
        /// The answer for this caller. Of it the status is kept.
        response: Response,
        /// The length of the body in bytes, as far as it is known.
        body_length: u64,
    },
    /// This is the answer, and the handler has recorded it itself: it completed the record in a
    /// transaction of its own, **which has committed**. Nothing more is told to the store. Call
    /// [`Reservation::stop_heartbeat`](crate::Reservation::stop_heartbeat) before such a transaction.
    ///
    /// If nobody knows whether it has committed, that is an error of the handler, not this.
    AlreadyRecorded(Response),
    /// This is the answer for this caller, and it is safe to run again: the next request does.
    Abandon(Response),
    /// This is the answer for this caller, and nothing happened: the key is vacant again. On an attempt
    /// after the first it abandons instead: an earlier attempt may have had the effect, and this one
    /// cannot speak for it.
    Release(Response),
}

impl From<Response> for Verdict {
    fn from(response: Response) -> Self {
        Self::Complete(response)
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// The handler ran, and this is its response.
    Ran {
        /// What the handler answered.
        response: Response,
        /// What the store knows of it.
        recorded: Recorded,
    },
    /// Another run's answer stands: send that.
    Replayed(Replay),
    /// The operation is in flight.
    Conflict {
        /// When trying again may help. `None`: unresolved, and only a person can settle it.
        retry_after: Option<Duration>,
    },
    /// The key was used for another operation: a client's bug.
    Mismatch,
}

impl Executed {
    /// Whether the answer is another run's: what a server marks as a replay.
    pub fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// The response to send, own or replayed, if there is one and it was kept.
    pub fn response(&self) -> Option<&Response> {
        match self {
            Self::Ran { response, .. } => Some(response),
            Self::Replayed(Replay {
                answer: Answer::Full(response),
                ..
            }) => Some(response),
            _ => None,
        }
    }
}

/// What the store knows of a response that a handler gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// It is the answer: every repeat replays it.
    Completed {
        /// For how long it is remembered.
        remembered_for: Duration,
    },
    /// It is the answer, and was too large to keep: repeats are told so, and this is the only time that
    /// its body is seen.
    CompletedWithoutBody {
        /// For how long it is remembered.
        remembered_for: Duration,
    },
    /// The handler abandoned: the next request runs again.
    Abandoned,
    /// The handler released: the key is vacant.
    Released,
    /// The handler recorded it itself: see [`Verdict::AlreadyRecorded`].
    ByHandler,
    /// Unknown: the store did not answer. After a completion, the executor goes on renewing and
    /// resending in the background; see [`Idempotency::drain`](crate::Idempotency::drain).
    Unrecorded,
}

/// Why there is neither a response nor a conflict.
#[derive(Debug)]
pub enum ExecuteError<E> {
    /// The store could not be asked, or did not answer. **The handler did not run.**
    Store(Error),
    /// The handler failed: whether its effect happened is unknown. Under
    /// [`RunAgain`](crate::OnLapse::RunAgain) the next request runs again; under
    /// [`Hold`](crate::OnLapse::Hold) the operation is unresolved once its lease lapses.
    Handler(E),
    /// The handler of [`execute_detached`](crate::Idempotency::execute_detached) panicked, with this:
    /// otherwise as [`Handler`](Self::Handler).
    Panicked(Panic),
    /// The runtime shut down before the request of
    /// [`execute_detached`](crate::Idempotency::execute_detached) ended: whether its handler ran is
    /// unknown, as after a crash.
    Cancelled,
}

impl<E: fmt::Display> fmt::Display for ExecuteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(_) => f.write_str("the handler did not run: the store failed"),
            Self::Handler(_) => f.write_str("the handler failed"),
            Self::Panicked(_) => f.write_str("the handler panicked"),
            Self::Cancelled => {
                f.write_str("the runtime shut down: whether the handler ran is unknown")
            }
        }
    }
}

impl<E: StdError + 'static> StdError for ExecuteError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Handler(error) => Some(error),
            Self::Panicked(_) | Self::Cancelled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_converts_into_a_boxed_one_and_shows_nothing_of_a_panic() {
        let panic = Panic::new(Box::new("card 4111"));
        let error: ExecuteError<std::io::Error> = ExecuteError::Panicked(panic);
        assert_eq!(format!("{error:?}"), "Panicked(Panic(..))");
        let boxed: Box<dyn StdError + Send + Sync> = error.into();
        assert_eq!(boxed.to_string(), "the handler panicked");
    }
}
