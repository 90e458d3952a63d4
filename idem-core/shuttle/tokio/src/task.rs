//! Tasks: shuttle's, whose panics are their own, as with tokio.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use shuttle::future;
pub use shuttle::future::yield_now;

type Panic = Box<dyn Any + Send>;

/// A task that goes on by itself; to be awaited.
#[derive(Debug)]
pub struct JoinHandle<T>(future::JoinHandle<Result<T, Panic>>);

/// Why a task has no output: its panic, or that it was aborted. (The lock makes it `Sync`, as
/// tokio's is.)
pub struct JoinError(Mutex<Option<Panic>>);

/// Runs `task` by itself.
pub fn spawn<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    JoinHandle(future::spawn(async move {
        let mut task = pin!(task);
        poll_fn(
            |cx| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(cx))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => Poll::Ready(Err(panic)),
            },
        )
        .await
    }))
}

impl<T> JoinHandle<T> {
    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Drops it where it stands, at the next of its await points.
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(panic)) => Err(JoinError(Mutex::new(Some(panic)))),
            Err(_aborted) => Err(JoinError(Mutex::new(None))),
        })
    }
}

impl JoinError {
    /// What it panicked with; itself if it was aborted.
    pub fn try_into_panic(self) -> Result<Panic, Self> {
        let panic = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        panic.ok_or(Self(Mutex::new(None)))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task panicked or was aborted")
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for JoinError {}
