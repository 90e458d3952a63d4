//! wait × write: no wake-up is lost (law W1). A lost one leaves a thread that waits for ever, which
//! loom calls a deadlock.

use std::future::poll_fn;

use loom::future::block_on;

use super::*;
use crate::machine;
use crate::memory::lock;
use crate::memory::shard::Shard;
use crate::test_support::loom::{self as test_support, begin_to_watch};
use crate::waiters::Waiting;

type WaitingInShard<'a> = Waiting<'a, Shard>;

async fn turn(store: &MemoryStore, request: &ReserveRequest) -> Outcome {
    test_support::turn(store, store.shard(&request.operation.record), request).await
}

/// A planted fault: it does not look again after it began to watch.
async fn careless_turn(store: &MemoryStore, request: &ReserveRequest) -> Outcome {
    let id = &request.operation.record;
    loop {
        let outcome = store.reserve(request).await.unwrap();
        if !is_conflict(&outcome) {
            return outcome;
        }
        let mut watch = Waiting::new(store.shard(id), id);
        poll_fn(|cx| watch.poll(cx)).await;
    }
}

type Complete = fn(&MemoryStore, &Holder, &Answer) -> Completion;

fn two_waiters_get_the_answer(by: Complete) {
    let (store, _) = held();
    let waiters = [2, 3].map(|token| {
        let store = store.clone();
        thread::spawn(move || block_on(turn(&store, &asks(token))))
    });
    by(&store, &holder(1, 1), &answer("paid"));
    for waiter in waiters {
        assert!(replays(&waiter.join().unwrap(), &answer("paid")));
    }
    assert!(store.nobody_waits());
}

#[test]
fn two_waiters_get_the_answer_whenever_it_is_recorded() {
    holds("wait × wait × complete", || {
        two_waiters_get_the_answer(complete);
    });
}

#[test]
fn a_completion_that_wakes_before_it_writes_loses_a_waiter() {
    fails("fault: wake before the write", DEADLOCK, || {
        two_waiters_get_the_answer(|store, holder, answer| {
            let id = &holder.record;
            let woken = lock(store.shard(id)).waiters.take(id);
            woken.into_iter().for_each(Waker::wake);
            let mut shard = lock(store.shard(id));
            let now = store.0.clock.now();
            let (outcome, change) = machine::complete(shard.get(id), holder, answer, now);
            shard.apply(id, change);
            outcome
        });
    });
}

#[test]
fn a_waiter_that_does_not_look_again_misses_the_answer() {
    fails("fault: no look after the watch began", DEADLOCK, || {
        let (store, _) = held();
        let waiter = {
            let store = store.clone();
            thread::spawn(move || block_on(careless_turn(&store, &asks(2))))
        };
        complete(&store, &holder(1, 1), &answer("paid"));
        assert!(replays(&waiter.join().unwrap(), &answer("paid")));
    });
}

/// The holder gives the record back, and two wait for it: one takes over, completes, and wakes the
/// other.
#[test]
fn one_of_two_waiters_takes_over_and_wakes_the_other() {
    holds("wait × wait × release", || {
        let (store, _) = held();
        let waiters = [2, 3].map(|token| {
            let store = store.clone();
            thread::spawn(move || {
                let outcome = block_on(turn(&store, &asks(token)));
                if is_reserved(&outcome, 1) {
                    complete(&store, &holder(token, 1), &answer("paid"));
                }
                outcome
            })
        });
        let released = at_once(store.release(&holder(1, 1))).unwrap();
        assert_eq!(released, Update::Done);
        let outcomes = waiters.map(|waiter| waiter.join().unwrap());
        let won = outcomes.iter().filter(|one| is_reserved(one, 1)).count();
        let told = outcomes
            .iter()
            .filter(|one| replays(one, &answer("paid")))
            .count();
        assert_eq!((won, told), (1, 1), "{outcomes:?}");
        assert!(store.nobody_waits());
    });
}

/// One waiter goes away while another waits and a third thread writes.
fn the_other_waiter_is_woken(leave: fn(&MemoryStore, WaitingInShard<'_>)) {
    let (store, _) = held();
    let leaver = {
        let store = store.clone();
        thread::spawn(move || {
            let id = record("k");
            leave(&store, block_on(begin_to_watch(store.shard(&id), &id)));
        })
    };
    let waiter = {
        let store = store.clone();
        thread::spawn(move || block_on(turn(&store, &asks(2))))
    };
    complete(&store, &holder(1, 1), &answer("paid"));
    leaver.join().unwrap();
    assert!(replays(&waiter.join().unwrap(), &answer("paid")));
    assert!(store.nobody_waits(), "somebody is left behind");
}

#[test]
fn a_dropped_waiter_leaves_nothing_and_takes_nobody_along() {
    holds("wait × drop × complete", || {
        the_other_waiter_is_woken(|_, waiting| drop(waiting));
    });
}

#[test]
fn a_waiter_that_stays_listed_is_found() {
    let expected = "somebody is left behind";
    fails("fault: a dropped waiter stays listed", expected, || {
        the_other_waiter_is_woken(|_, waiting| std::mem::forget(waiting));
    });
}

#[test]
fn a_waiter_that_takes_the_others_along_is_found() {
    fails("fault: a dropped waiter takes all along", DEADLOCK, || {
        the_other_waiter_is_woken(|store, waiting| {
            let id = record("k");
            let all = lock(store.shard(&id)).waiters.take(&id);
            drop((all, waiting));
        });
    });
}
