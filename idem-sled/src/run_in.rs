//! Key and effect in one transaction: they commit together, or not at all.

use std::time::Duration;

use idem_core::machine::{self, Change, Record};
use idem_core::{
    Answer, Completion, Error, Executed, Holder, Operation, Outcome, Planned, Recorded, Replay,
    ReserveRequest, Reserved, Response, RunInError, Settled, Terms, Timestamp, Token,
};

use crate::transaction::{Broken, Decided, Ended};
use crate::{EffectTree, SledStore, TreeInTransaction};

fn run_in_error<E>(broken: Broken<E>) -> RunInError<E> {
    match broken {
        Broken::Store(error) => RunInError::Store(error),
        Broken::Handler(error) => RunInError::Handler(error),
        Broken::Panicked(panic) => RunInError::Panicked(panic),
    }
}

/// How operations run in transactions: from [`SledStore::transactions`].
#[derive(Clone, Debug)]
#[must_use = "call `run_in`"]
pub struct Transactions {
    store: SledStore,
    terms: Terms,
}

impl SledStore {
    /// Runs operations in transactions, with the default [`Terms`].
    pub fn transactions(&self) -> Transactions {
        Transactions {
            store: self.clone(),
            terms: Terms::default(),
        }
    }

    /// As [`Transactions::run_in`], with the default settings.
    ///
    /// # Errors
    /// Those of [`Transactions::run_in`].
    ///
    /// Dropped: the transaction goes on to its end.
    pub async fn run_in<H, V, E, const T: usize>(
        &self,
        trees: [&EffectTree; T],
        operation: Operation,
        handler: H,
    ) -> Result<Executed, RunInError<E>>
    where
        H: Fn([&TreeInTransaction; T], &Reserved) -> Result<V, E> + Send + 'static,
        V: Into<Settled>,
        E: Send + 'static,
    {
        self.transactions().run_in(trees, operation, handler).await
    }
}

/// The end of a run that has nothing to commit.
enum NotRun {
    Answered(Executed),
    RolledBack(Response),
}

impl Transactions {
    /// Lease and retention: behind `idem_tower`'s layer those of the layer, `Idempotent::terms`. Nobody ever
    /// sees the lease: before the commit there is no record, and after it the
    /// record is completed.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// Reserves `operation`, runs `handler` on the trees and records its answer, all in one transaction: effect
    /// and key commit together, or not at all. It returns once both are on disk.
    ///
    /// `handler` is not async, runs on a thread of the store's, and **may run more than once**: whatever it does
    /// besides writing to the trees that it is given may happen several times, or although nothing commits. It
    /// must not touch sled otherwise, not even to read: that would wait for its own end, for ever. While it
    /// runs, **every other call to sled in this process waits**, in whatever folder: keep it short.
    ///
    /// A second request with the key waits for the first one's commit and replays. One that was reserved
    /// otherwise and is in flight is a conflict.
    ///
    /// ```
    /// use idem_core::*;
    /// use idem_sled::*;
    ///
    /// # async fn check(store: SledStore, operation: Operation) -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = store.effect_tree("payments").await?;
    /// let executed = store
    ///     .run_in([&payments], operation, |[payments], reserved| {
    ///         payments.insert(reserved.derived_key("payment").as_str(), "150.00");
    ///         Ok::<_, sled::Error>(Response::new(201).body("paid"))
    ///     })
    ///     .await?;
    /// # _ = executed; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RunInError`]. A tree of another store, or one that is named twice, is
    /// [invalid](Error::is_invalid).
    ///
    /// Dropped: the transaction goes on to its end.
    pub async fn run_in<H, V, E, const T: usize>(
        self,
        trees: [&EffectTree; T],
        operation: Operation,
        handler: H,
    ) -> Result<Executed, RunInError<E>>
    where
        H: Fn([&TreeInTransaction; T], &Reserved) -> Result<V, E> + Send + 'static,
        V: Into<Settled>,
        E: Send + 'static,
    {
        let inner = self.store.inner();
        let trees = EffectTree::all_of(trees.into_iter(), &inner.cas.engine().shared.core)?;
        let request = ReserveRequest::new(operation, Token::random(), self.terms);
        let record = request.operation.record.clone();
        let ended = inner.transact(&record, trees, move |inner, stored, trees| {
            // One instant for the whole transaction.
            let now = inner.cas.now();
            let reserving = inner.cas.plan(
                &request.operation.record,
                stored.as_deref(),
                now,
                |record, now| machine::reserve(record, &request, now),
            )?;
            let reserved = match reserved(&request, reserving.answer) {
                Ok(reserved) => reserved,
                Err(executed) => return Ok(Decided::Nothing(NotRun::Answered(executed))),
            };
            let settled = handler(trees, &reserved).map_err(Broken::Handler)?.into();
            let (response, with_effect) = match settled {
                Settled::Complete(response) => (response, true),
                Settled::CompleteWithoutEffect(response) => (response, false),
                Settled::RollBack(response) => {
                    return Ok(Decided::Nothing(NotRun::RolledBack(response)));
                }
            };
            let answer = Answer::Full(response.clone());
            let completing = inner.cas.plan(
                &request.operation.record,
                stored.as_deref(),
                now,
                |record, now| complete_at_once(record, &request, reserved.holder(), &answer, now),
            )?;
            let remembered_for = completing.answer?;
            let planned = Planned {
                answer: (response, remembered_for),
                writes: completing.writes,
            };
            Ok(Decided::Write {
                planned,
                with_effect,
            })
        });
        Ok(match ended.await.map_err(run_in_error)? {
            Ended::Committed((response, remembered_for)) => Executed::Ran {
                response,
                recorded: Recorded::Completed { remembered_for },
            },
            Ended::Nothing(NotRun::Answered(executed)) => executed,
            Ended::Nothing(NotRun::RolledBack(response)) => Executed::Ran {
                response,
                recorded: Recorded::Released,
            },
        })
    }
}

fn reserved(request: &ReserveRequest, outcome: Outcome) -> Result<Reserved, Executed> {
    match outcome {
        Outcome::Reserved { attempt, progress } => {
            let operation = request.operation.clone();
            let holder = Holder::new(operation.record.clone(), request.token, attempt);
            Ok(Reserved::new(operation, holder, progress))
        }
        Outcome::Replay(replay) => Err(Executed::Replayed(replay)),
        Outcome::Conflict { retry_after } => Err(Executed::Conflict { retry_after }),
        Outcome::Mismatch => Err(Executed::Mismatch),
    }
}

/// From what stood there to the completed record, without the reservation in between: at the same instant, so
/// the machine decides on it as it did before.
fn complete_at_once(
    record: Option<&Record>,
    request: &ReserveRequest,
    holder: &Holder,
    answer: &Answer,
    now: Timestamp,
) -> (Result<Duration, Error>, Change) {
    let refused = || {
        Error::failed(
            "the machine refused its own reservation",
            "a fault in this crate",
        )
    };
    let (_, Change::Put(reserved)) = machine::reserve(record, request, now) else {
        return (Err(refused()), Change::Keep);
    };
    match machine::complete(Some(&reserved), holder, answer, now) {
        (Completion::Completed { remembered_for }, change) => (Ok(remembered_for), change),
        (Completion::AlreadyCompleted(_) | Completion::Superseded, _) => {
            (Err(refused()), Change::Keep)
        }
    }
}

/// Used where a replay stands in the way of a completion.
pub(crate) fn standing(completion: Completion) -> Result<Duration, Option<Replay>> {
    match completion {
        Completion::Completed { remembered_for } => Ok(remembered_for),
        Completion::AlreadyCompleted(replay) => Err(Some(replay)),
        Completion::Superseded => Err(None),
    }
}
