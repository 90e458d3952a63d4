//! sled as an engine of [`CasStore`](idem_core::CasStore): each call is a job for a thread of the store's.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use idem_core::{CasStore, CompareAndSwap, Error, Stored, Swapped};
use sled::IVec;
use tokio::sync::{oneshot, watch};

use crate::commits::Closed;
use crate::core::{Answer, Core, Told};
use crate::failure;
use crate::hands::Hands;

/// A value of sled: two that stood under one key are equal only if their bytes are.
pub(crate) struct Value(pub(crate) IVec);

/// The handle. When it is dropped, the store's threads end what was begun, and then the store is closed.
pub(crate) struct Engine {
    pub(crate) hands: Arc<Hands<Core>>,
    pub(crate) core: Weak<Core>,
    pub(crate) gone: watch::Receiver<()>,
}

impl Engine {
    /// Has a thread of the store's do this, and waits for its answer. Dropped before a thread has begun with
    /// it, it is not done; later it is.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Core, Answer<T>) + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let given = self.hands.give(Box::new(move |core| {
            if !answer.is_closed() {
                job(core, answer);
            }
        }));
        if !given {
            return Err(failure::closed(Closed::ByOwner));
        }
        answered.await.unwrap_or_else(|_| Err(failure::panicked()))
    }

    /// Until everything that was begun has ended and is on disk.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        let given = self.hands.give_after_all(Box::new(move |core| {
            core.commits.when_all_durable(Told::new(move |outcome| {
                let _ = answer.send(outcome.map_err(failure::closed));
            }));
        }));
        if !given {
            return Err(failure::closed(Closed::ByOwner));
        }
        answered.await.unwrap_or_else(|_| Err(failure::panicked()))
    }

    /// No more calls. What has begun is done and made durable.
    pub(crate) fn close(&self) {
        self.hands.stop();
    }

    /// Until sled has let go of its files.
    pub(crate) async fn gone(&self) {
        let mut gone = self.gone.clone();
        // Nothing is ever sent: it ends when the sender is dropped.
        while gone.changed().await.is_ok() {}
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait]
impl CompareAndSwap for Engine {
    type Version = Value;
    const ORDERED: bool = true;

    async fn load(&self, key: &[u8]) -> Result<Option<Stored<Value>>, Error> {
        let key = key.to_vec();
        self.ask(move |core, answer| core.load(&key, answer)).await
    }

    async fn swap(
        &self,
        key: &[u8],
        expected: Option<&Value>,
        value: Option<&[u8]>,
    ) -> Result<Swapped, Error> {
        let key = key.to_vec();
        let expected = expected.map(|expected| expected.0.clone());
        let value = value.map(<[u8]>::to_vec);
        // sled's log comes back in the order in which it was written, up to some place: an entry that is
        // written before its record needs no flush of its own.
        let wait = !CasStore::<Self>::is_index_entry(&key);
        self.ask(move |core, answer| core.swap(&key, expected.as_deref(), value, wait, answer))
            .await
    }

    async fn scan(
        &self,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Stored<Value>)>, Error> {
        let after = after.to_vec();
        self.ask(move |core, answer| {
            let _ = answer.send(core.scan(&after, limit));
        })
        .await
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine(..)")
    }
}
