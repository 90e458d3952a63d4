//! Waiting for a record to change: by looking again, with jitter.
//!
//! `LISTEN`/`NOTIFY` would tell at once, but a commit that notifies takes a lock of the whole cluster
//! until it is done: measured, two and a half times fewer commits a second under load, paid by every
//! completion whether anybody waits or not. Looking costs one read by primary key for each waiter, every
//! 50 ms at first and every 500 ms in the end, and no connection in between. Nothing rests on it.

use std::sync::Arc;
use std::time::Duration;

use idem_core::RecordId;
use sqlx::Row as _;
use tokio::time::{Instant, sleep, timeout};

use crate::statement;
use crate::store::Inner;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Instants are in whole milliseconds, and two clocks are read.
const ROUNDING: Duration = Duration::from_millis(3);

/// A record that was looked at.
#[derive(PartialEq, Eq)]
struct Seen {
    token: Vec<u8>,
    revision: i64,
    /// Not in flight any more. It may have been written long before it was committed.
    has_ended: bool,
}

pub(crate) async fn changed(store: &Arc<Inner>, record: &RecordId, within: Duration) {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut first: Option<Seen> = None;
    while began.elapsed() < within {
        let left = within.saturating_sub(began.elapsed());
        // In a task of its own: whoever begins to wait and then asks the store, as one should, does not
        // poll this future meanwhile, and it must not sit on the connection that the question needs.
        let looking = tokio::spawn(look(Arc::clone(store), record.clone()));
        // A look that fails says nothing; the caller asks the store itself in the end.
        if let Ok(Ok(Ok(looked))) = timeout(left, looking).await {
            // Vacant: whoever waits may reserve it.
            let Some((seen, age)) = looked else { return };
            match &first {
                // Whoever waits has something to do at once.
                _ if seen.has_ended => return,
                Some(first) if *first != seen => return,
                // It may have been written since this wait began and before this look. To resolve early
                // does no harm; to miss a write would.
                None if age <= began.elapsed() + ROUNDING => return,
                Some(_) => {}
                None => first = Some(seen),
            }
        }
        let left = within.saturating_sub(began.elapsed());
        sleep(jittered(pause).min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The record, and how long ago it was written by the server's clock.
async fn look(
    store: Arc<Inner>,
    record: RecordId,
) -> Result<Option<(Seen, Duration)>, sqlx::Error> {
    let mut connection = store.pool.acquire().await?;
    let values = vec![
        record.scope.as_bytes().into(),
        record.key.as_str().as_bytes().into(),
    ];
    let sql = &store.sql.revision;
    let row = statement::fetch(&mut connection, store.statements, sql, values).await?;
    let Some(row) = row else { return Ok(None) };
    let seen = Seen {
        token: row.try_get("token")?,
        revision: row.try_get("revision")?,
        has_ended: row.try_get("has_ended")?,
    };
    let age: i64 = row.try_get("age")?;
    Ok(Some((
        seen,
        Duration::from_millis(age.try_into().unwrap_or(0)),
    )))
}

/// Between three quarters and all of it, so that waiters do not look in step.
fn jittered(pause: Duration) -> Duration {
    let [random, ..] = *idem_core::Token::random().as_bytes();
    pause - pause / 4 * u32::from(random) / 256
}
