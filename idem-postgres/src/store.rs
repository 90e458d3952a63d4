//! The store: each call is one autocommit statement, or a few of which only one writes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::machine::{self, Change, Record, State};
use idem_core::{
    Answer, Completion, Error, Holder, IdempotencyStore, OnLapse, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};
use sqlx::PgPool;
use sqlx::postgres::{PgConnection, PgRow};

use crate::failure::{self, Failure};
use crate::row::{self, Found};
use crate::sql::Sql;
use crate::statement::{self, Statements, Value};
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

/// How often a call tries again when others were faster, before it says that it could not.
pub(crate) const TRIES: usize = 64;

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

/// One way to the server: a connection, how statements reach it, and which.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a mut PgConnection,
    pub(crate) statements: Statements,
    pub(crate) sql: &'a Sql,
}

impl Session<'_> {
    async fn fetch(
        &mut self,
        sql: &Arc<str>,
        values: Vec<Value>,
    ) -> Result<Option<PgRow>, Failure> {
        statement::fetch(self.connection, self.statements, sql, values)
            .await
            .map_err(failure::of_statement)
    }

    /// One look and, where the machine wants something written, one write. `None`: somebody else was
    /// faster.
    pub(crate) async fn try_reserve(
        &mut self,
        request: &ReserveRequest,
    ) -> Result<Option<Outcome>, Failure> {
        let record = &request.operation.record;
        let fingerprint = &request.operation.fingerprint;
        let values = vec![
            record.scope.as_bytes().into(),
            record.key.as_str().as_bytes().into(),
            fingerprint.as_bytes().as_slice().into(),
            Value::Int(fingerprint.version().into()),
            request.token.as_bytes().as_slice().into(),
            Value::Bool(request.on_lapse == OnLapse::Hold),
            Value::Int(millis(request.terms.lease())),
            Value::Int(millis(request.terms.retention())),
        ];
        let sql = Arc::clone(&self.sql.reserve);
        let Some(row) = self.fetch(&sql, values).await? else {
            return Ok(None);
        };
        let made: bool = row::column(&row, "made").map_err(Failure::Other)?;
        if made {
            return Ok(Some(Outcome::Reserved {
                attempt: 1,
                progress: None,
            }));
        }
        // Somebody else's insert won, and is too new for this statement to see.
        let seen: Option<i64> = row::column(&row, "revision").map_err(Failure::Other)?;
        if seen.is_none() {
            return Ok(None);
        }
        let found = row::found(&row).map_err(Failure::Other)?;
        match machine::reserve(Some(&found.record), request, found.now) {
            (outcome, Change::Put(next)) => {
                let put = self.put(record, &found, &next).await?;
                Ok(put.then_some(outcome))
            }
            (outcome, _) => Ok(Some(outcome)),
        }
    }

    /// Writes `next` if the record is still the one that was found.
    async fn put(
        &mut self,
        record: &RecordId,
        found: &Found,
        next: &Record,
    ) -> Result<bool, Failure> {
        let State::InFlight(flight) = &next.state else {
            let message = "the machine reserved what is not in flight";
            return Err(Failure::Other(Error::corrupt(message)));
        };
        let purge_at = machine::expires_at(next).map(|at| instant(at.as_millis()));
        let values = vec![
            record.scope.as_bytes().into(),
            record.key.as_str().as_bytes().into(),
            found.record.token.as_bytes().as_slice().into(),
            Value::Int(found.record.attempt.into()),
            Value::Int(found.revision),
            Value::Int(found.lease_ends_at),
            next.fingerprint.as_bytes().as_slice().into(),
            Value::Int(next.fingerprint.version().into()),
            next.token.as_bytes().as_slice().into(),
            Value::Int(next.attempt.into()),
            Value::Bool(next.on_lapse == OnLapse::Hold),
            Value::Bool(flight.started),
            Value::Int(instant(next.first_reserved.as_millis())),
            Value::Int(instant(next.last_reserved.as_millis())),
            Value::Int(instant(flight.lease_end.as_millis())),
            Value::Int(millis(next.retention)),
            Value::Int(instant(next.retention_end.as_millis())),
            Value::OptionalInt(purge_at),
            Value::OptionalBytes(flight.progress.as_ref().map(|p| p.as_bytes().to_vec())),
        ];
        let sql = Arc::clone(&self.sql.put);
        Ok(self.fetch(&sql, values).await?.is_some())
    }

    pub(crate) async fn find(&mut self, record: &RecordId) -> Result<Option<Found>, Failure> {
        let values = vec![
            record.scope.as_bytes().into(),
            record.key.as_str().as_bytes().into(),
        ];
        let sql = Arc::clone(&self.sql.get);
        match self.fetch(&sql, values).await? {
            None => Ok(None),
            Some(row) => row::found(&row).map(Some).map_err(Failure::Other),
        }
    }

    /// `None`: the record changed between the write that did not fit and the look at why.
    pub(crate) async fn try_complete(
        &mut self,
        holder: &Holder,
        answer: &Answer,
    ) -> Result<Option<Completion>, Failure> {
        let mut values = held(holder);
        values.push(Value::Int(answer.status().into()));
        match answer {
            Answer::Full(response) => {
                values.push(Value::OptionalBytes(Some(response.encode())));
                values.push(Value::OptionalNumber(None));
            }
            Answer::NotRetained { body_length, .. } => {
                values.push(Value::OptionalBytes(None));
                values.push(Value::OptionalNumber(Some(*body_length)));
            }
        }
        let sql = Arc::clone(&self.sql.complete);
        if let Some(row) = self.fetch(&sql, values).await? {
            let left: i64 = row::column(&row, "remembered_for").map_err(Failure::Other)?;
            let remembered_for = Duration::from_millis(left.try_into().unwrap_or(0));
            return Ok(Some(Completion::Completed { remembered_for }));
        }
        let found = self.find(&holder.record).await?;
        let (record, now) = standing(&found);
        match machine::complete(record, holder, answer, now) {
            (completion, Change::Keep) => Ok(Some(completion)),
            _ => Ok(None),
        }
    }

    pub(crate) async fn try_renew(
        &mut self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Option<Update>, Failure> {
        let mut values = held(holder);
        values.push(Value::Int(millis(terms.lease())));
        values.push(Value::Int(millis(terms.retention())));
        values.push(Value::OptionalBytes(
            progress.map(|progress| progress.as_bytes().to_vec()),
        ));
        let sql = Arc::clone(&self.sql.renew);
        if self.fetch(&sql, values).await?.is_some() {
            return Ok(Some(Update::Done));
        }
        let found = self.find(&holder.record).await?;
        let (record, now) = standing(&found);
        match machine::renew(record, holder, terms, progress, now) {
            (update, Change::Keep) => Ok(Some(update)),
            _ => Ok(None),
        }
    }

    async fn try_abandon(&mut self, holder: &Holder) -> Result<Option<Update>, Failure> {
        let sql = Arc::clone(&self.sql.abandon);
        if self.fetch(&sql, held(holder)).await?.is_some() {
            return Ok(Some(Update::Done));
        }
        let found = self.find(&holder.record).await?;
        let (record, now) = standing(&found);
        match machine::abandon(record, holder, now) {
            (update, Change::Keep) => Ok(Some(update)),
            _ => Ok(None),
        }
    }

    async fn try_release(&mut self, holder: &Holder) -> Result<Option<Update>, Failure> {
        let sql = Arc::clone(&self.sql.release);
        if self.fetch(&sql, held(holder)).await?.is_some() {
            return Ok(Some(Update::Done));
        }
        let found = self.find(&holder.record).await?;
        let (record, now) = standing(&found);
        match machine::release(record, holder, now) {
            (update, Change::Keep) => Ok(Some(update)),
            _ => Ok(None),
        }
    }
}

/// `$1` to `$4` of a holder's writes.
fn held(holder: &Holder) -> Vec<Value> {
    vec![
        holder.record.scope.as_bytes().into(),
        holder.record.key.as_str().as_bytes().into(),
        holder.token.as_bytes().as_slice().into(),
        Value::Int(holder.attempt.into()),
    ]
}

fn standing(found: &Option<Found>) -> (Option<&Record>, idem_core::Timestamp) {
    match found {
        Some(found) => (Some(&found.record), found.now),
        None => (None, idem_core::Timestamp::from_millis(0)),
    }
}

/// A duration of [`Terms`]: at most 2^53 ms.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn instant(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// Calls a step of a session, on a connection of the pool, again as long as others were faster.
///
/// A macro, since a closure that borrows its argument in a future that must be `Send` cannot be told
/// from one that must not.
macro_rules! on_the_pool {
    ($store:ident.$step:ident($($argument:expr),*)) => {{
        let inner = $store.inner();
        let acquired = inner.pool.acquire().await;
        let mut connection = acquired.map_err(failure::of_connection)?;
        let mut session = Session {
            connection: &mut connection,
            statements: inner.statements,
            sql: &inner.sql,
        };
        let mut tries = TRIES;
        loop {
            match session.$step($($argument),*).await {
                Ok(Some(outcome)) => break Ok(outcome),
                Ok(None) | Err(Failure::Collided(_)) if tries > 0 => tries -= 1,
                Ok(None) => break Err(Failure::Other(Error::unavailable(
                    "the record of the operation changes all the time",
                    "others were faster at each try",
                ))),
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
