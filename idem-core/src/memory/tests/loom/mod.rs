//! Every execution of two or three threads on the store, explored by loom: the store's locks and
//! atomics are loom's here (`crate::sync`).
//!
//! `cargo xtask test` runs them (part "model checks"). By hand:
//! `RUSTFLAGS="--cfg idem_loom" cargo test --release -p idem-core --lib --target-dir target/loom loom`.
//! Loom's variables apply: `LOOM_MAX_PREEMPTIONS`, `LOOM_LOG`, …
//!
//! Each model holds for the store, and fails for a planted fault: the same model over one call that
//! does it wrong.

mod renewing;
mod reserving;
mod sweeping;
mod taking_over;
mod waiting;
mod waking;

use std::task::Waker;
use std::time::Duration;

use loom::thread;

use super::{LEASE, RETENTION, operation, record};
use crate::machine::{Change, Record};
use crate::memory::MemoryStore;
use crate::test_support::loom::{DEADLOCK, LoomClock, at_once, fails, holds};
use crate::time::Timestamp;
use crate::{
    Answer, Completion, Holder, IdempotencyStore, Inspect, Outcome, RecordId, ReserveRequest,
    Response, Terms, Token, Update,
};

fn asks(token: u8) -> ReserveRequest {
    asks_for("k", token)
}

fn asks_for(key: &str, token: u8) -> ReserveRequest {
    let terms = Terms::new(LEASE, RETENTION).unwrap();
    ReserveRequest::new(operation(key), Token::from_bytes([token; 16]), terms)
}

fn holder(token: u8, attempt: u32) -> Holder {
    Holder::new(record("k"), Token::from_bytes([token; 16]), attempt)
}

fn answer(body: &'static str) -> Answer {
    Response::new(201).body(body).into()
}

fn reserve(store: &MemoryStore, request: &ReserveRequest) -> Outcome {
    at_once(store.reserve(request)).unwrap()
}

fn complete(store: &MemoryStore, holder: &Holder, answer: &Answer) -> Completion {
    at_once(store.complete(holder, answer)).unwrap()
}

fn abandon(store: &MemoryStore, holder: &Holder) -> Update {
    at_once(store.abandon(holder)).unwrap()
}

fn store() -> (MemoryStore, LoomClock) {
    let clock = LoomClock::default();
    (MemoryStore::with_clock(clock.clone()), clock)
}

/// A store on whose record "k" token 1 has a live lease.
fn held() -> (MemoryStore, LoomClock) {
    let (store, clock) = store();
    assert!(is_reserved(&reserve(&store, &asks(1)), 1));
    (store, clock)
}

fn is_reserved(outcome: &Outcome, at: u32) -> bool {
    matches!(outcome, Outcome::Reserved { attempt, .. } if *attempt == at)
}

fn is_conflict(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Conflict { retry_after: Some(hint) } if *hint <= LEASE)
}

fn replays(outcome: &Outcome, answer: &Answer) -> bool {
    matches!(outcome, Outcome::Replay(replay) if replay.answer == *answer)
}

/// A planted fault: it decides on a look at the record, and writes later, in a second step.
fn in_two_steps<T>(
    store: &MemoryStore,
    id: &RecordId,
    decide: impl FnOnce(Option<&Record>, Timestamp) -> (T, Change),
) -> T {
    let (outcome, change) = store.step(id, |record, now| (decide(record, now), Change::Keep));
    store.step(id, |_, _| ((), change));
    outcome
}
