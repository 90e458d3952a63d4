//! Key and effect in one transaction that the library begins: they commit together, or not at all.

use std::future::Future;
use std::time::{Duration, Instant};

use idem_core::{
    Answer, Applied, Error, Executed, Holder, OnLapse, Operation, Outcome, Panic, Recorded,
    ReserveRequest, Reserved, RunInError, Settled, Terms, Token,
};
use sqlx::{Connection as _, PgPool, Postgres, Transaction};

use crate::before::{Before, refused};
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
    pub(crate) before: Before,
}

impl PostgresStore {
    /// Runs operations in transactions, with the default [`Terms`]; a second request with the same key is
    /// refused at once.
    pub fn transactions(&self) -> Transactions {
        Transactions {
            store: self.clone(),
            terms: Terms::default(),
            wait: LOCK_WAIT,
            before: Before::default(),
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
    /// Default: 100 ms, the time of a commit; then it is a conflict. With it, a cache [before](Self::behind) it
    /// replays only, and refuses nobody.
    pub fn wait(mut self, up_to: Duration) -> Self {
        self.wait = up_to;
        self.before = self.before.without_marks();
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
        if let Some(known) = self.before.look_up(&operation).await {
            return Ok(known);
        }
        let (pool, before, record) = (pool.clone(), self.before.clone(), operation.record.clone());
        let task = tokio::spawn(async move { self.run(&pool, operation, handler).await });
        match task.await {
            Ok(ran) => ran,
            Err(failed) => {
                // It rolls back by itself.
                before.ends(&record).await;
                let panic = failed.try_into_panic().map(Panic::new);
                Err(panic.map_or(RunInError::Cancelled, RunInError::Panicked))
            }
        }
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
        let asked = Instant::now();
        let request = ReserveRequest::new(operation.clone(), Token::random(), self.terms)
            .on_lapse(OnLapse::RunAgain);
        let (mut transaction, outcome) = self.begin(pool, &request).await?;
        let Outcome::Reserved { attempt, progress } = &outcome else {
            roll_back(transaction).await;
            self.before
                .refused(&request, &outcome, asked.elapsed())
                .await;
            return Ok(refused(outcome));
        };
        let holder = Holder::new(operation.record.clone(), request.token, *attempt);
        let reserved = Reserved::new(operation, holder.clone(), progress.clone());
        // What the handler writes can be rolled back alone.
        let savepoint = "SAVEPOINT idem_effect".to_owned();
        run(&mut transaction, savepoint)
            .await
            .map_err(uncommitted)?;
        self.before.reserved(&request, asked.elapsed()).await;
        let home = Home::default();
        let settled = handler(home.lend(transaction), reserved).await;
        // However it ends: from here on, the database answers.
        self.before.ends(&holder.record).await;
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
        let response = match settled.map(Into::into) {
            Err(error) => {
                roll_back(transaction).await;
                return Err(RunInError::Handler(error));
            }
            Ok(Settled::Complete(response)) => response,
            Ok(Settled::CompleteWithoutEffect(response)) => {
                let without = "ROLLBACK TO SAVEPOINT idem_effect".to_owned();
                run(&mut transaction, without).await.map_err(uncommitted)?;
                response
            }
            Ok(Settled::RollBack(response)) => {
                roll_back(transaction).await;
                let recorded = Recorded::Released;
                return Ok(Executed::Ran { response, recorded });
            }
        };
        let answer = Answer::Full(response.clone());
        let remembered_for = self.commit(transaction, &holder, &answer).await?;
        let operation = &request.operation;
        self.before
            .committed(operation, &answer, remembered_for, asked.elapsed())
            .await;
        let recorded = Recorded::Completed { remembered_for };
        Ok(Executed::Ran { response, recorded })
    }

    /// Begins, and reserves. A transaction whose snapshot cannot see the winner, or that lost its
    /// connection, begins anew: nothing has happened in it.
    async fn begin(
        &self,
        pool: &PgPool,
        request: &ReserveRequest,
    ) -> Result<(Transaction<'static, Postgres>, Outcome), Error> {
        let mut tries = TRIES;
        // However it fails: a try may wait for as long as it is asked to, and all of them not much longer.
        let began = Instant::now();
        let patience = self.wait.saturating_add(TRYING_AGAIN);
        loop {
            let begun = pool.begin().await;
            let mut transaction = begun.map_err(failure::of_connection)?;
            let reserving = self.store.reserve_in(&mut transaction, request, self.wait);
            match reserving.await {
                Ok(outcome) => return Ok((transaction, outcome)),
                Err(error) if error.is_transient() && tries > 0 && began.elapsed() < patience => {
                    roll_back(transaction).await;
                    tries -= 1;
                }
                Err(error) => {
                    roll_back(transaction).await;
                    return Err(not_applied(error));
                }
            }
        }
    }

    async fn commit(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        holder: &Holder,
        answer: &Answer,
    ) -> Result<Duration, Error> {
        let completing = self
            .store
            .complete_held_in(&mut transaction, holder, answer);
        let remembered_for = match completing.await {
            Ok(remembered_for) => remembered_for,
            Err(not_completed) => {
                roll_back(transaction).await;
                return match not_completed {
                    // In its own transaction nobody else can have completed or taken it.
                    NotCompleted::Standing(_) | NotCompleted::Superseded => {
                        Err(Error::unknown_outcome(
                            "the reservation was gone from its own transaction",
                            "the handler has completed, ended or undone it",
                        ))
                    }
                    NotCompleted::Store(error) => Err(not_applied(error)),
                };
            }
        };
        // The one statement whose answer, if it is lost, leaves open what has happened.
        let committed = transaction.commit().await;
        committed.map_err(|error| failure::of_statement(error).into_error())?;
        Ok(remembered_for)
    }
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
