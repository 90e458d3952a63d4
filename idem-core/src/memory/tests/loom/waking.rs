//! Wakers are foreign code: waking or dropping one may drop a task, and with it another waiter of
//! the same shard. That must not find the shard locked.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};

use super::*;
use crate::machine;
use crate::memory::lock;
use crate::waiters::Waiting;

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A waiter that owns its store, as a task does.
fn wait(store: &MemoryStore) -> Wait {
    let store = store.clone();
    Box::pin(async move {
        let id = record("k");
        let mut waiting = Waiting::new(store.shard(&id), &id);
        poll_fn(|cx| waiting.poll(cx)).await;
    })
}

fn poll(wait: &mut Wait, waker: &Waker) {
    let _ = wait.as_mut().poll(&mut Context::from_waker(waker));
}

/// The waker of a task that owns a listed waiter, and is gone with its last waker.
struct Owner(#[expect(dead_code, reason = "it is only dropped")] Mutex<Wait>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

fn owner(store: &MemoryStore) -> Waker {
    let mut owned = wait(store);
    poll(&mut owned, Waker::noop());
    Waker::from(Arc::new(Owner(Mutex::new(owned))))
}

type Complete = fn(&MemoryStore, &Holder, &Answer) -> Completion;

/// A waiter with such a waker is written to, polled with another waker, and dropped.
fn no_waker_goes_under_the_lock(by: Complete) {
    let (store, _) = held();
    let mut waiting = wait(&store);
    poll(&mut waiting, &owner(&store));
    let writer = {
        let store = store.clone();
        thread::spawn(move || by(&store, &holder(1, 1), &answer("paid")))
    };
    let other = {
        let store = store.clone();
        thread::spawn(move || {
            let mut other = wait(&store);
            poll(&mut other, &owner(&store));
        })
    };
    // Displaced, unless the writer took it; then dropped.
    poll(&mut waiting, &owner(&store));
    drop(waiting);
    writer.join().unwrap();
    other.join().unwrap();
    assert!(store.nobody_waits());
}

#[test]
fn a_waker_that_drops_another_waiter_finds_the_shard_unlocked() {
    holds("wake × displace × drop of wakers", || {
        no_waker_goes_under_the_lock(complete);
    });
}

#[test]
fn a_store_that_wakes_under_its_lock_locks_itself_out() {
    fails("fault: wake under the lock", DEADLOCK, || {
        no_waker_goes_under_the_lock(|store, holder, answer| {
            let id = &holder.record;
            let mut shard = lock(store.shard(id));
            let now = store.0.clock.now();
            let (outcome, change) = machine::complete(shard.get(id), holder, answer, now);
            shard.apply(id, change).into_iter().for_each(Waker::wake);
            outcome
        });
    });
}
