//! The executor: reserves, runs, records.
//!
//! Read in this order: [`protocol`] decides, [`held`] carries out, [`calls`] asks the store,
//! [`heartbeat`] keeps the lease, [`background`] finishes what its caller left.

mod background;
mod calls;
mod counters;
mod executed;
mod heartbeat;
mod held;
pub(crate) mod protocol;
mod reservation;
mod reserving;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "json")]
mod values;

use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

pub use self::counters::Counters;
pub use self::executed::{ExecuteError, Executed, Recorded, Verdict};
pub use self::held::Held;
pub use self::reservation::Reservation;
pub use self::settings::{Builder, OnConflict};
#[cfg(feature = "json")]
pub use self::values::{DoesNotFit, ExecuteValueError, ExecutedValue};

use self::background::Background;
use self::calls::Calls;
use self::counters::Counting;
use self::settings::Settings;
use crate::panics::catch_panic;
use crate::{Error, IdempotencyStore, OnLapse, Operation, Panic, Replay, Terms};

/// Runs operations once: a cheap handle over a store and settings.
///
/// [`execute`](Self::execute) reserves the operation, runs the handler, and records its answer. What a
/// repeat gets instead is in [`Executed`].
///
/// It needs a tokio runtime with time enabled.
///
/// ```
/// use idem_core::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let idempotency = Idempotency::new(MemoryStore::new());
/// let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw("150.00"));
///
/// let charge = async |reservation: Reservation| {
///     let _send_along = reservation.derived_key("charge"); // the provider deduplicates by it
///     Ok::<_, Error>(Response::new(201).body("paid"))
/// };
/// let first = idempotency.execute(&operation, charge).await?;
/// let retry = idempotency.execute(&operation, charge).await?; // the handler does not run again
///
/// assert!(matches!(first, Executed::Ran { .. }));
/// assert!(matches!(retry, Executed::Replayed(_)));
/// assert_eq!(first.response(), retry.response());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Idempotency(Arc<Engine>);

pub(crate) struct Engine {
    calls: Calls,
    background: Background,
    counting: Counting,
}

/// What became of a reservation by hand: see [`Idempotency::reserve`].
#[derive(Debug)]
pub enum Entry {
    /// This caller won: run the operation, then [finish](Held::finish).
    Won(Held),
    /// The answer that stands.
    Replayed(Replay),
    /// The operation is in flight.
    Conflict {
        /// When trying again may help. `None`: unresolved, and only a person can settle it.
        retry_after: Option<Duration>,
    },
    /// The key was used for another operation.
    Mismatch,
}

impl Idempotency {
    /// An executor over `store` with the default settings: for effects that are idempotent by the
    /// derived key or by a transaction. A crashed operation runs again after its lease of 60 s; answers
    /// are remembered for 24 h; requests in conflict are rejected.
    pub fn new(store: impl IdempotencyStore + 'static) -> Self {
        Self::preset(store, OnLapse::RunAgain)
    }

    /// The same for effects that nothing deduplicates: a crashed operation is never run a second time
    /// without a person ([`OnLapse::Hold`]).
    pub fn hold(store: impl IdempotencyStore + 'static) -> Self {
        Self::preset(store, OnLapse::Hold)
    }

    fn preset(store: impl IdempotencyStore + 'static, on_lapse: OnLapse) -> Self {
        Self::builder(store)
            .on_lapse(on_lapse)
            .build()
            .expect("the default settings are valid")
    }

    /// All settings.
    pub fn builder(store: impl IdempotencyStore + 'static) -> Builder {
        Builder::new(Arc::new(store))
    }

    pub(crate) fn with_settings(store: Arc<dyn IdempotencyStore>, settings: Settings) -> Self {
        Self(Arc::new(Engine {
            calls: Calls {
                store,
                settings: Arc::new(settings),
            },
            background: Background::new(),
            counting: Counting::default(),
        }))
    }

    /// Reserves `operation`, runs `handler`, and records what it says.
    ///
    /// The handler returns its [`Verdict`], or a plain [`Response`](crate::Response) to complete. Return `Err` only if
    /// nobody knows what happened; a failed payment is an answer.
    ///
    /// # Errors
    /// [`ExecuteError::Store`]: the handler did not run. [`ExecuteError::Handler`]: it failed.
    ///
    /// # When the future is dropped
    /// Before the handler began, the reservation is given back in the background. While it runs, the
    /// outcome is unknown, as after an error or a panic: under [`OnLapse::RunAgain`] the operation is
    /// abandoned in the background, so that the retry need not wait for the lease; under
    /// [`OnLapse::Hold`] the lease lapses and the operation is unresolved. After the handler ended, its
    /// verdict is recorded in the background all the same. A server whose clients may hang up should
    /// run this in a task of its own, so that the handler is not stopped half-way.
    ///
    /// # Panics
    /// A panic of the handler goes on to the caller, after the operation was abandoned (or left, under
    /// `Hold`).
    pub async fn execute<H, F, V, E>(
        &self,
        operation: &Operation,
        handler: H,
    ) -> Result<Executed, ExecuteError<E>>
    where
        H: FnOnce(Reservation) -> F,
        F: Future<Output = Result<V, E>>,
        V: Into<Verdict>,
    {
        let span = tracing::debug_span!(
            "idempotency",
            record = %operation.record,
            attempt = tracing::field::Empty,
            outcome = tracing::field::Empty,
        );
        let run = async {
            let held = match self.reserve_or_wait(operation).await {
                Ok(Entry::Won(held)) => held,
                Ok(Entry::Replayed(replay)) => return Ok(Executed::Replayed(replay)),
                Ok(Entry::Conflict { retry_after }) => {
                    return Ok(Executed::Conflict { retry_after });
                }
                Ok(Entry::Mismatch) => return Ok(Executed::Mismatch),
                Err(error) => return Err(ExecuteError::Store(error)),
            };
            tracing::Span::current().record("attempt", held.reservation().attempt());
            let reservation = held.reservation().clone();
            match catch_panic(async move { handler(reservation).await }).await {
                Ok(Ok(verdict)) => Ok(held.close_with(verdict.into()).await),
                Ok(Err(error)) => match held.leave_unknown().await {
                    None => Err(ExecuteError::Handler(error)),
                    Some(standing) => Ok(standing),
                },
                Err(panic) => {
                    held.leave_unknown().await;
                    resume_unwind(panic)
                }
            }
        };
        let result = run.instrument(span.clone()).await;
        span.record("outcome", self.0.counting.count(&result));
        result
    }

    /// As [`execute`](Self::execute), in a task of its own: whoever goes away, the handler runs to its
    /// end and its verdict is recorded. For servers, which drop a request's future when its client hangs
    /// up.
    ///
    /// [`drain`](Self::drain) waits for these tasks, too.
    ///
    /// # Errors
    /// Those of [`execute`](Self::execute); [`ExecuteError::Panicked`] instead of a panic; and
    /// [`ExecuteError::Cancelled`] if the runtime shuts down meanwhile.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// Dropped, even before it was polled: nothing is lost, the task goes on.
    pub fn execute_detached<H, F, V, E>(
        &self,
        operation: Operation,
        handler: H,
    ) -> impl Future<Output = Result<Executed, ExecuteError<E>>> + Send
    where
        H: FnOnce(Reservation) -> F + Send + 'static,
        F: Future<Output = Result<V, E>> + Send + 'static,
        V: Into<Verdict> + Send + 'static,
        E: Send + 'static,
    {
        let this = self.clone();
        let task = async move { this.execute(&operation, handler).await };
        let running = self.0.background.spawn_joined(task);
        async move {
            running.await.unwrap_or_else(|failed| {
                let panic = failed.try_into_panic().map(Panic::new);
                Err(panic.map_or(ExecuteError::Cancelled, ExecuteError::Panicked))
            })
        }
    }

    /// Reserves `operation` by hand: the first half of [`execute`](Self::execute), for callers that
    /// cannot put their work into a handler. Heartbeat, waiting and settings are the same; under
    /// [`OnLapse::Hold`] the reservation counts as started when this returns.
    ///
    /// # Errors
    /// Those of the store; the operation is not reserved then.
    ///
    /// Dropped: a reservation that was made is given back in the background.
    pub async fn reserve(&self, operation: &Operation) -> Result<Entry, Error> {
        let entry = self.reserve_or_wait(operation).await;
        self.0.counting.count_entry(&entry);
        entry
    }

    /// For how long records are leased and remembered.
    pub fn terms(&self) -> Terms {
        self.0.calls.settings.terms
    }

    /// What happens to an operation whose holder died.
    pub fn on_lapse(&self) -> OnLapse {
        self.0.calls.settings.on_lapse
    }

    /// The longest age for running again, if there is one.
    pub fn longest_age(&self) -> Option<Duration> {
        self.0.calls.settings.longest_age
    }

    /// What happens to a request whose operation is in flight.
    pub fn on_conflict(&self) -> OnConflict {
        self.0.calls.settings.on_conflict
    }

    /// The largest response that is kept, in bytes as encoded.
    pub fn response_limit(&self) -> usize {
        self.0.calls.settings.response_limit
    }

    /// What has happened so far, for metrics.
    pub fn counters(&self) -> Counters {
        self.0.counting.read()
    }

    /// Waits up to `up_to` for what goes on in the background: answers that the store has not
    /// acknowledged, reservations that a dropped caller left, [detached](Self::execute_detached)
    /// handlers. Then it tells what only waits for the store to give up, and says how many tasks were
    /// left: their leases lapse.
    ///
    /// Call it at shutdown, after the last request of everything that shares this executor: what is
    /// left gives up its tries to tell the store, whoever began it. What begins later is not affected.
    /// Dropped: nothing gives up.
    pub async fn drain(&self, up_to: Duration) -> usize {
        self.0.background.drain(up_to).await
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("settings", &self.0.calls.settings)
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
