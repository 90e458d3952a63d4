//! The store.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{
    Answer, CasStore, Clock, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect,
    LapsedPage, Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Timestamp,
    Update,
};

use crate::clock::HighWater;
use crate::commits::Closed;
use crate::engine::Engine;
use crate::{Durability, OpenError, Options, failure};

/// A durable store for one process: see the [crate's front page](crate). Clones share everything.
#[derive(Clone)]
pub struct SledStore(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) cas: CasStore<Engine>,
    /// Of the same records. It does not wait for each removal to be on disk, and wakes nobody: an expired record
    /// was vacant before.
    purging: CasStore<Engine>,
    clock: Arc<HighWater>,
    durability: Durability,
}

/// The store's clock, shared with the thread that writes its mark.
#[derive(Debug)]
struct Shared(Arc<HighWater>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl SledStore {
    /// Opens the store in this folder, or makes it: on disk before it is acknowledged, by the wall clock.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// Dropped: it is opened all the same, and closed at once.
    pub async fn open(folder: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::options(folder).open().await
    }

    /// Settings for opening the store in this folder.
    pub fn options(folder: impl AsRef<Path>) -> Options {
        Options::new(folder.as_ref().to_owned())
    }

    pub(crate) fn of(engine: Engine, clock: Arc<HighWater>, durability: Durability) -> Self {
        Self(Arc::new(Inner {
            purging: CasStore::new(engine.without_waiting(), Shared(Arc::clone(&clock))),
            cas: CasStore::new(engine, Shared(Arc::clone(&clock))),
            clock,
            durability,
        }))
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    /// sled itself, for trees of one's own, whose names must not begin with `idem_`. What is written to them
    /// outside of a [transaction](Self::run_in) is on disk after [`flush`](Self::flush), or with a later
    /// write of the store's.
    ///
    /// As long as this handle or a tree of it lives, nobody can open the folder again, not even after
    /// [`close`](Self::close). Never call sled's `flush_async`: it hangs for ever at eight callers.
    ///
    /// # Errors
    /// The store is closed.
    pub fn db(&self) -> Result<sled::Db, Error> {
        let engine = self.0.cas.engine();
        engine.check_open()?;
        let core = engine.shared.core.upgrade();
        let core = core.ok_or_else(|| failure::closed(Closed::ByOwner))?;
        Ok(core.db.clone())
    }

    /// Until everything that was begun before has ended and is on disk: also calls whose futures were dropped,
    /// and what was written under [`Durability::Eventual`].
    ///
    /// # Errors
    /// The store is closed, or has closed itself because of this flush.
    ///
    /// Dropped: it is flushed all the same.
    pub async fn flush(&self) -> Result<(), Error> {
        self.0.cas.engine().flush().await
    }

    /// Closes the store: what has begun is done and made durable, and everything after that is refused, also
    /// through clones. Returns once the folder may be opened again, for which every
    /// [`Db`](Self::db) and [`EffectTree`](crate::EffectTree) has to be dropped as well.
    ///
    /// A store whose last clone is dropped is closed in the same way, in the background.
    ///
    /// # Errors
    /// Something could not be written, the last flush or something before it, after which the store had closed
    /// itself: what was acknowledged is on disk, except under [`Durability::Eventual`]. Or sled hangs, after which
    /// the folder stays locked until the process ends: see [`Options::commit_limit`]. A transaction's handler that
    /// never ends is waited for.
    ///
    /// Dropped: it is closed all the same.
    pub async fn close(&self) -> Result<(), Error> {
        let engine = self.0.cas.engine();
        engine.close();
        engine.ended().await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for SledStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.0.cas.reserve(request).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.0.cas.complete(holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.0.cas.renew(holder, terms, progress).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.cas.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.0.cas.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.0.cas.changed(record, within).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for SledStore {
    async fn get(&self, id: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.0.cas.get(id).await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.0.cas.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        let purged = self.0.purging.purge_expired(limit).await?;
        if purged.removed > 0 && self.0.durability == Durability::Immediate {
            self.0.cas.engine().until_durable().await?;
        }
        Ok(purged)
    }
}

impl fmt::Debug for SledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledStore")
            .field("clock", &self.0.clock)
            .field("durability", &self.0.durability)
            .finish_non_exhaustive()
    }
}
