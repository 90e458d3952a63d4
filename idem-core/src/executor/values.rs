//! Values instead of responses: for jobs and consumers of messages.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ExecuteError, Executed, Idempotency, Recorded, Reservation};
use crate::{Answer, Error, Operation, Replay, Response};

/// What became of an operation whose answer is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutedValue<T> {
    /// The handler ran, and this is its value.
    Ran {
        /// What the handler gave.
        value: T,
        /// What the store knows of it.
        recorded: Recorded,
    },
    /// Another run's value stands.
    Replayed {
        /// What stands.
        value: T,
        /// For how long it is still remembered.
        remembered_for: Duration,
    },
    /// The operation is in flight.
    Conflict {
        /// When trying again may help. `None`: unresolved, and only a person can settle it.
        retry_after: Option<Duration>,
    },
    /// The key was used for another operation.
    Mismatch,
}

impl<T> ExecutedValue<T> {
    /// The value, own or replayed, if there is one.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Ran { value, .. } | Self::Replayed { value, .. } => Some(value),
            Self::Conflict { .. } | Self::Mismatch => None,
        }
    }
}

/// Why there is no value.
#[derive(Debug)]
pub enum ExecuteValueError<E> {
    /// The store could not be asked, or did not answer. **The handler did not run.**
    Store(Error),
    /// The handler failed: whether its effect happened is unknown.
    Handler(E),
    /// The operation is completed, but what is stored for it is not a value of the type asked for. The
    /// handler did not run again. Keep reading what older versions wrote, as with any stored format.
    DoesNotFit(DoesNotFit),
    /// The operation is completed, but its value was over the limit and was not kept. The handler did
    /// not run again.
    NotRetained,
}

/// Where a stored value does not fit the type asked for. It never shows the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit {
    line: usize,
    column: usize,
}

impl DoesNotFit {
    fn of(error: &serde_json::Error) -> Self {
        Self {
            line: error.line(),
            column: error.column(),
        }
    }
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column } = self;
        write!(
            f,
            "the stored JSON does not fit at line {line}, column {column}"
        )
    }
}

impl StdError for DoesNotFit {}

impl<E: fmt::Display> fmt::Display for ExecuteValueError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store(_) => "the handler did not run: the store failed",
            Self::Handler(_) => "the handler failed",
            Self::DoesNotFit(_) => {
                "the operation is completed, but its stored value does not fit the type asked for"
            }
            Self::NotRetained => "the operation is completed, but its value was not kept",
        })
    }
}

impl<E: StdError + 'static> StdError for ExecuteValueError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Handler(error) => Some(error),
            Self::DoesNotFit(error) => Some(error),
            Self::NotRetained => None,
        }
    }
}

impl Idempotency {
    /// As [`execute`](Self::execute), for an answer that is any serialisable value: it is stored as
    /// JSON, and a repeat gets it back as the same type.
    ///
    /// A value that is over the [limit](super::Builder::response_limit), or cannot be written as JSON,
    /// reaches this caller and completes the operation; repeats get an error that says so, and nothing
    /// runs twice.
    ///
    /// What JSON cannot tell apart is not told apart: `NaN` and infinities are written as `null`, and so
    /// are `None` and `Some(None)`.
    ///
    /// Needs the feature `json`. For a dropped future, panics and `Hold` see
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    /// [`ExecuteValueError`]; none of them runs the handler a second time.
    ///
    /// ```
    /// # use idem_core::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // An e-mail that nobody named, deduplicated by its recipient and subject.
    /// let idempotency = Idempotency::new(MemoryStore::new());
    /// let (to, subject) = ("ana@example.com", "Your receipt for order 17");
    /// let mail = Operation::new(Scope::new("receipts")?, Key::from_parts([to, subject]), Fingerprint::raw("body"));
    ///
    /// let send = async |_: Reservation| Ok::<_, Error>(("queued".to_owned(), 1_u32));
    /// let first = idempotency.execute_value(&mail, send).await?;
    /// let again = idempotency.execute_value(&mail, send).await?;
    ///
    /// assert_eq!(again.into_value(), Some(("queued".to_owned(), 1)));
    /// # let _ = first;
    /// # Ok(()) }
    /// ```
    pub async fn execute_value<T, H, F, E>(
        &self,
        operation: &Operation,
        handler: H,
    ) -> Result<ExecutedValue<T>, ExecuteValueError<E>>
    where
        T: Serialize + DeserializeOwned,
        H: FnOnce(Reservation) -> F,
        F: Future<Output = Result<T, E>>,
    {
        let mut own = None;
        let slot = &mut own;
        let executed = self
            .execute(operation, async move |reservation: Reservation| {
                let value = handler(reservation).await?;
                let response = Response::new(200).header("content-type", "application/json");
                // No text is no JSON: the effect has happened and must stay completed, and whoever
                // asks again is told that its value does not fit.
                let written = catch_unwind(AssertUnwindSafe(|| serde_json::to_vec(&value)));
                let json = written.ok().and_then(Result::ok).unwrap_or_default();
                *slot = Some(value);
                Ok::<_, E>(response.body(json))
            })
            .await;
        match executed {
            Ok(Executed::Ran { recorded, .. }) => match own {
                Some(value) => Ok(ExecutedValue::Ran { value, recorded }),
                None => Err(ExecuteValueError::NotRetained),
            },
            Ok(Executed::Replayed(Replay {
                answer,
                remembered_for,
            })) => match answer {
                Answer::Full(response) => serde_json::from_slice(response.body_bytes())
                    .map(|value| ExecutedValue::Replayed {
                        value,
                        remembered_for,
                    })
                    .map_err(|error| ExecuteValueError::DoesNotFit(DoesNotFit::of(&error))),
                Answer::NotRetained { .. } => Err(ExecuteValueError::NotRetained),
            },
            Ok(Executed::Conflict { retry_after }) => Ok(ExecutedValue::Conflict { retry_after }),
            Ok(Executed::Mismatch) => Ok(ExecutedValue::Mismatch),
            Err(ExecuteError::Store(error)) => Err(ExecuteValueError::Store(error)),
            Err(ExecuteError::Handler(error)) => Err(ExecuteValueError::Handler(error)),
            // Of detached handlers only: here a panic goes on by itself.
            Err(ExecuteError::Panicked(panic)) => panic.resume(),
            Err(ExecuteError::Cancelled) => Err(ExecuteValueError::Store(Error::timed_out())),
        }
    }
}
