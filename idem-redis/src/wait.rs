//! Waiting for a record to change: by looking again, with jitter.
//!
//! A notification would cost every write something, whether anybody waits or not: a `PUBLISH` in each script,
//! which a cluster sends to all of its nodes, or a setting of the server. Looking costs one small read for each
//! waiter, every 25 ms at first and every 250 ms in the end, on the connection that is there anyway. Nothing rests
//! on it.

use std::time::Duration;

use idem_core::RecordId;
use tokio::time::{Instant, sleep, timeout};

use crate::RedisStore;
use crate::reply;

const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Instants are in whole milliseconds, and two clocks are read.
const ROUNDING: Duration = Duration::from_millis(3);

pub(crate) async fn changed(store: &RedisStore, record: &RecordId, within: Duration) {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut first: Option<Vec<u8>> = None;
    while began.elapsed() < within {
        let left = within.saturating_sub(began.elapsed());
        let looking = store.run(&store.steps.seen, record, &[]);
        // A look that fails says nothing; the caller asks the store itself in the end.
        if let Ok(Ok(Ok(looked))) = timeout(left, looking).await.map(|it| it.map(reply::seen)) {
            // Vacant: whoever waits may reserve it.
            let Some((write, age)) = looked else { return };
            match &first {
                Some(first) if *first != write => return,
                // It may have been written since this wait began and before this look. To resolve early
                // does no harm; to miss a write would.
                None if age <= began.elapsed() + ROUNDING => return,
                Some(_) => {}
                None => first = Some(write),
            }
        }
        let left = within.saturating_sub(began.elapsed());
        sleep(jittered(pause).min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Between three quarters and all of it, so that waiters do not look in step.
fn jittered(pause: Duration) -> Duration {
    let [random, ..] = *idem_core::Token::random().as_bytes();
    pause - pause / 4 * u32::from(random) / 256
}
