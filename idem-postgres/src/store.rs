//! The store: each call is one autocommit statement, or a few of which only one writes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{
    Answer, Completion, Error, Holder, IdempotencyStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::{PgPool, Postgres};

use crate::failure::{self, Failure};
use crate::session::{Session, TRIES, others_were_faster};
use crate::sql::Sql;
use crate::statement::Statements;
use crate::{Table, wait};

/// The authoritative store: see the [crate's front page](crate). Clones share everything.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) pool: PgPool,
    pub(crate) table: Table,
    pub(crate) statements: Statements,
    pub(crate) sql: Sql,
    /// The same statements, which wait for locks for as long as the transaction around them says.
    pub(crate) sql_in_transaction: Sql,
}

/// How long a statement waits for another transaction's lock. Two reserves of one new key wait for each
/// other no longer than a commit takes; for longer waits only who meets a key that is reserved in a
/// transaction of somebody's own, and that is a conflict.
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(100);

/// How often a statement that has waited in vain looks again: on a machine that does much else a commit may
/// take longer, and what it wrote decides, not that it was slow.
const LOOKS_AGAIN: usize = 1;

/// What a caller is told who met a reservation that is not committed: it shows no lease.
const UNCOMMITTED_RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) fn blocked(terms: Terms) -> Outcome {
    Outcome::Conflict {
        retry_after: Some(UNCOMMITTED_RETRY_AFTER.min(terms.lease())),
    }
}

impl PostgresStore {
    pub(crate) fn of(pool: PgPool, table: Table, statements: Statements) -> Self {
        let sql = Sql::new(&table, Some(LOCK_WAIT));
        let sql_in_transaction = Sql::new(&table, None);
        Self(Arc::new(Inner {
            sql_in_transaction,
            pool,
            table,
            statements,
            sql,
        }))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The pool that it works on.
    pub fn pool(&self) -> &PgPool {
        &self.0.pool
    }
}

impl Inner {
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Error> {
        self.pool.acquire().await.map_err(failure::of_connection)
    }

    /// For autocommit statements.
    pub(crate) fn session<'a>(&'a self, connection: &'a mut PgConnection) -> Session<'a> {
        Session {
            connection,
            statements: self.statements,
            sql: &self.sql,
        }
    }

    /// For statements in a transaction.
    pub(crate) fn session_in<'a>(&'a self, connection: &'a mut PgConnection) -> Session<'a> {
        Session {
            sql: &self.sql_in_transaction,
            ..self.session(connection)
        }
    }
}

/// Calls a step of a session, on a connection of the pool, again as long as others were faster.
///
/// A macro, since a closure that borrows its argument in a future that must be `Send` cannot be told
/// from one that must not.
macro_rules! on_the_pool {
    ($store:ident.$step:ident($($argument:expr),*)) => {{
        let inner = $store.inner();
        let mut connection = inner.acquire().await?;
        let mut session = inner.session(&mut connection);
        let (mut tries, mut looks_again) = (TRIES, LOOKS_AGAIN);
        loop {
            match session.$step($($argument),*).await {
                Ok(Some(outcome)) => break Ok(outcome),
                Ok(None) | Err(Failure::Collided(_)) if tries > 0 => tries -= 1,
                Err(Failure::Blocked(_)) if looks_again > 0 => looks_again -= 1,
                Ok(None) => break Err(Failure::Other(others_were_faster())),
                Err(failure) => break Err(failure),
            }
        }
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for PostgresStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        match on_the_pool!(self.try_reserve(request)) {
            Ok(outcome) => Ok(outcome),
            // Nobody is in conflict with himself: what blocks may be an earlier send of this try.
            Err(Failure::Blocked(_)) if !request.resend => Ok(blocked(request.terms)),
            Err(failure) => Err(failure.into_error()),
        }
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        on_the_pool!(self.try_complete(holder, answer)).map_err(Failure::into_error)
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        on_the_pool!(self.try_renew(holder, terms, progress)).map_err(Failure::into_error)
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        on_the_pool!(self.try_abandon(holder)).map_err(Failure::into_error)
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        on_the_pool!(self.try_release(holder)).map_err(Failure::into_error)
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        wait::changed(&self.0, record, within).await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("table", &self.0.table)
            .field("statements", &self.0.statements)
            .finish_non_exhaustive()
    }
}
