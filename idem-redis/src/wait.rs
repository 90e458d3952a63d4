//! Waiting for a record to change: by looking again, with jitter.
//!
//! A notification would cost every write something, whether anybody waits or not: a `PUBLISH` in each script,
//! which a cluster sends to all of its nodes, or a setting of the server. Looking costs one small read for each
//! waiter, every 25 ms at first and every 250 ms in the end, on the connection that is there anyway. Nothing rests
//! on it.

use std::time::Duration;

use idem_core::{Look, Polling, RecordId};

use crate::RedisStore;
use crate::reply;

const POLLING: Polling = Polling::new(Duration::from_millis(25), Duration::from_millis(250));

pub(crate) async fn changed(store: &RedisStore, record: &RecordId, within: Duration) {
    let look = || async {
        let seen = store.run(&store.steps.seen, record, &[]).await;
        match seen.and_then(reply::seen) {
            Ok(Some((write, age))) => Look::Found { write, age },
            // Whoever waits may reserve it.
            Ok(None) => Look::Changed,
            Err(_) => Look::Failed,
        }
    };
    POLLING.until_changed(within, look).await;
}
