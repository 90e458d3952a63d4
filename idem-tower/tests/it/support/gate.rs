//! Where something stops until the test lets it go on: instead of sleeping and hoping.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::timeout;

use super::PATIENCE;

/// Counts those who arrive, and holds them while it is closed. Clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    arrivals: watch::Sender<usize>,
    is_open: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn opened() -> Self {
        Self(Arc::new(Inner {
            arrivals: watch::Sender::new(0),
            is_open: watch::Sender::new(true),
        }))
    }

    pub(crate) fn closed() -> Self {
        let gate = Self::opened();
        gate.close();
        gate
    }

    pub(crate) fn open(&self) {
        self.0.is_open.send_replace(true);
    }

    pub(crate) fn close(&self) {
        self.0.is_open.send_replace(false);
    }

    /// Arrives, and goes on once the gate is open.
    pub(crate) async fn pass(&self) {
        self.arrive();
        let mut is_open = self.0.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
    }

    /// Arrives, and goes on at once.
    pub(crate) fn arrive(&self) {
        self.0.arrivals.send_modify(|arrivals| *arrivals += 1);
    }

    pub(crate) fn arrivals(&self) -> usize {
        *self.0.arrivals.borrow()
    }

    /// Resolves once so many have arrived.
    pub(crate) async fn reached(&self, arrivals: usize) {
        let mut seen = self.0.arrivals.subscribe();
        soon(seen.wait_for(|seen| *seen >= arrivals)).await.unwrap();
    }
}

/// What `future` says, which is not to take long.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    let done = timeout(PATIENCE, future).await;
    done.expect("what is awaited comes within the test's patience")
}
