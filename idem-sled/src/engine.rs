//! sled as an engine of [`CasStore`](idem_core::CasStore): each call is a job for a thread of the store's.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use idem_core::{CasStore, CompareAndSwap, Error, Stored, Swapped};
use sled::IVec;
use tokio::sync::oneshot;

use crate::commits::Closed;
use crate::core::{Answer, Core, Told};
use crate::failure;
use crate::hands::{Hands, Job};
use crate::life::{End, Life, Stage};

/// A value of sled: two that stood under one key are equal only if their bytes are.
pub(crate) struct Value(pub(crate) IVec);

/// The handle.
pub(crate) struct Engine {
    pub(crate) shared: Arc<Shared>,
    /// Whether a write is acknowledged only once it is on disk.
    pub(crate) waits: bool,
}

/// What every handle shares. When it is dropped, the store's threads end what was begun, and then the store is
/// closed.
pub(crate) struct Shared {
    pub(crate) hands: Arc<Hands<Core>>,
    pub(crate) core: Weak<Core>,
    pub(crate) life: Arc<Life>,
}

impl Engine {
    /// Another handle, whose writes are acknowledged before they are on disk. Whoever reads them waits for that
    /// all the same.
    pub(crate) fn without_waiting(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            waits: false,
        }
    }

    /// Has a thread of the store's do this, and waits for its answer. Dropped before a thread has begun with
    /// it, it is not done; later it is.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Core, Answer<T>) + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let given = self.give(Box::new(move |core| {
            if !answer.is_closed() {
                job(core, answer);
            }
        }));
        given?;
        let answered = self.shared.life.or_failed(answered).await;
        answered.unwrap_or_else(|| Err(failure::broke_off()))
    }

    /// Hands a job to a thread of the store's.
    ///
    /// # Errors
    /// The store is closed.
    pub(crate) fn give(&self, job: Job<Core>) -> Result<(), Error> {
        self.check_open()?;
        let given = self.shared.hands.give(job);
        given.then_some(()).ok_or_else(by_owner)
    }

    /// # Errors
    /// It has failed. What its owner closed refuses when it is given something.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.shared.life.has_failed() {
            return Err(failure::closed(Closed::Failed));
        }
        Ok(())
    }

    /// Until everything that was begun has ended and is on disk.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        self.check_open()?;
        let (answer, answered) = oneshot::channel();
        let given = self.shared.hands.give_after_all(Box::new(move |core| {
            core.commits.when_all_durable(Told::new(move |outcome| {
                let _ = answer.send(outcome.map_err(failure::closed));
            }));
        }));
        given.then_some(()).ok_or_else(by_owner)?;
        let answered = self.shared.life.or_failed(answered).await;
        answered.unwrap_or_else(|| Err(failure::broke_off()))
    }

    /// Until what was written and acknowledged before is on disk.
    pub(crate) async fn until_durable(&self) -> Result<(), Error> {
        self.ask(|core, answer| {
            core.commits.when_all_durable(Told::new(move |outcome| {
                let _ = answer.send(outcome.map_err(failure::not_flushed));
            }));
        })
        .await
    }

    /// No more calls. What has begun is done and made durable.
    pub(crate) fn close(&self) {
        self.shared.close();
    }

    /// Until sled has let go of its files, or does not.
    ///
    /// # Errors
    /// Something could not be written, or sled hangs.
    pub(crate) async fn ended(&self) -> Result<(), Error> {
        match self.shared.life.ended().await {
            Stage {
                end: Some(End::Stuck),
                ..
            } => Err(failure::stuck()),
            Stage { failed: true, .. } => Err(failure::closed_after_failure()),
            Stage { failed: false, .. } => Ok(()),
        }
    }
}

fn by_owner() -> Error {
    failure::closed(Closed::ByOwner)
}

impl Shared {
    fn close(&self) {
        self.hands.stop();
        self.life.stop();
    }
}

impl Drop for Shared {
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
        // After a kill sled's log comes back in the order in which it was written, up to some place: an entry that
        // is written before its record needs no flush of its own. If the machine stops, a log of more than about
        // 1 MiB since the last sync may have a hole, and a record then no entry: the patrol finds it.
        let wait = self.waits && !CasStore::<Self>::is_index_entry(&key);
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
