//! Runs laws: one as a test, or all of them for a verdict on each.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Harness;

/// What a law runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// One thread.
    Single,
    /// Four threads: for laws about concurrency.
    Multi,
}

/// Opens a store and runs a law on it: what the tests that [`conformance!`](crate::conformance) emits
/// do.
///
/// # Panics
/// If the law is broken.
pub fn run<H: Harness, F: Future<Output = ()>>(runtime: Runtime, law: impl FnOnce(H) -> F) {
    let mut builder = match runtime {
        Runtime::Single => tokio::runtime::Builder::new_current_thread(),
        Runtime::Multi => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a tokio runtime");
    runtime.block_on(async { law(H::open().await).await });
}

/// Whether a store keeps a law.
#[derive(Clone, Debug)]
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
