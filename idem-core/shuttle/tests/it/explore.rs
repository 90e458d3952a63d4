//! Running a model under shuttle, with numbers.

use std::any::Any;
use std::future::Future;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use tokio::time::{Passing, WithTime, block_on};

/// The model holds in every execution, of schedules at random and of those with few preemptions
/// (PCT).
pub(crate) fn holds<F: Future<Output = ()>>(
    name: &str,
    passing: Passing,
    model: impl Fn() -> F + Copy + Send + Sync + 'static,
) {
    let asked = EXECUTIONS * effort();
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        Runner::new(WithTime::new(scheduler, passing), config()).run(move || block_on(model()))
    };
    let random = run(Box::new(RandomScheduler::new(asked)));
    let pct = run(Box::new(PctScheduler::new(PREEMPTIONS, asked)));
    assert_eq!((random, pct), (asked, asked), "{name}: too few executions");
    report(&format!(
        "{name}: holds in {random} executions at random and {pct} by PCT"
    ));
}

/// The model fails over a planted fault, for this reason.
pub(crate) fn fails<F: Future<Output = ()>>(
    name: &str,
    expected: &str,
    passing: Passing,
    model: impl Fn() -> F + Copy + Send + Sync + 'static,
) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    let counted = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        block_on(model());
    };
    // The same ones in every run: what was found once is found again.
    let scheduler = RandomScheduler::new_from_seed(1, FOR_A_FAULT);
    let mut config = config();
    config.failure_persistence = FailurePersistence::None;
    let runner = Runner::new(WithTime::new(scheduler, passing), config);
    let result = catch_unwind(AssertUnwindSafe(|| runner.run(counted)));
    let explored = executions.load(Ordering::Relaxed);
    let Err(panic) = result else {
        panic!("{name}: not found in {explored} executions");
    };
    let reason = message(&*panic);
    assert!(
        reason.contains(expected),
        "{name}: found another fault: {reason}"
    );
    report(&format!("{name}: found in execution {explored}"));
}

/// Of each scheduler, for each model.
const EXECUTIONS: usize = 2_000;
const FOR_A_FAULT: usize = 10_000;
const PREEMPTIONS: usize = 3;

fn config() -> Config {
    let mut config = Config::new();
    // Its warning: that it knows no weaker order than `SeqCst`. Such orders are loom's matter.
    config.silence_warnings = true;
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config
}

/// The factor that `IDEM_EFFORT` asks for; 1 if it is not set.
fn effort() -> usize {
    std::env::var("IDEM_EFFORT").map_or(1, |factor| {
        factor
            .parse::<NonZeroUsize>()
            .expect("IDEM_EFFORT is a whole number from 1")
            .get()
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else {
        "a panic without a message"
    }
}

/// Past the capture of the test's output: the numbers belong to every run.
fn report(line: &str) {
    let _ = writeln!(std::io::stdout(), "shuttle: {line}");
}
