//! Every execution of two or three threads on a store over compare-and-swap, explored by loom: see
//! `memory/tests/loom`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use async_trait::async_trait;
use loom::future::block_on;
use loom::sync::Mutex;
use loom::thread;

use super::{operation, record, terms};
use crate::cas::keys::record_key;
use crate::machine::{self, Change};
use crate::test_support::loom::{DEADLOCK, LoomClock, at_once, fails, holds, turn};
use crate::time::Timestamp;
use crate::{
    Answer, CasStore, CompareAndSwap, Completion, Error, Holder, IdempotencyStore, Outcome,
    ReserveRequest, Response, Stored, Swapped, Token,
};

/// An engine whose calls are a step each.
#[derive(Default)]
struct Engine {
    data: Mutex<BTreeMap<Vec<u8>, Stored<u64>>>,
    /// A planted fault: it compares in one step, and swaps in the next.
    two_steps: bool,
}

#[async_trait]
impl CompareAndSwap for Engine {
    type Version = u64;
    const ORDERED: bool = false;

    async fn load(&self, key: &[u8]) -> Result<Option<Stored<u64>>, Error> {
        Ok(self.data.lock().unwrap().get(key).cloned())
    }

    async fn swap(
        &self,
        key: &[u8],
        expected: Option<&u64>,
        value: Option<&[u8]>,
    ) -> Result<Swapped, Error> {
        let mut data = self.data.lock().unwrap();
        if data.get(key).map(|stored| &stored.version) != expected {
            return Ok(Swapped::Lost);
        }
        if self.two_steps {
            drop(data);
            data = self.data.lock().unwrap();
        }
        match value {
            Some(value) => {
                let value = value.to_vec();
                let version = expected.map_or(0, |version| version + 1);
                data.insert(key.to_vec(), Stored { value, version });
            }
            None => drop(data.remove(key)),
        }
        Ok(Swapped::Done)
    }

    async fn scan(
        &self,
        _after: &[u8],
        _limit: usize,
    ) -> Result<Vec<(Vec<u8>, Stored<u64>)>, Error> {
        unreachable!("nobody scans here")
    }
}

type Store = Arc<CasStore<Engine>>;

fn store(engine: Engine) -> Store {
    Arc::new(CasStore::new(engine, LoomClock::default()))
}

fn asks(token: u8) -> ReserveRequest {
    ReserveRequest::new(operation("k"), Token::from_bytes([token; 16]), terms())
}

fn holder(token: u8) -> Holder {
    Holder::new(record("k"), Token::from_bytes([token; 16]), 1)
}

fn paid() -> Answer {
    Response::new(201).body("paid").into()
}

fn reserve(store: &Store, token: u8) -> Outcome {
    at_once(store.reserve(&asks(token))).unwrap()
}

fn is_reserved(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Reserved { attempt: 1, .. })
}

fn one_of_three_wins(engine: Engine) {
    let store = store(engine);
    let others = [1, 2].map(|token| {
        let store = Arc::clone(&store);
        thread::spawn(move || reserve(&store, token))
    });
    let last = reserve(&store, 3);
    let mut outcomes = others.map(|other| other.join().unwrap()).to_vec();
    outcomes.push(last);

    let won: Vec<_> = (0..3).filter(|&n| is_reserved(&outcomes[n])).collect();
    assert_eq!(won.len(), 1, "so many won: {outcomes:?}");
    let completed = at_once(store.complete(&holder(won[0] as u8 + 1), &paid())).unwrap();
    assert!(matches!(completed, Completion::Completed { .. }));
}

#[test]
fn of_three_that_reserve_at_once_one_wins() {
    holds("compare-and-swap: reserve × reserve × reserve", || {
        one_of_three_wins(Engine::default());
    });
}

#[test]
fn an_engine_that_compares_and_then_swaps_grants_twice() {
    fails("fault: compare, then swap", "so many won", || {
        one_of_three_wins(Engine {
            two_steps: true,
            ..Engine::default()
        });
    });
}

/// The records live in the engine, the waiters beside it.
fn two_waiters_get_the_answer(complete: fn(&Store)) {
    let store = store(Engine::default());
    assert!(is_reserved(&reserve(&store, 1)));
    let waiters = [2, 3].map(|token| {
        let store = Arc::clone(&store);
        thread::spawn(move || block_on(turn(&*store, &store.waiters, &asks(token))))
    });
    complete(&store);
    for waiter in waiters {
        let outcome = waiter.join().unwrap();
        assert!(matches!(outcome, Outcome::Replay(replay) if replay.answer == paid()));
    }
    assert!(store.waiters.lock().unwrap().is_empty());
}

#[test]
fn two_waiters_get_the_answer_whenever_it_is_recorded() {
    holds("compare-and-swap: wait × wait × complete", || {
        two_waiters_get_the_answer(|store| {
            let completed = at_once(store.complete(&holder(1), &paid())).unwrap();
            assert!(matches!(completed, Completion::Completed { .. }));
        });
    });
}

#[test]
fn a_store_that_wakes_before_it_swaps_loses_a_waiter() {
    fails("fault: wake before the swap", DEADLOCK, || {
        two_waiters_get_the_answer(|store| {
            let id = record("k");
            let key = record_key(&id);
            let found = at_once(store.load_record(&key)).unwrap().unwrap();
            let now = Timestamp::default();
            let change = machine::complete(Some(&found.record), &holder(1), &paid(), now).1;
            let Change::Put(completed) = change else {
                panic!("not completed: {change:?}");
            };
            let woken = store.waiters.lock().unwrap().take(&id);
            woken.into_iter().for_each(Waker::wake);
            let completed = completed.encode();
            let swap = store
                .engine
                .swap(&key, Some(&found.version), Some(&completed));
            assert_eq!(at_once(swap).unwrap(), Swapped::Done);
        });
    });
}
