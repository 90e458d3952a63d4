//! The open store as its threads see it.

use std::fs::File;
use std::sync::Arc;

use idem_core::{Error, Stored, Swapped};
use sled::{Db, IVec, Tree};
use tokio::sync::{oneshot, watch};

use crate::clock::HighWater;
use crate::commits::{Closed, Commits, Waiter, Writing};
use crate::engine::Value;
use crate::failure;

/// Whoever waits for a commit: told by a call.
pub(crate) struct Told(Box<dyn FnOnce(Result<(), Closed>) + Send>);

impl Told {
    pub(crate) fn new(told: impl FnOnce(Result<(), Closed>) + Send + 'static) -> Self {
        Self(Box::new(told))
    }
}

impl Waiter for Told {
    fn told(self, outcome: Result<(), Closed>) {
        (self.0)(outcome);
    }
}

/// Where the answer to a call goes. Whoever waited may be gone.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// Dropped, when the last thread has ended, from the top: sled lets go of its files, then the folder is free.
pub(crate) struct Core {
    pub(crate) db: Db,
    pub(crate) records: Tree,
    pub(crate) commits: Arc<Commits<Told>>,
    pub(crate) clock: Arc<HighWater>,
    /// Whether answers wait for the disk.
    pub(crate) immediate: bool,
    pub(crate) _lock: File,
    /// Closed once everything above is gone.
    pub(crate) _gone: watch::Sender<()>,
}

impl Core {
    /// A write in sled failed, or a thread of the store's panicked.
    pub(crate) fn fail(&self) {
        self.commits.fail();
    }

    /// Gives what stands under the key, once it is on disk.
    pub(crate) fn load(&self, key: &[u8], answer: Answer<Option<Stored<Value>>>) {
        let stored = match self.records.get(key) {
            Ok(value) => value.map(stored),
            Err(error) => {
                let _ = answer.send(Err(failure::not_read(error)));
                return;
            }
        };
        if self.clock.is_far_ahead_of_disk() {
            self.commits.wrote_quietly();
        }
        self.after_read(key, move |outcome| {
            let _ = answer.send(outcome.map(|()| stored).map_err(failure::closed));
        });
    }

    /// Calls `told` once what was read under the key is on disk.
    pub(crate) fn after_read(
        &self,
        key: &[u8],
        told: impl FnOnce(Result<(), Closed>) + Send + 'static,
    ) {
        if self.immediate {
            self.commits.when_durable(key, Told::new(told));
        } else {
            told(self.commits.closed().map_or(Ok(()), Err));
        }
    }

    /// A write begins. Where answers do not wait for the disk, nobody asks what is on it.
    pub(crate) fn begin(&self, key: &[u8]) -> Result<Writing<'_, Told>, Closed> {
        if self.immediate {
            self.commits.begin(key)
        } else {
            self.commits.begin_untracked()
        }
    }

    /// Swaps, and says so once that is on disk.
    pub(crate) fn swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
        wait: bool,
        answer: Answer<Swapped>,
    ) {
        let writing = match self.begin(key) {
            Ok(writing) => writing,
            Err(closed) => {
                let _ = answer.send(Err(failure::closed(closed)));
                return;
            }
        };
        let swapped = self.records.compare_and_swap(key, expected, value);
        match swapped {
            Ok(Ok(())) if wait && self.immediate => writing.written(Told::new(move |outcome| {
                let swapped = outcome.map(|()| Swapped::Done);
                let _ = answer.send(swapped.map_err(failure::not_flushed));
            })),
            Ok(Ok(())) => {
                // On disk some time; who reads it meanwhile waits for that.
                drop(writing);
                let _ = answer.send(Ok(Swapped::Done));
            }
            Ok(Err(_)) => {
                writing.not_written();
                let _ = answer.send(Ok(Swapped::Lost));
            }
            Err(error) => {
                // First: whatever is there now must not pass for what is on disk.
                self.fail();
                writing.not_written();
                let _ = answer.send(Err(failure::not_written(error)));
            }
        }
    }

    /// Some keys after `after`, of what is in memory.
    #[allow(clippy::type_complexity, reason = "the engine's own")]
    pub(crate) fn scan(
        &self,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Stored<Value>)>, Error> {
        if let Some(closed) = self.commits.closed() {
            return Err(failure::closed(closed));
        }
        let from = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        self.records
            .range::<&[u8], _>(from)
            .take(limit.max(1))
            .map(|pair| {
                let (key, value) = pair.map_err(failure::not_read)?;
                Ok((key.to_vec(), stored(value)))
            })
            .collect()
    }
}

fn stored(value: IVec) -> Stored<Value> {
    Stored {
        value: value.to_vec(),
        version: Value(value),
    }
}
