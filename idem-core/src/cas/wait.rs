//! Waiting for a record to be written: law W1.

use std::future::poll_fn;
use std::sync::PoisonError;
use std::time::Duration;

use super::CasStore;
use crate::RecordId;
use crate::jitter::jittered;
use crate::waiters::Waiting;

impl<E> CasStore<E> {
    /// Until the record is written through this store, or it is time to look what others wrote.
    pub(super) async fn wait(&self, id: &RecordId, within: Duration) {
        let mut waiting = Waiting::new(&self.waiters, id);
        let within = within.min(jittered(self.poll_interval));
        // Whether the time ran out or the record was written: the caller looks again.
        let _ = tokio::time::timeout(within, poll_fn(|cx| waiting.poll(cx))).await;
    }

    /// Wakes the waiters of a record once the swap that is about to begin has ended: also if its outcome
    /// is unknown, and if its future is dropped.
    pub(super) fn wake_when_dropped<'a>(&'a self, id: &'a RecordId) -> WakeWhenDropped<'a, E> {
        WakeWhenDropped { store: self, id }
    }
}

pub(super) struct WakeWhenDropped<'a, E> {
    store: &'a CasStore<E>,
    id: &'a RecordId,
}

impl<E> Drop for WakeWhenDropped<'_, E> {
    fn drop(&mut self) {
        let mut waiters = self
            .store
            .waiters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let woken = waiters.take(self.id);
        // Waking may run anything: unlock first.
        drop(waiters);
        woken.into_iter().for_each(|waker| waker.wake());
    }
}
