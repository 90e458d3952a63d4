//! Work that outlives its caller, counted so that a shutdown can wait for it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::Instrument as _;

/// Counts the tasks, and tells them when to give up.
#[derive(Clone)]
pub(crate) struct Background(Arc<Inner>);

struct Inner {
    running: watch::Sender<usize>,
    /// How often everything was told to give up.
    drains: watch::Sender<u64>,
}

impl Background {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            running: watch::Sender::new(0),
            drains: watch::Sender::new(0),
        }))
    }

    /// Runs `task` by itself, on this runtime, and outside the span of a request that has ended.
    pub(crate) fn spawn(&self, runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
        let counted = Counted::new(&self.0);
        runtime.spawn(async move {
            task.await;
            drop(counted);
        });
    }

    /// Runs `task` by itself and gives its output to whoever still waits.
    ///
    /// # Panics
    /// Outside a runtime.
    pub(crate) fn spawn_joined<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let counted = Counted::new(&self.0);
        let task = async move {
            let output = task.await;
            drop(counted);
            output
        };
        Handle::current().spawn(task.in_current_span())
    }

    /// How often everything was told to give up so far: what begins now is not meant by that.
    pub(crate) fn drains(&self) -> u64 {
        *self.0.drains.borrow()
    }

    /// Sleeps, and says whether to go on afterwards: not if everything was told to give up since
    /// `drains` were counted.
    pub(crate) async fn pause(&self, pause: Duration, drains: u64) -> bool {
        let mut now = self.0.drains.subscribe();
        // The sender lives in `self`: an error is only ever the time running out.
        timeout(pause, now.wait_for(|now| *now != drains))
            .await
            .is_err()
    }

    /// Waits up to `up_to` for all tasks to end, then tells the rest to give up, and says how many
    /// those were.
    pub(crate) async fn drain(&self, up_to: Duration) -> usize {
        let mut running = self.0.running.subscribe();
        let _ = timeout(up_to, running.wait_for(|running| *running == 0)).await;
        self.0.drains.send_modify(|drains| *drains += 1);
        *self.0.running.borrow()
    }
}

/// Counts for as long as it lives: also when a task is cancelled or panics.
struct Counted(Arc<Inner>);

impl Counted {
    fn new(inner: &Arc<Inner>) -> Self {
        inner.running.send_modify(|running| *running += 1);
        Self(Arc::clone(inner))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}
