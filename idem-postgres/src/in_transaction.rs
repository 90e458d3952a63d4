//! The steps in a transaction of the caller's own: its parts, and completing after a provider.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use idem_core::{Answer, Completion, Error, Holder, Outcome, Replay, Reservation, ReserveRequest};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Postgres, Row as _, Transaction};

use crate::PostgresStore;
use crate::failure::{self, Failure};
use crate::session::{TRIES, others_were_faster};
use crate::store::blocked;

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
    /// Completes the record of `reservation` inside a transaction of the caller's own, which then commits:
    /// the third step of *reserve and commit; call the provider with the derived key; record the result
    /// and the completion together*.
    ///
    /// It stops the heartbeat for good. Under REPEATABLE READ or SERIALIZABLE call
    /// [`Reservation::stop_heartbeat`] before the transaction begins, or a renewal after its snapshot
    /// makes it fail (SQLSTATE 40001). **Commit right after it**, by [`commit_in`](Self::commit_in) if you can:
    /// a commit that is forgotten leaves nothing behind, and so does one after a statement that failed,
    /// which sqlx does not report. After the commit tell the executor by
    /// [`Verdict::AlreadyRecorded`](idem_core::Verdict::AlreadyRecorded), or answer with `idem_tower`'s
    /// `RecordedAnswer`.
    ///
    /// Gives for how long the answer is remembered.
    ///
    /// # Errors
    /// [`NotCompleted`]: roll the transaction back. It is [invalid](Error::is_invalid) if sqlx knows of no
    /// transaction on the connection.
    ///
    /// Dropped: the transaction is to be rolled back, too.
    pub async fn complete_in(
        &self,
        connection: &mut PgConnection,
        reservation: &Reservation,
        answer: impl Into<Answer>,
    ) -> Result<Duration, NotCompleted> {
        let answer = answer.into();
        reservation.stop_heartbeat().await;
        self.complete_held_in(connection, reservation.holder(), answer)
            .await
    }

    /// [`complete_in`](Self::complete_in) as the last statement of `transaction`, and its commit: nothing can
    /// come between the two, nor be forgotten. `transaction` is the outermost one: to commit a nested one is to
    /// release a savepoint.
    ///
    /// # Errors
    /// [`NotCompleted`]: it was rolled back. If it is a [`Store`](NotCompleted::Store) error that says
    /// [`Unknown`](idem_core::Applied::Unknown), the commit's answer was lost: nobody knows, and the same
    /// request, sent again, finds out. Under `idem_tower` answer with `Disposition::Unknown`.
    ///
    /// Dropped: it commits, or rolls back.
    pub async fn commit_in(
        &self,
        mut transaction: Transaction<'_, Postgres>,
        reservation: &Reservation,
        answer: impl Into<Answer>,
    ) -> Result<Duration, NotCompleted> {
        let completed = self.complete_in(&mut transaction, reservation, answer);
        match completed.await {
            Ok(remembered_for) => match transaction.commit().await {
                Ok(()) => Ok(remembered_for),
                Err(error) => Err(NotCompleted::Store(refused(error))),
            },
            Err(not_completed) => {
                // If the server cannot be told, it has lost the connection, and rolls back by itself.
                let _ = transaction.rollback().await;
                Err(not_completed)
            }
        }
    }

    /// The same for a reservation that has no heartbeat: one made by [`reserve_in`](Self::reserve_in).
    ///
    /// # Errors
    /// As for [`complete_in`](Self::complete_in).
    pub async fn complete_held_in(
        &self,
        connection: &mut PgConnection,
        holder: &Holder,
        answer: impl Into<Answer>,
    ) -> Result<Duration, NotCompleted> {
        let answer = answer.into();
        has_begun(connection).map_err(NotCompleted::Store)?;
        let mut session = self.inner().session_in(connection);
        let completed = session.try_complete(holder, &answer).await;
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
        has_begun(connection)?;
        let waited = begin_to_wait(connection, wait).await.map_err(refused)?;
        match self.reserve_again_and_again(connection, request).await {
            Ok(outcome) => {
                // What the transaction does afterwards waits as it did before.
                let end =
                    format!("SET LOCAL lock_timeout = '{waited}'; RELEASE SAVEPOINT idem_reserve");
                run(connection, end).await.map_err(refused)?;
                Ok(outcome)
            }
            // Blocked for as long as asked, or until the server's own limit; or each of two has what the
            // other waits for. It was in the savepoint: the transaction goes on.
            Err(failure) if is_blocked(&failure) => {
                // With the savepoint goes what was set in it.
                let end = "ROLLBACK TO SAVEPOINT idem_reserve; RELEASE SAVEPOINT idem_reserve";
                run(connection, end.to_owned()).await.map_err(refused)?;
                Ok(blocked(request.terms))
            }
            // In this snapshot the record will never be seen: the whole transaction has to begin anew.
            Err(failure) => Err(failure.into_error()),
        }
    }

    async fn reserve_again_and_again(
        &self,
        connection: &mut PgConnection,
        request: &ReserveRequest,
    ) -> Result<Outcome, Failure> {
        let mut session = self.inner().session_in(connection);
        for _ in 0..TRIES {
            if let Some(outcome) = session.try_reserve(request).await? {
                return Ok(outcome);
            }
        }
        Err(Failure::Other(others_were_faster()))
    }
}

/// Whether it is for a transaction of somebody else's that the reservation waits.
fn is_blocked(failure: &Failure) -> bool {
    match failure {
        Failure::Blocked(_) | Failure::Cancelled(_) => true,
        Failure::Collided(error) => {
            let code = error.as_database_error().and_then(|error| error.code());
            code.as_deref() == Some("40P01")
        }
        Failure::Other(_) => false,
    }
}

/// Outside of a transaction a step would commit by itself, and what is to commit with it would not.
fn has_begun(connection: &PgConnection) -> Result<(), Error> {
    if connection.is_in_transaction() {
        return Ok(());
    }
    Err(Error::invalid(
        "no transaction is open on this connection: begin one by sqlx; or one has ended, since a nested \
         one could not begin, or its begin was dropped",
    ))
}

/// Sets a savepoint and how long to wait for locks, and gives how long that was before.
async fn begin_to_wait(
    connection: &mut PgConnection,
    wait: Duration,
) -> Result<String, sqlx::Error> {
    // Zero would be to wait for ever, and more than an `integer` Postgres does not take.
    let wait = wait.as_millis().clamp(1, i32::MAX.unsigned_abs().into());
    let begin = format!(
        "SAVEPOINT idem_reserve; SELECT setting || unit AS waited FROM pg_settings \
         WHERE name = 'lock_timeout'; SET LOCAL lock_timeout = {wait}"
    );
    let rows = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(begin)));
    let rows = rows.await?;
    rows.first()
        .ok_or(sqlx::Error::RowNotFound)?
        .try_get("waited")
}

fn refused(error: sqlx::Error) -> Error {
    failure::of_statement(error).into_error()
}

/// Several statements without values, in one round trip.
pub(crate) async fn run(
    connection: &mut PgConnection,
    statements: String,
) -> Result<(), sqlx::Error> {
    let statements = sqlx::raw_sql(AssertSqlSafe(statements));
    connection.execute(statements).await.map(|_| ())
}
