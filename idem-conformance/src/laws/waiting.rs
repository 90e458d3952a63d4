//! Waiting for a record to change: W1.
//!
//! These are the only laws that look at real time. A store that watches wakes at once and one that asks
//! again and again within moments, so five seconds tell either from one that lost the wake-up.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use idem_core::{Outcome, RecordId};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::check::{assert_completed, assert_replay};
use crate::fixture::{
    HOUR, a_try, abandon, answer, ask, complete, progress, record, release, renew, reserve, save,
};
use crate::{Harness, Store};

/// The longest that a wake-up may take.
const PROMPT: Duration = Duration::from_secs(5);

/// A wait that has begun.
struct Wait<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> Wait<'a> {
    async fn begin(store: &'a dyn Store, record: &'a RecordId) -> Self {
        let mut changed = store.changed(record, HOUR);
        let early = poll_fn(|cx| Poll::Ready(changed.as_mut().poll(cx).is_ready())).await;
        Self((!early).then_some(changed))
    }

    async fn resolves(self) -> bool {
        match self.0 {
            Some(changed) => timeout(PROMPT, changed).await.is_ok(),
            // It may resolve early.
            None => true,
        }
    }
}

/// W1
pub async fn w1_every_kind_of_write_wakes(harness: &dyn Harness) {
    let store = &*harness.store();
    let record = record("scope", "k");

    let wait = Wait::begin(store, &record).await;
    let first = reserve(store, &a_try("k")).await;
    assert!(wait.resolves().await, "no wake-up by a reservation");

    let wait = Wait::begin(store, &record).await;
    release(store, &first).await;
    assert!(wait.resolves().await, "no wake-up by a release");

    let first = reserve(store, &a_try("k")).await;
    let wait = Wait::begin(store, &record).await;
    renew(store, &first).await;
    assert!(wait.resolves().await, "no wake-up by a renewal");

    let wait = Wait::begin(store, &record).await;
    save(store, &first, &progress("half way")).await;
    assert!(wait.resolves().await, "no wake-up by saved progress");

    let wait = Wait::begin(store, &record).await;
    abandon(store, &first).await;
    assert!(wait.resolves().await, "no wake-up by an abandonment");

    let wait = Wait::begin(store, &record).await;
    let second = reserve(store, &a_try("k")).await;
    assert!(wait.resolves().await, "no wake-up by a takeover");

    let wait = Wait::begin(store, &record).await;
    complete(store, &second, "paid").await;
    assert!(wait.resolves().await, "no wake-up by a completion");
}

/// W1
pub async fn w1_everyone_who_waits_is_woken(harness: &dyn Harness) {
    let store = harness.store();
    let holder = reserve(&*store, &a_try("k")).await;
    let other = reserve(&*store, &a_try("other")).await;
    // One who gave up must not take the wake-up of the others along.
    drop(Wait::begin(&*store, &holder.record).await);
    let (begun, mut all_begun) = tokio::sync::mpsc::channel(50);
    let mut waiting = JoinSet::new();
    for _ in 0..50 {
        let (store, record, begun) = (Arc::clone(&store), holder.record.clone(), begun.clone());
        waiting.spawn(async move {
            let wait = Wait::begin(&*store, &record).await;
            begun.send(()).await.expect("the law still runs");
            wait.resolves().await
        });
    }
    for _ in 0..50 {
        all_begun.recv().await;
    }
    complete(&*store, &other, "not what they wait for").await;
    complete(&*store, &holder, "paid").await;
    let woken = waiting.join_all().await;
    let slept_on = woken.iter().filter(|woken| !**woken).count();
    assert_eq!(slept_on, 0, "of fifty who waited");
}

/// W1
pub async fn w1_no_wake_up_is_lost(harness: &dyn Harness) {
    for round in 0..25 {
        let store = harness.store();
        let key = format!("{round}");
        let holder = reserve(&*store, &a_try(&key)).await;
        let mut waiters = JoinSet::new();
        for waiter in 0..8 {
            let (store, key) = (Arc::clone(&store), key.clone());
            waiters.spawn(async move { wait_for_the_answer(&*store, &key, waiter).await });
        }
        // At any moment of their looking and waiting.
        pause(round % 8).await;
        assert_completed(&complete(&*store, &holder, &key).await);
        for outcome in waiters.join_all().await {
            assert_replay(&outcome, &answer(&key));
        }
    }
}

/// First begin to wait, then look: what is written after the look ends the wait.
async fn wait_for_the_answer(store: &dyn Store, key: &str, waiter: usize) -> Outcome {
    let record = record("scope", key);
    loop {
        let wait = Wait::begin(store, &record).await;
        match ask(store, &a_try(key)).await {
            Outcome::Conflict { .. } => {}
            other => return other,
        }
        pause(waiter).await;
        assert!(wait.resolves().await, "a wake-up was lost");
        // Where a refusal is a write, it ends its own wait: the others must get their turn.
        pause(1).await;
    }
}

/// Lets others go first, so many times.
async fn pause(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

/// W1
pub async fn w1_a_wait_ends_in_its_time(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    for record in [&holder.record, &record("scope", "vacant")] {
        for within in [0, 1, 50] {
            let changed = store.changed(record, Duration::from_millis(within));
            let ended = timeout(PROMPT, changed).await.is_ok();
            assert!(ended, "it was to end within {within} ms");
        }
    }
}
