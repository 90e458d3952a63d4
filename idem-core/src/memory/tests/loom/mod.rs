//! Every execution of two or three threads on the store, explored by loom: the store's locks and
//! atomics are loom's here (`crate::sync`).
//!
//! `cargo xtask test` says how to run them (part "model checks"): with `RUSTFLAGS="--cfg idem_loom"`, in
//! a target directory of their own. Loom's variables apply: `LOOM_MAX_PREEMPTIONS`, `LOOM_LOG`, …
//!
//! Each model holds for the store, and fails for a planted fault: the same model over one call that
//! does it wrong.

mod renewing;
mod reserving;
mod sweeping;
mod taking_over;
mod waiting;
mod waking;

use std::future::Future;
use std::io::Write as _;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loom::model::Builder;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use super::{LEASE, RETENTION, operation, record};
use crate::machine::{Change, Record};
use crate::memory::MemoryStore;
use crate::time::{Clock, Timestamp};
use crate::{
    Answer, Completion, Holder, IdempotencyStore, Inspect, Outcome, RecordId, ReserveRequest,
    Response, Terms, Token, Update,
};

/// The model holds in every execution.
fn holds(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    explore(&executions, model);
    let explored = executions.load(Ordering::Relaxed);
    assert!(explored > 1, "{name}: nothing was explored");
    report(&format!("{name}: holds in all of {explored} executions"));
}

/// The model fails over a planted fault, for this reason.
///
/// It fails in a process of its own, which ends there: what a failed execution leaves behind is not
/// fit to be dropped.
fn fails(name: &str, expected: &str, model: impl Fn() + Send + Sync + 'static) {
    if std::env::var_os(IN_CHILD).is_some() {
        let executions = Arc::new(AtomicUsize::new(0));
        let explored = Arc::clone(&executions);
        std::panic::set_hook(Box::new(move |panic| {
            let reason = panic
                .payload_as_str()
                .unwrap_or("a panic without a message");
            report(&format!(
                "failed in execution {}: {reason}",
                explored.load(Ordering::Relaxed)
            ));
            std::process::exit(FAILED);
        }));
        explore(&executions, model);
        std::process::exit(0);
    }
    let this_test = thread_name();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &this_test, "--nocapture"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert_eq!(
        child.status.code(),
        Some(FAILED),
        "{name}: not found: {said}"
    );
    assert!(
        said.contains(expected),
        "{name}: found another fault: {said}"
    );
    let found = said
        .split_once("failed in ")
        .and_then(|(_, rest)| rest.split_once(':'));
    report(&format!("{name}: found in {}", found.unwrap().0));
}

const IN_CHILD: &str = "IDEM_LOOM_FAULT";
const FAILED: i32 = 77;

/// What loom says when no thread can go on.
const DEADLOCK: &str = "deadlock";

/// Explores every execution with at most three preemptions, unless the environment says otherwise.
fn explore(executions: &Arc<AtomicUsize>, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::clone(executions);
    let mut loom = Builder::new();
    loom.preemption_bound = loom.preemption_bound.or(Some(3));
    loom.check(move || {
        executions.fetch_add(1, Ordering::Relaxed);
        model();
    });
}

/// The name of the running test.
fn thread_name() -> String {
    std::thread::current().name().unwrap().to_owned()
}

/// Past the capture of the test's output: the numbers belong to every run.
fn report(line: &str) {
    let _ = writeln!(std::io::stdout(), "loom: {line}");
}

/// What a call of the store gives: none but `changed` ever waits.
fn at_once<F: Future>(call: F) -> F::Output {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the store waits"),
    }
}

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

/// A clock whose advance is a step of the exploration. (One `fetch_add`: loom remembers an atomic's
/// last access alone, so a load before it, as in `fetch_update`, would hide those of the others.)
#[derive(Clone, Debug, Default)]
struct LoomClock(Arc<AtomicU64>);

impl LoomClock {
    fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for LoomClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
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
