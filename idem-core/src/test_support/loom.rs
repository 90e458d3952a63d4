//! Running a model under loom, with numbers; a clock for it; and a waiter as the executor is one.

use std::future::{Future, poll_fn};
use std::io::Write as _;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loom::model::Builder;
use loom::sync::atomic::AtomicU64;

use crate::sync::Mutex;
use crate::time::{Clock, Timestamp};
use crate::waiters::{Waiters, Waiting};
use crate::{IdempotencyStore, Outcome, RecordId, ReserveRequest};

/// The model holds in every execution.
pub(crate) fn holds(name: &str, model: impl Fn() + Send + Sync + 'static) {
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
pub(crate) fn fails(name: &str, expected: &str, model: impl Fn() + Send + Sync + 'static) {
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
pub(crate) const DEADLOCK: &str = "deadlock";

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
pub(crate) fn at_once<F: Future>(call: F) -> F::Output {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the store waits"),
    }
}

/// A clock whose advance is a step of the exploration. (One `fetch_add`: loom remembers an atomic's
/// last access alone, so a load before it, as in `fetch_update`, would hide those of the others.)
#[derive(Clone, Debug, Default)]
pub(crate) struct LoomClock(Arc<AtomicU64>);

impl LoomClock {
    pub(crate) fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for LoomClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A turn at the record, as the executor takes it: watch, look, wait. `list` is where the store lists
/// its waiters.
pub(crate) async fn turn<L: AsMut<Waiters>>(
    store: &impl IdempotencyStore,
    list: &Mutex<L>,
    request: &ReserveRequest,
) -> Outcome {
    let id = &request.operation.record;
    let mut watch: Option<Waiting<'_, L>> = None;
    loop {
        let outcome = store.reserve(request).await.unwrap();
        if !matches!(outcome, Outcome::Conflict { .. }) {
            return outcome;
        }
        match watch.take() {
            None => watch = Some(begin_to_watch(list, id).await),
            Some(mut watch) => poll_fn(|cx| watch.poll(cx)).await,
        }
    }
}

pub(crate) async fn begin_to_watch<'a, L: AsMut<Waiters>>(
    list: &'a Mutex<L>,
    id: &'a RecordId,
) -> Waiting<'a, L> {
    let mut watch = Waiting::new(list, id);
    poll_fn(|cx| Poll::Ready(watch.poll(cx).is_ready())).await;
    watch
}
