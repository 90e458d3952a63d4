//! Runs laws: one as a test, or all of them for a verdict on each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::Harness;
use crate::fixture::SLACK;

/// What a law runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// One thread.
    Single,
    /// Four threads: for laws about concurrency.
    Multi,
    /// One thread, and then four with a fresh store: for laws that a store may keep on one of them
    /// only.
    Both,
}

impl Runtime {
    fn builders(self) -> Vec<Builder> {
        let single = Builder::new_current_thread;
        let multi = || {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(4);
            builder
        };
        match self {
            Self::Single => vec![single()],
            Self::Multi => vec![multi()],
            Self::Both => vec![single(), multi()],
        }
    }
}

/// Opens a store and runs a law on it: what the tests that [`conformance!`](crate::conformance) emits
/// do.
///
/// # Panics
/// If the law is broken, or has not ended before real time could decide a verdict: after half of
/// [`SLACK`].
pub fn run<H: Harness>(runtime: Runtime, law: impl AsyncFn(H)) {
    run_boxed(runtime, &|| {
        Box::pin(async {
            let harness = H::open().await;
            law(harness).await;
        })
    });
}

/// The part that is the same for all laws and stores, to be compiled once.
fn run_boxed<'a>(runtime: Runtime, law: &dyn Fn() -> Pin<Box<dyn Future<Output = ()> + 'a>>) {
    for mut builder in runtime.builders() {
        let runtime = builder.enable_all().build().expect("a tokio runtime");
        let ended = runtime.block_on(async { timeout(SLACK / 2, law()).await.is_ok() });
        assert!(ended, "the law still ran after {:?}", SLACK / 2);
    }
}

/// Whether a store keeps a law.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The law's name.
    pub law: &'static str,
    /// What broke it, if it is broken.
    pub broken: Option<String>,
}

/// Runs a law as [`run`] does, and gives the verdict instead of panicking.
pub fn judge(law: &'static str, run: impl FnOnce()) -> Verdict {
    let broken = catch_unwind(AssertUnwindSafe(run)).err().map(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_else(|| "it panicked".to_owned())
    });
    Verdict { law, broken }
}
