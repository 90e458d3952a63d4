//! A panic of what others wrote, as a value.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

/// What a handler panicked with. `Sync`, so that an error that carries it converts into
/// `Box<dyn Error + Send + Sync>` by `?`. Nobody locks it: it is only taken out.
pub struct Panic(Mutex<Box<dyn Any + Send>>);

impl Panic {
    /// What was caught.
    pub fn new(payload: Box<dyn Any + Send>) -> Self {
        Self(Mutex::new(payload))
    }

    /// What was caught: a `&str` or a `String`, mostly.
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Panics with it.
    ///
    /// # Panics
    /// Always: it goes on.
    pub fn resume(self) -> ! {
        resume_unwind(self.into_inner())
    }
}

/// Shows nothing of it: an answer may be in it, or a key.
impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Panic(..)")
    }
}

/// The future's output, or what it panicked with. After a panic it is not polled again, only dropped,
/// which is why asserting unwind safety is right.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}
