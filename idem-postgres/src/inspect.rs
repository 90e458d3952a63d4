//! What operators and the janitor ask.

use async_trait::async_trait;
use idem_core::machine::{self, lapsed_since};
use idem_core::{Cursor, Error, Inspect, LapsedPage, Purged, RecordId, RecordInfo};

use crate::failure::{self, Failure};
use crate::session::TRIES;
use crate::statement::{Value, fetch, fetch_all};
use crate::{PostgresStore, row};

/// - `get` reads one row by its primary key.
/// - `lapsed` reads the whole table for each page: an index on the end of the lease would make every
///   renewal and completion write to it.
/// - `purge_expired` follows the index on `purge_at`, skips what others have locked, and deletes by a
///   condition in the deleting statement.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for PostgresStore {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        let inner = self.inner();
        let mut connection = inner.acquire().await?;
        let found = inner.session(&mut connection).find(record).await;
        let found = found.map_err(Failure::into_error)?;
        Ok(found.and_then(|found| machine::view(record, &found.record, found.now)))
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let inner = self.inner();
        let (lease, scope, key) = match after {
            Some(cursor) => read_cursor(cursor)?,
            None => (i64::MIN, Vec::new(), Vec::new()),
        };
        let one_more = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let values = vec![
            Value::Int(lease),
            Value::Bytes(scope),
            Value::Bytes(key),
            Value::Int(one_more),
        ];
        let mut connection = inner.acquire().await?;
        let rows = fetch_all(&mut connection, inner.statements, &inner.sql.lapsed, values)
            .await
            .map_err(|error| failure::of_statement(error).into_error())?;
        let more = rows.len() > limit;
        let mut records = Vec::with_capacity(rows.len().min(limit));
        let mut last = None;
        for row in rows.iter().take(limit) {
            let found = row::found(row)?;
            let id = row::record_id(row)?;
            if let (Some(_), Some(info)) = (
                lapsed_since(&found.record, found.now),
                machine::view(&id, &found.record, found.now),
            ) {
                records.push(info);
            }
            last = Some((found.lease_ends_at, id));
        }
        let next = last.filter(|_| more).map(|(at, id)| cursor(at, &id));
        Ok(LapsedPage { records, next })
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let inner = self.inner();
        let limit = i64::try_from(limit)
            .unwrap_or(i64::MAX - 1)
            .min(i64::MAX - 1);
        let mut connection = inner.acquire().await?;
        let mut tries = TRIES;
        let row = loop {
            let values = vec![Value::Int(limit)];
            match fetch(&mut connection, inner.statements, &inner.sql.purge, values).await {
                Ok(row) => break row,
                Err(error) => match failure::of_statement(error) {
                    // Under a strict isolation level a reserve beside it is in its way.
                    Failure::Collided(_) if tries > 0 => tries -= 1,
                    failure => return Err(failure.into_error()),
                },
            }
        };
        let row = row.ok_or_else(|| Error::corrupt("a purge without a result"))?;
        let removed: i64 = row::column(&row, "removed")?;
        let due: i64 = row::column(&row, "due")?;
        Ok(Purged {
            removed: removed.try_into().unwrap_or(0),
            more: due > removed,
        })
    }
}

/// The end of the lease, the length of the scope, the scope, the key: strictly after this.
fn cursor(lease_ends_at: i64, id: &RecordId) -> Cursor {
    let scope = id.scope.as_bytes();
    let mut bytes = lease_ends_at.to_be_bytes().to_vec();
    // A scope has at most 255 bytes.
    bytes.push(u8::try_from(scope.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(scope);
    bytes.extend_from_slice(id.key.as_str().as_bytes());
    Cursor::from_bytes(bytes)
}

fn read_cursor(cursor: &Cursor) -> Result<(i64, Vec<u8>, Vec<u8>), Error> {
    let read = || {
        let (lease, rest) = cursor.as_bytes().split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (scope, key) = rest.split_at_checked(usize::from(*length))?;
        Some((i64::from_be_bytes(*lease), scope.to_vec(), key.to_vec()))
    };
    read().ok_or_else(|| Error::invalid("the cursor is not one of this store"))
}
