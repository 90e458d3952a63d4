//! Key and effect in one transaction: they commit together, or not at all.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idem_core::{
    Answer, Completion, DerivedKey, Error, Executed, Holder, OnLapse, Operation, Outcome, Progress,
    Recorded, Replay, Reservation, ReserveRequest, Response, Terms, Token,
};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, PgPool, Postgres, Transaction};

use crate::PostgresStore;
use crate::failure::{self, Failure};
use crate::store::{LOCK_WAIT, Session, TRIES, blocked};

/// What a handler in a [transaction](Transactions::run_in) says of its run.
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

/// The connection of the transaction that a handler's effect belongs to: use it as a `&mut PgConnection`
/// (`&mut *connection`). It must not outlive the handler, and must not be committed or rolled back by hand;
/// savepoints (sqlx's nested transactions) are the handler's own.
pub struct EffectConnection {
    /// Taken when it is dropped.
    transaction: Option<Transaction<'static, Postgres>>,
    home: Home,
}

/// Where a transaction goes when its handler is done with it.
type Home = Arc<Mutex<Option<Transaction<'static, Postgres>>>>;

impl Deref for EffectConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.transaction
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl DerefMut for EffectConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.transaction
            .as_mut()
            .expect("it is there until it is dropped")
    }
}

impl Drop for EffectConnection {
    fn drop(&mut self) {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        *home = self.transaction.take();
    }
}

impl fmt::Debug for EffectConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EffectConnection(..)")
    }
}

/// How operations run in transactions: from [`PostgresStore::transactions`].
#[derive(Clone, Debug)]
#[must_use = "call `run_in`"]
pub struct Transactions {
    store: PostgresStore,
    terms: Terms,
    wait: Duration,
}

/// Why there is neither an answer nor a conflict.
#[derive(Debug)]
pub enum RunInError<E> {
    /// Postgres could not be asked, or the commit failed. If the error says
    /// [`Applied::Unknown`](idem_core::Applied::Unknown), the answer of the commit was lost: effect and
    /// answer are there together, or not at all, and the same request, sent again, finds out.
    Store(Error),
    /// The handler failed. Everything was rolled back: nothing happened.
    Handler(E),
    /// The handler panicked, with this. Everything was rolled back: nothing happened.
    Panicked(Box<dyn Any + Send>),
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

/// Why a record was not completed in a transaction of one's own: **roll it back**.
#[derive(Debug)]
pub enum NotCompleted {
    /// Another answer stands.
    Standing(Replay),
    /// Another attempt took the operation over, or it was settled.
    Superseded,
    /// Postgres refused. The transaction has failed.
    Store(Error),
}

impl fmt::Display for NotCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standing(_) => "another answer stands: roll the transaction back",
            Self::Superseded => "another attempt owns the operation: roll the transaction back",
            Self::Store(_) => "the record could not be completed: roll the transaction back",
        })
    }
}

impl StdError for NotCompleted {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Standing(_) | Self::Superseded => None,
        }
    }
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

    /// Completes the record of `reservation` inside a transaction of the caller's own, which then commits:
    /// the third step of *reserve and commit; call the provider with the derived key; record the result
    /// and the completion together*.
    ///
    /// It stops the heartbeat for good. Under REPEATABLE READ or SERIALIZABLE call
    /// [`Reservation::stop_heartbeat`] before the transaction begins, or a renewal after its snapshot
    /// makes it fail (SQLSTATE 40001). After the commit tell the executor by
    /// [`Verdict::AlreadyRecorded`](idem_core::Verdict::AlreadyRecorded), or answer with `idem_tower`'s
    /// `RecordedAnswer`.
    ///
    /// Gives for how long the answer is remembered.
    ///
    /// # Errors
    /// [`NotCompleted`]: roll the transaction back.
    ///
    /// Dropped: the transaction is to be rolled back, too.
    pub async fn complete_in(
        &self,
        connection: &mut PgConnection,
        reservation: &Reservation,
        answer: &Answer,
    ) -> Result<Duration, NotCompleted> {
        reservation.stop_heartbeat().await;
        self.complete_held_in(connection, reservation.holder(), answer)
            .await
    }

    /// The same for a reservation that has no heartbeat: one made by [`reserve_in`](Self::reserve_in).
    ///
    /// # Errors
    /// As for [`complete_in`](Self::complete_in).
    pub async fn complete_held_in(
        &self,
        connection: &mut PgConnection,
        holder: &Holder,
        answer: &Answer,
    ) -> Result<Duration, NotCompleted> {
        let mut session = self.session_in(connection);
        let completed = session.try_complete(holder, answer).await;
        match completed.map_err(|failure| NotCompleted::Store(failure.into_error()))? {
            Some(Completion::Completed { remembered_for }) => Ok(remembered_for),
            Some(Completion::AlreadyCompleted(replay)) => Err(NotCompleted::Standing(replay)),
            Some(Completion::Superseded) | None => Err(NotCompleted::Superseded),
        }
    }

    /// Reserves inside a transaction of the caller's own: the first of the parts that
    /// [`run_in`](Self::run_in) is made of. The last is [`complete_held_in`](Self::complete_held_in).
    ///
    /// A request that meets the reservation before its commit waits for `wait`, then it is a conflict. The
    /// transaction stays usable in any case: the reservation is tried in a savepoint.
    ///
    /// # Errors
    /// Those of the store. The transaction has failed: roll it back.
    ///
    /// Dropped: the transaction is to be rolled back.
    pub async fn reserve_in(
        &self,
        connection: &mut PgConnection,
        request: &ReserveRequest,
        wait: Duration,
    ) -> Result<Outcome, Error> {
        let wait = wait.as_millis().max(1);
        let refused = |error| failure::of_statement(error).into_error();
        let begin = format!("SAVEPOINT idem_reserve; SET LOCAL lock_timeout = {wait}");
        run(connection, begin).await.map_err(refused)?;
        let reserved = self.reserve_again_and_again(connection, request).await;
        // What the transaction does afterwards waits as it did before.
        let end = match &reserved {
            Ok(_) => "SET LOCAL lock_timeout TO DEFAULT; RELEASE SAVEPOINT idem_reserve",
            Err(_) => "ROLLBACK TO SAVEPOINT idem_reserve; RELEASE SAVEPOINT idem_reserve",
        };
        match reserved {
            Err(Failure::Other(error)) => Err(error),
            Err(Failure::Blocked(_)) => {
                run(connection, end.to_owned()).await.map_err(refused)?;
                Ok(blocked(request.terms))
            }
            // In this snapshot the record will never be seen: the whole transaction has to begin anew.
            Err(failure @ Failure::Collided(_)) => Err(failure.into_error()),
            Ok(outcome) => {
                run(connection, end.to_owned()).await.map_err(refused)?;
                Ok(outcome)
            }
        }
    }

    async fn reserve_again_and_again(
        &self,
        connection: &mut PgConnection,
        request: &ReserveRequest,
    ) -> Result<Outcome, Failure> {
        let mut session = self.session_in(connection);
        for _ in 0..TRIES {
            if let Some(outcome) = session.try_reserve(request).await? {
                return Ok(outcome);
            }
        }
        Err(Failure::Other(Error::unavailable(
            "the record of the operation changes all the time",
            "others were faster at each try",
        )))
    }

    fn session_in<'a>(&'a self, connection: &'a mut PgConnection) -> Session<'a> {
        let inner = self.inner();
        Session {
            connection,
            statements: inner.statements,
            sql: &inner.sql_in_transaction,
        }
    }
}

impl Transactions {
    /// Lease and retention. The lease is what others see only if the record outlives the transaction,
    /// which it does completed.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// How long a second request waits, in the database, for the first one's commit; then it replays. It
    /// holds a connection meanwhile. Default: 100 ms, the time of a commit; then it is a conflict.
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
    /// the provider takes, and what the provider did does not roll back. For that there is
    /// [`complete_in`](PostgresStore::complete_in).
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
            let panic = failed.try_into_panic();
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
        run(&mut transaction, "SAVEPOINT idem_effect".to_owned())
            .await
            .map_err(refused)?;
        let home = Home::default();
        let effect = EffectConnection {
            transaction: Some(transaction),
            home: Arc::clone(&home),
        };
        let settled = handler(effect, reserved).await;
        let back = home.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut transaction) = back else {
            // Whoever has it drops it some time, and it rolls back.
            return Err(RunInError::Store(Error::invalid(
                "the handler has kept its connection: it must not outlive the handler",
            )));
        };
        match settled.map(Into::into) {
            Err(error) => {
                transaction.rollback().await.map_err(refused)?;
                Err(RunInError::Handler(error))
            }
            Ok(Settled::Complete(response)) => self.commit(transaction, &holder, response).await,
            Ok(Settled::CompleteWithoutEffect(response)) => {
                run(
                    &mut transaction,
                    "ROLLBACK TO SAVEPOINT idem_effect".to_owned(),
                )
                .await
                .map_err(refused)?;
                self.commit(transaction, &holder, response).await
            }
            Ok(Settled::RollBack(response)) => {
                transaction.rollback().await.map_err(refused)?;
                let recorded = Recorded::Released;
                Ok(Executed::Ran { response, recorded })
            }
        }
    }

    /// Begins, and reserves. A transaction whose snapshot cannot see the winner begins anew: nothing has
    /// happened in it.
    async fn begin(&self, pool: &PgPool, operation: &Operation) -> Result<Begun, Error> {
        let request = ReserveRequest::new(operation.clone(), Token::random(), self.terms)
            .on_lapse(OnLapse::RunAgain);
        let mut tries = TRIES;
        loop {
            let mut transaction = pool.begin().await.map_err(failure::of_connection)?;
            let reserving = self.store.reserve_in(&mut transaction, &request, self.wait);
            let outcome = match reserving.await {
                Err(error) if error.is_transient() && tries > 0 => {
                    transaction.rollback().await.map_err(refused)?;
                    tries -= 1;
                    continue;
                }
                outcome => outcome?,
            };
            let executed = match outcome {
                Outcome::Reserved { attempt, progress } => {
                    let record = operation.record.clone();
                    let reserved = Reserved {
                        operation: operation.clone(),
                        holder: Holder::new(record, request.token, attempt),
                        progress,
                    };
                    return Ok(Begun::Reserved(transaction, reserved));
                }
                Outcome::Replay(replay) => Executed::Replayed(replay),
                Outcome::Conflict { retry_after } => Executed::Conflict { retry_after },
                Outcome::Mismatch => Executed::Mismatch,
            };
            transaction.rollback().await.map_err(refused)?;
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
            Err(NotCompleted::Standing(replay)) => {
                transaction.rollback().await.map_err(refused)?;
                return Ok(Executed::Replayed(replay));
            }
            Err(NotCompleted::Superseded) => {
                transaction.rollback().await.map_err(refused)?;
                return Ok(Executed::Conflict {
                    retry_after: Some(Duration::from_secs(1)),
                });
            }
            Err(NotCompleted::Store(error)) => return Err(error.into()),
        };
        transaction.commit().await.map_err(refused)?;
        let recorded = Recorded::Completed { remembered_for };
        Ok(Executed::Ran { response, recorded })
    }
}

enum Begun {
    Reserved(Transaction<'static, Postgres>, Reserved),
    Not(Executed),
}

fn refused(error: sqlx::Error) -> Error {
    failure::of_statement(error).into_error()
}

/// Several statements without values, in one round trip.
async fn run(connection: &mut PgConnection, statements: String) -> Result<(), sqlx::Error> {
    let statements = sqlx::raw_sql(AssertSqlSafe(statements));
    connection.execute(statements).await.map(|_| ())
}
