//! Key and effect in one transaction that the library begins: they commit together, or not at all.

use std::future::Future;
use std::time::{Duration, Instant};

use idem_core::{
    Answer, Applied, Error, Executed, Holder, OnLapse, Operation, Outcome, Panic, Recorded,
    ReserveRequest, Reserved, Response, RunInError, Settled, Terms, Token,
};
use sqlx::{Connection as _, PgPool, Postgres, Transaction};

use crate::effect_connection::Home;
use crate::failure;
use crate::in_transaction::run;
use crate::session::TRIES;
use crate::store::LOCK_WAIT;
use crate::{EffectConnection, NotCompleted, PostgresStore};

/// For how long a transaction begins anew that others are in the way of.
const TRYING_AGAIN: Duration = Duration::from_secs(1);

/// How operations run in transactions: from [`PostgresStore::transactions`].
#[derive(Clone, Debug)]
#[must_use = "call `run_in`"]
pub struct Transactions {
    store: PostgresStore,
    terms: Terms,
    wait: Duration,
}

impl PostgresStore {
    /// Runs operations in transactions, with the default [`Terms`]; a second request with the same key is
    /// refused at once.
    pub fn transactions(&self) -> Transactions {
        Transactions {
            store: self.clone(),
            terms: Terms::default(),
            wait: LOCK_WAIT,
        }
    }

    /// As [`Transactions::run_in`], with the default settings.
    ///
    /// # Errors
    /// Those of [`Transactions::run_in`].
    pub async fn run_in<H, F, V, E>(
        &self,
        pool: &PgPool,
        operation: Operation,
        handler: H,
    ) -> Result<Executed, RunInError<E>>
    where
        H: FnOnce(EffectConnection, Reserved) -> F + Send + 'static,
        F: Future<Output = Result<V, E>> + Send,
        V: Into<Settled> + Send + 'static,
        E: Send + 'static,
    {
        self.transactions().run_in(pool, operation, handler).await
    }
}

impl Transactions {
    /// Lease and retention: behind `idem_tower`'s layer those of the layer, `Idempotent::terms`. The lease is
    /// what others see only if the record outlives the transaction, which it does completed.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// How long a second request waits, in the database, for the first one's commit; then it replays. It
    /// holds a connection meanwhile, and does not wait for longer than the role's `statement_timeout`.
    /// Default: 100 ms, the time of a commit; then it is a conflict.
    pub fn wait(mut self, up_to: Duration) -> Self {
        self.wait = up_to;
        self
    }

    /// Reserves `operation`, runs `handler` and records its answer, all in one transaction on a connection
    /// of `pool`, which reaches the store's database: effect and key commit together, or not at all.
    ///
    /// It runs in a task of its own: nobody can drop a transaction half-way, which would leave it open on
    /// a pooled connection.
    ///
    /// **Call no provider in `handler`.** The transaction would hold a connection and locks for as long as
    /// the provider takes, and what the provider did does not roll back. With a pool of 2 and a provider
    /// that takes 1 s, 8 callers kept everybody else from the database for 4 s. For that there is
    /// [`complete_in`](PostgresStore::complete_in).
    ///
    /// Behind `idem_tower`'s layer the route is one that is `by_hand`: otherwise the layer has reserved the
    /// operation already, and this one is in conflict with it.
    ///
    /// Nested transactions of sqlx are the handler's own, but one whose `begin` fails or is dropped ends the
    /// transaction as a whole: go on with nothing after that. It is found when the handler returns.
    ///
    /// # Errors
    /// [`RunInError`].
    ///
    /// Dropped: the transaction goes on to its end.
    pub async fn run_in<H, F, V, E>(
        self,
        pool: &PgPool,
        operation: Operation,
        handler: H,
    ) -> Result<Executed, RunInError<E>>
    where
        H: FnOnce(EffectConnection, Reserved) -> F + Send + 'static,
        F: Future<Output = Result<V, E>> + Send,
        V: Into<Settled> + Send + 'static,
        E: Send + 'static,
    {
        let pool = pool.clone();
        let task = tokio::spawn(async move { self.run(&pool, operation, handler).await });
        task.await.unwrap_or_else(|failed| {
            let panic = failed.try_into_panic().map(Panic::new);
            Err(panic.map_or(RunInError::Cancelled, RunInError::Panicked))
        })
    }

    async fn run<H, F, V, E>(
        self,
        pool: &PgPool,
        operation: Operation,
        handler: H,
    ) -> Result<Executed, RunInError<E>>
    where
        H: FnOnce(EffectConnection, Reserved) -> F,
        F: Future<Output = Result<V, E>>,
        V: Into<Settled>,
    {
        let (mut transaction, reserved) = match self.begin(pool, &operation).await? {
            Begun::Reserved(transaction, reserved) => (transaction, reserved),
            Begun::Not(executed) => return Ok(executed),
        };
        let holder = reserved.holder().clone();
        // What the handler writes can be rolled back alone.
        let savepoint = "SAVEPOINT idem_effect".to_owned();
        run(&mut transaction, savepoint)
            .await
            .map_err(uncommitted)?;
        let home = Home::default();
        let settled = handler(home.lend(transaction), reserved).await;
        let Some(mut transaction) = home.take() else {
            // Whoever has it drops it some time, and it rolls back.
            return Err(RunInError::Store(Error::unknown_outcome(
                "the handler has kept its connection, which must not outlive it: nothing was committed here",
                "nobody else can commit or roll back",
            )));
        };
        if !transaction.is_in_transaction() {
            return Err(RunInError::Store(Error::unknown_outcome(
                "the transaction ended inside the handler: what was written since may be there without it",
                "a nested transaction could not begin, or its begin was dropped",
            )));
        }
        match settled.map(Into::into) {
            Err(error) => {
                roll_back(transaction).await;
                Err(RunInError::Handler(error))
            }
            Ok(Settled::Complete(response)) => self.commit(transaction, &holder, response).await,
            Ok(Settled::CompleteWithoutEffect(response)) => {
                let without = "ROLLBACK TO SAVEPOINT idem_effect".to_owned();
                run(&mut transaction, without).await.map_err(uncommitted)?;
                self.commit(transaction, &holder, response).await
            }
            Ok(Settled::RollBack(response)) => {
                roll_back(transaction).await;
                let recorded = Recorded::Released;
                Ok(Executed::Ran { response, recorded })
            }
        }
    }

    /// Begins, and reserves. A transaction whose snapshot cannot see the winner, or that lost its
    /// connection, begins anew: nothing has happened in it.
    async fn begin(&self, pool: &PgPool, operation: &Operation) -> Result<Begun, Error> {
        let request = ReserveRequest::new(operation.clone(), Token::random(), self.terms)
            .on_lapse(OnLapse::RunAgain);
        let mut tries = TRIES;
        // However it fails: a try may wait for as long as it is asked to, and all of them not much longer.
        let began = Instant::now();
        let patience = self.wait.saturating_add(TRYING_AGAIN);
        loop {
            let begun = pool.begin().await;
            let mut transaction = begun.map_err(failure::of_connection)?;
            let reserving = self.store.reserve_in(&mut transaction, &request, self.wait);
            let outcome = match reserving.await {
                Ok(outcome) => outcome,
                Err(error) if error.is_transient() && tries > 0 && began.elapsed() < patience => {
                    roll_back(transaction).await;
                    tries -= 1;
                    continue;
                }
                Err(error) => {
                    roll_back(transaction).await;
                    return Err(not_applied(error));
                }
            };
            let executed = match outcome {
                Outcome::Reserved { attempt, progress } => {
                    let record = operation.record.clone();
                    let holder = Holder::new(record, request.token, attempt);
                    let reserved = Reserved::new(operation.clone(), holder, progress);
                    return Ok(Begun::Reserved(transaction, reserved));
                }
                Outcome::Replay(replay) => Executed::Replayed(replay),
                Outcome::Conflict { retry_after } => Executed::Conflict { retry_after },
                Outcome::Mismatch => Executed::Mismatch,
            };
            roll_back(transaction).await;
            return Ok(Begun::Not(executed));
        }
    }

    async fn commit<E>(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        holder: &Holder,
        response: Response,
    ) -> Result<Executed, RunInError<E>> {
        let answer = Answer::Full(response.clone());
        let completing = self
            .store
            .complete_held_in(&mut transaction, holder, &answer);
        let remembered_for = match completing.await {
            Ok(remembered_for) => remembered_for,
            Err(not_completed) => {
                roll_back(transaction).await;
                return match not_completed {
                    NotCompleted::Standing(replay) => Ok(Executed::Replayed(replay)),
                    // In its own transaction nobody else can have taken it.
                    NotCompleted::Superseded => Err(RunInError::Store(Error::unknown_outcome(
                        "the reservation was gone from its own transaction",
                        "the handler has ended or undone it",
                    ))),
                    NotCompleted::Store(error) => Err(RunInError::Store(not_applied(error))),
                };
            }
        };
        // The one statement whose answer, if it is lost, leaves open what has happened.
        let committed = transaction.commit().await;
        committed.map_err(|error| failure::of_statement(error).into_error())?;
        let recorded = Recorded::Completed { remembered_for };
        Ok(Executed::Ran { response, recorded })
    }
}

enum Begun {
    Reserved(Transaction<'static, Postgres>, Reserved),
    Not(Executed),
}

/// If the server cannot be told, it has lost the connection, and rolls back by itself.
async fn roll_back(transaction: Transaction<'static, Postgres>) {
    let _ = transaction.rollback().await;
}

fn uncommitted(error: sqlx::Error) -> Error {
    not_applied(failure::of_statement(error).into_error())
}

/// Before the commit was sent, nothing can have been applied, whatever became of the connection.
fn not_applied(error: Error) -> Error {
    match error.applied() {
        Applied::No => error,
        Applied::Unknown => Error::unavailable("nothing was committed", error),
    }
}
