//! Waiting for a record to be written: law W1.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::{LEASE, record, request, reserve, store};
use crate::{IdempotencyStore, OnLapse, Response};

const LONG: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls once, and says whether it is ready.
fn poll(future: &mut (impl Future<Output = ()> + Unpin), flag: &Arc<Flag>) -> bool {
    let waker = Waker::from(Arc::clone(flag));
    std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker)) == Poll::Ready(())
}

#[tokio::test(start_paused = true)]
async fn every_write_after_the_first_poll_wakes() {
    for write in 0..5 {
        let (store, _) = store();
        let id = record("k");
        if write > 0 {
            let holder = reserve(&store, "k", OnLapse::RunAgain).await;
            let mut changed = store.changed(&id, LONG);
            let flag = Arc::default();
            assert!(!poll(&mut changed, &flag));
            match write {
                1 => drop(store.complete(&holder, &Response::new(201).into()).await),
                2 => drop(store.renew(&holder, request("-").terms, None).await),
                3 => drop(store.abandon(&holder).await),
                _ => drop(store.release(&holder).await),
            }
            assert!(flag.0.load(Ordering::SeqCst), "write {write} wakes");
            assert!(poll(&mut changed, &flag), "write {write} is seen");
        } else {
            let mut changed = store.changed(&id, LONG);
            let flag = Arc::default();
            assert!(!poll(&mut changed, &flag));
            reserve(&store, "k", OnLapse::RunAgain).await;
            assert!(flag.0.load(Ordering::SeqCst) && poll(&mut changed, &flag));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_nothing_wakes_nobody() {
    let (store, _) = store();
    let id = record("k");
    reserve(&store, "k", OnLapse::RunAgain).await;
    let mut changed = store.changed(&id, LONG);
    let flag = Arc::default();
    assert!(!poll(&mut changed, &flag));
    store.reserve(&request("k")).await.unwrap();
    reserve(&store, "another", OnLapse::RunAgain).await;
    assert!(!flag.0.load(Ordering::SeqCst) && !poll(&mut changed, &flag));
}

#[tokio::test(start_paused = true)]
async fn only_the_last_waker_counts_and_a_dropped_waiter_leaves_nothing() {
    let (store, _) = store();
    let id = record("k");
    let mut changed = store.changed(&id, LONG);
    let mut other = store.changed(&id, LONG);
    let (first, last) = (Arc::default(), Arc::default());
    assert!(!poll(&mut changed, &first));
    assert!(!poll(&mut changed, &last));
    assert!(!poll(&mut other, &first));
    drop(other);
    let holder = reserve(&store, "k", OnLapse::RunAgain).await;
    assert!(!first.0.load(Ordering::SeqCst) && last.0.load(Ordering::SeqCst));
    drop(changed);
    assert!(store.nobody_waits());
    store.release(&holder).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_resolves_within_the_time_it_was_given() {
    let (store, _) = store();
    let asked = Instant::now();
    store.changed(&record("k"), LEASE).await;
    assert_eq!(asked.elapsed().as_secs(), LEASE.as_secs());
    assert!(store.nobody_waits());
    store.changed(&record("k"), Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_among_threads() {
    let (store, _) = store();
    for round in 0..500 {
        let key = format!("{round}");
        let holder = reserve(&store, &key, OnLapse::RunAgain).await;
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let (store, id) = (store.clone(), record(&key));
                tokio::spawn(async move {
                    // As the executor does: watch, look, wait.
                    loop {
                        let mut changed = store.changed(&id, LONG);
                        let done = std::future::poll_fn(|cx| {
                            Poll::Ready(changed.as_mut().poll(cx).is_ready())
                        });
                        done.await;
                        let outcome = store.reserve(&request(id.key.as_str())).await.unwrap();
                        if matches!(outcome, crate::Outcome::Replay(_)) {
                            return;
                        }
                        changed.await;
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        store
            .complete(&holder, &Response::new(201).into())
            .await
            .unwrap();
        for waiter in waiters {
            // An hour would pass otherwise.
            tokio::time::timeout(Duration::from_secs(60), waiter)
                .await
                .unwrap()
                .unwrap();
        }
    }
    assert!(store.nobody_waits());
}
