//! The steps of the state machine on one connection: a statement that decides by itself, or a look and a
//! statement that writes if nothing has changed since.

use std::sync::Arc;
use std::time::Duration;

use idem_core::machine::{self, Change, Record, State};
use idem_core::{
    Answer, Completion, Error, Holder, OnLapse, Outcome, Progress, RecordId, ReserveRequest, Terms,
    Timestamp, Update,
};
use sqlx::postgres::{PgConnection, PgRow};

use crate::failure::{self, Failure};
use crate::row::{self, Found};
use crate::sql::Sql;
use crate::statement::{self, Statements, Value};

/// How often a call tries again when others were faster, before it says that it could not.
pub(crate) const TRIES: usize = 64;

/// Makes a write take another number of values than the others: see [`sql`](crate::sql).
const IDLE: Value = Value::Bool(true);

/// What a call says that was never fast enough.
pub(crate) fn others_were_faster() -> Error {
    Error::unavailable(
        "the record of the operation changes all the time",
        "others were faster at each try",
    )
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
            IDLE,
        ];
        let Some(row) = self.fetch(&self.sql.reserve, values).await? else {
            return Ok(None);
        };
        let made: bool = row::column(&row, "made")?;
        if made {
            return Ok(Some(Outcome::Reserved {
                attempt: 1,
                progress: None,
            }));
        }
        // Somebody else's insert won, and is too new for this statement to see.
        let seen: Option<i64> = row::column(&row, "revision")?;
        if seen.is_none() {
            return Ok(None);
        }
        let found = row::found(&row)?;
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
        Ok(self.fetch(&self.sql.put, values).await?.is_some())
    }

    pub(crate) async fn find(&mut self, record: &RecordId) -> Result<Option<Found>, Failure> {
        let values = vec![
            record.scope.as_bytes().into(),
            record.key.as_str().as_bytes().into(),
        ];
        match self.fetch(&self.sql.get, values).await? {
            None => Ok(None),
            Some(row) => row::found(&row).map(Some).map_err(Failure::Other),
        }
    }

    /// A holder's write, in one statement; or, where it did not fit, the record as it stands, for the
    /// machine to say why.
    async fn write(
        &mut self,
        sql: &Arc<str>,
        holder: &Holder,
        more: impl IntoIterator<Item = Value>,
    ) -> Result<Written, Failure> {
        let mut values = vec![
            holder.record.scope.as_bytes().into(),
            holder.record.key.as_str().as_bytes().into(),
            holder.token.as_bytes().as_slice().into(),
            Value::Int(holder.attempt.into()),
        ];
        values.extend(more);
        match self.fetch(sql, values).await? {
            Some(row) => Ok(Written::Done(row)),
            None => Ok(Written::Not(self.find(&holder.record).await?)),
        }
    }

    // Of each step: `None`, if the record changed between the write that did not fit and the look at why.

    pub(crate) async fn try_complete(
        &mut self,
        holder: &Holder,
        answer: &Answer,
    ) -> Result<Option<Completion>, Failure> {
        let (kept, body_length) = match answer {
            Answer::Full(response) => (Some(response.encode()), None),
            Answer::NotRetained { body_length, .. } => (None, Some(*body_length)),
        };
        let values = [
            Value::Int(answer.status().into()),
            Value::OptionalBytes(kept),
            Value::OptionalNumber(body_length),
        ];
        match self.write(&self.sql.complete, holder, values).await? {
            Written::Done(row) => {
                let left: i64 = row::column(&row, "remembered_for")?;
                let remembered_for = Duration::from_millis(left.try_into().unwrap_or(0));
                Ok(Some(Completion::Completed { remembered_for }))
            }
            Written::Not(found) => {
                let (record, now) = standing(&found);
                Ok(unless_it_fits(machine::complete(
                    record, holder, answer, now,
                )))
            }
        }
    }

    pub(crate) async fn try_renew(
        &mut self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Option<Update>, Failure> {
        let values = [
            Value::Int(millis(terms.lease())),
            Value::Int(millis(terms.retention())),
            Value::OptionalBytes(progress.map(|progress| progress.as_bytes().to_vec())),
            IDLE,
        ];
        match self.write(&self.sql.renew, holder, values).await? {
            Written::Done(_) => Ok(Some(Update::Done)),
            Written::Not(found) => {
                let (record, now) = standing(&found);
                Ok(unless_it_fits(machine::renew(
                    record, holder, terms, progress, now,
                )))
            }
        }
    }

    pub(crate) async fn try_abandon(&mut self, holder: &Holder) -> Result<Option<Update>, Failure> {
        match self.write(&self.sql.abandon, holder, []).await? {
            Written::Done(_) => Ok(Some(Update::Done)),
            Written::Not(found) => {
                let (record, now) = standing(&found);
                Ok(unless_it_fits(machine::abandon(record, holder, now)))
            }
        }
    }

    pub(crate) async fn try_release(&mut self, holder: &Holder) -> Result<Option<Update>, Failure> {
        match self.write(&self.sql.release, holder, [IDLE]).await? {
            Written::Done(_) => Ok(Some(Update::Done)),
            Written::Not(found) => {
                let (record, now) = standing(&found);
                Ok(unless_it_fits(machine::release(record, holder, now)))
            }
        }
    }
}

enum Written {
    Done(PgRow),
    /// It did not fit; this is what stands.
    Not(Option<Found>),
}

/// What the machine says of a write that did not fit; `None` if it would fit now.
fn unless_it_fits<T>((outcome, change): (T, Change)) -> Option<T> {
    (change == Change::Keep).then_some(outcome)
}

fn standing(found: &Option<Found>) -> (Option<&Record>, Timestamp) {
    match found {
        Some(found) => (Some(&found.record), found.now),
        None => (None, Timestamp::from_millis(0)),
    }
}

/// A duration of [`Terms`]: at most 2^53 ms.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn instant(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
