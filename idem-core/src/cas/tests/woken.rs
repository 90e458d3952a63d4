//! Waiting for a record to be written: law W1.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::toy::LostAnswer;
use super::{World, record, request, reserve, terms};
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
fn poll<T>(future: &mut (impl Future<Output = T> + Unpin), flag: &Arc<Flag>) -> bool {
    let waker = Waker::from(Arc::clone(flag));
    let mut context = Context::from_waker(&waker);
    matches!(
        std::pin::Pin::new(future).poll(&mut context),
        Poll::Ready(_)
    )
}

fn woken(flag: &Flag) -> bool {
    flag.0.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn w1_every_write_through_the_store_wakes() {
    for write in 0..5 {
        let store = World::<true>::default().store().poll_interval(LONG);
        let id = record("k");
        let holder = if write > 0 {
            Some(reserve(&store, "k", OnLapse::RunAgain).await)
        } else {
            None
        };
        let mut changed = store.changed(&id, LONG);
        let flag = Arc::default();
        assert!(!poll(&mut changed, &flag));
        reserve(&store, "another", OnLapse::RunAgain).await;
        assert!(!woken(&flag), "by another record");
        match (write, &holder) {
            (1, Some(holder)) => {
                drop(
                    store
                        .complete(holder, &Response::new(201).into())
                        .await
                        .unwrap(),
                );
            }
            (2, Some(holder)) => drop(store.renew(holder, terms(), None).await.unwrap()),
            (3, Some(holder)) => drop(store.abandon(holder).await.unwrap()),
            (_, Some(holder)) => drop(store.release(holder).await.unwrap()),
            (_, None) => drop(reserve(&store, "k", OnLapse::RunAgain).await),
        }
        assert!(woken(&flag) && poll(&mut changed, &flag), "write {write}");
    }
}

#[tokio::test(start_paused = true)]
async fn w1_a_write_whose_answer_is_lost_wakes() {
    let store = World::<true>::default().store().poll_interval(LONG);
    let holder = reserve(&store, "k", OnLapse::RunAgain).await;
    let mut changed = store.changed(&holder.record, LONG);
    let flag = Arc::default();
    assert!(!poll(&mut changed, &flag));
    *store.engine().lose.lock().unwrap() = Some(LostAnswer::Applied);
    store.release(&holder).await.unwrap_err();
    assert!(woken(&flag) && poll(&mut changed, &flag));
}

#[tokio::test(start_paused = true)]
async fn w1_a_write_whose_future_is_dropped_wakes() {
    for seed in 0..20 {
        let world = World::<true>::default();
        let store = world.store().poll_interval(LONG);
        let holder = reserve(&store, "k", OnLapse::RunAgain).await;
        let store = world
            .store_in(world.engine().yielding(seed))
            .poll_interval(LONG);
        let mut changed = store.changed(&holder.record, LONG);
        let flag = Arc::default();
        assert!(!poll(&mut changed, &flag));
        let mut release = store.release(&holder);
        while world.data.value(&holder.record).is_some() {
            poll(&mut release, &Arc::default());
        }
        drop(release);
        assert!(woken(&flag) && poll(&mut changed, &flag), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn w1_what_another_process_writes_is_seen_within_the_poll_interval() {
    let world = World::<true>::default();
    let store = world.store();
    let mut waited = Vec::new();
    for _ in 0..50 {
        let asked = Instant::now();
        store.changed(&record("k"), LONG).await;
        waited.push(asked.elapsed());
    }
    let (half, whole) = (Duration::from_millis(50), Duration::from_millis(102));
    assert!(waited.iter().all(|time| (half..whole).contains(time)));
    assert!(
        waited.iter().any(|time| *time != waited[0]),
        "not by chance"
    );

    let store = world.store().poll_interval(Duration::ZERO);
    store.changed(&record("k"), LONG).await;
}

#[tokio::test(start_paused = true)]
async fn it_resolves_within_the_time_it_was_given_and_leaves_nothing_behind() {
    let store = World::<true>::default()
        .store()
        .poll_interval(Duration::MAX);
    let asked = Instant::now();
    store.changed(&record("k"), LONG).await;
    assert_eq!(asked.elapsed().as_secs(), LONG.as_secs());
    store.changed(&record("k"), Duration::ZERO).await;

    let id = record("k");
    let mut dropped = store.changed(&id, Duration::MAX);
    assert!(!poll(&mut dropped, &Arc::default()));
    assert!(!store.waiters.lock().unwrap().is_empty());
    drop(dropped);
    assert!(store.waiters.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_among_threads() {
    let store = Arc::new(World::<true>::default().store().poll_interval(LONG));
    for round in 0..200 {
        let key = format!("{round}");
        let holder = reserve(&*store, &key, OnLapse::RunAgain).await;
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let (store, id) = (Arc::clone(&store), record(&key));
                tokio::spawn(async move {
                    // As the executor does: watch, look, wait.
                    loop {
                        let mut changed = store.changed(&id, LONG);
                        std::future::poll_fn(|cx| {
                            let _ = changed.as_mut().poll(cx);
                            Poll::Ready(())
                        })
                        .await;
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
        let answer = Response::new(201).into();
        store.complete(&holder, &answer).await.unwrap();
        for waiter in waiters {
            // An hour would pass otherwise.
            let ended = tokio::time::timeout(Duration::from_secs(60), waiter).await;
            ended.unwrap().unwrap();
        }
    }
    assert!(store.waiters.lock().unwrap().is_empty());
}
