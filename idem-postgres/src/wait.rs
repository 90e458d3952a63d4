//! Waiting for a record to change: by looking again, with jitter.
//!
//! `LISTEN`/`NOTIFY` would tell at once, but a commit that notifies takes a lock of the whole cluster
//! until it is done: measured, two and a half times fewer commits a second under load, paid by every
//! completion whether anybody waits or not. Looking costs one read by primary key for each waiter, every
//! 50 ms at first and every 500 ms in the end, and no connection in between. Nothing rests on it.

use std::sync::Arc;
use std::time::Duration;

use idem_core::{Look, Polling, RecordId};
use sqlx::Row as _;

use crate::statement;
use crate::store::Inner;

const POLLING: Polling = Polling::new(Duration::from_millis(50), Duration::from_millis(500));

pub(crate) async fn changed(store: &Arc<Inner>, record: &RecordId, within: Duration) {
    let look = || async {
        // In a task of its own: whoever begins to wait and then asks the store, as one should, does not
        // poll this future meanwhile, and it must not sit on the connection that the question needs.
        let looking = tokio::spawn(look(Arc::clone(store), record.clone()));
        match looking.await {
            Ok(Ok(found)) => found,
            _ => Look::Failed,
        }
    };
    POLLING.until_changed(within, look).await;
}

/// The record by token and revision.
async fn look(store: Arc<Inner>, record: RecordId) -> Result<Look<(Vec<u8>, i64)>, sqlx::Error> {
    let mut connection = store.pool.acquire().await?;
    let values = vec![
        record.scope.as_bytes().into(),
        record.key.as_str().as_bytes().into(),
    ];
    let sql = &store.sql.revision;
    let row = statement::fetch(&mut connection, store.statements, sql, values).await?;
    let Some(row) = row else {
        // Whoever waits may reserve it.
        return Ok(Look::Changed);
    };
    // It may have been written long before it was committed.
    if row.try_get("has_ended")? {
        return Ok(Look::Changed);
    }
    let age: i64 = row.try_get("age")?;
    Ok(Look::Found {
        write: (row.try_get("token")?, row.try_get("revision")?),
        age: Duration::from_millis(age.try_into().unwrap_or(0)),
    })
}
