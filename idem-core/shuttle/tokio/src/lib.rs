//! Stands in for tokio where `idem-core` is compiled over shuttle: what the executor and the in-memory
//! store use of it, no more.
//!
//! (shuttle's own stand-in, `shuttle-tokio` 1.0, has no time: its `sleep` ends at once, and its
//! `timeout` only where a test says so. Leases, heartbeats and waiting need one.)

pub mod sync;
pub mod task;
pub mod time;

/// The executor's way to a runtime.
pub mod runtime {
    use std::future::Future;

    use crate::task::{self, JoinHandle};

    /// A handle on the execution that is under way.
    #[derive(Clone, Debug)]
    pub struct Handle(());

    /// There is no runtime: never the case here.
    #[derive(Debug)]
    pub struct TryCurrentError(());

    impl Handle {
        /// The runtime of this execution.
        pub fn current() -> Self {
            Self(())
        }

        /// The same; an execution always has one.
        pub fn try_current() -> Result<Self, TryCurrentError> {
            Ok(Self(()))
        }

        /// Runs `task` by itself.
        pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
        where
            F: Future + Send + 'static,
            F::Output: Send + 'static,
        {
            task::spawn(task)
        }
    }
}
