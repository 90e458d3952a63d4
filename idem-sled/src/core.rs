//! The open store as its threads see it.

use std::fs::File;
use std::sync::Arc;

use idem_core::{CasStore, Error, Stored, Swapped};
use sled::{Db, IVec, Tree};
use tokio::sync::oneshot;

use crate::clock::HighWater;
use crate::commits::{Closed, Commits, Waiter, Writing};
use crate::engine::{Engine, Value};
use crate::failure;
use crate::large::{LargeTree, Parted, Reference};
use crate::life::{Gone, Life};
use crate::nudge::Nudges;
use crate::pace::Pace;

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
    pub(crate) large: LargeTree,
    pub(crate) nudges: Nudges,
    pub(crate) pace: Pace,
    pub(crate) commits: Arc<Commits<Told>>,
    pub(crate) clock: Arc<HighWater>,
    /// Whether answers wait for the disk.
    pub(crate) immediate: bool,
    pub(crate) life: Arc<Life>,
    pub(crate) _lock: File,
    /// Says so once everything above is gone.
    pub(crate) _gone: Gone,
}

impl Core {
    /// A write in sled failed, or a thread of the store's panicked.
    pub(crate) fn fail(&self) {
        // First: whoever is told of the failure finds the store closed.
        self.life.fail();
        self.commits.fail();
    }

    /// Gives what stands under the key, once it is on disk.
    pub(crate) fn load(&self, key: &[u8], answer: Answer<Option<Stored<Value>>>) {
        let stored = match self.read(key) {
            Ok(stored) => stored,
            Err(error) => {
                let _ = answer.send(Err(error));
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

    /// What stands under the key, in memory.
    fn read(&self, key: &[u8]) -> Result<Option<Stored<Value>>, Error> {
        let stands = self.records.get(key).map_err(failure::not_read)?;
        stands.map_or(Ok(None), |value| self.read_from(key, value))
    }

    /// The same if this stood there a moment ago.
    fn read_from(&self, key: &[u8], mut value: IVec) -> Result<Option<Stored<Value>>, Error> {
        loop {
            if let Some(whole) = self.whole(key, &value)? {
                let version = Value(value);
                let value = whole;
                return Ok(Some(Stored { value, version }));
            }
            // Chunks go once another value stands: which?
            match self.records.get(key).map_err(failure::not_read)? {
                None => return Ok(None),
                Some(same) if same == value => return Err(failure::chunks_missing()),
                Some(other) => value = other,
            }
        }
    }

    /// The value that this stands for; `None` if chunks of it are missing.
    fn whole(&self, key: &[u8], value: &IVec) -> Result<Option<Vec<u8>>, Error> {
        match Reference::of(key, value)? {
            None => Ok(Some(value.to_vec())),
            Some(reference) => reference
                .value(|chunk| self.large.0.get(chunk))
                .map_err(failure::not_read),
        }
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
        match self.exchange(key, expected, value) {
            Ok(Swapped::Done) if wait && self.immediate => {
                writing.written(Told::new(move |outcome| {
                    let swapped = outcome.map(|()| Swapped::Done);
                    let _ = answer.send(swapped.map_err(failure::not_flushed));
                }))
            }
            Ok(Swapped::Done) => {
                // On disk some time; who reads it meanwhile waits for that.
                drop(writing);
                let _ = answer.send(Ok(Swapped::Done));
            }
            Ok(Swapped::Lost) => {
                // Or chunks, which are gone again.
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

    /// sled's swap, and the chunks of what is large: those of the new value before, those of the old one after.
    fn exchange(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> sled::Result<Swapped> {
        let parted = value.map(|value| Parted::of(key, value));
        if let Some(parted) = &parted {
            self.large.write(key, parted, |chunk| self.wrote(chunk))?;
        }
        let stands = parted.as_ref().map(|parted| parted.stands.as_slice());
        let swapped = self.records.compare_and_swap(key, expected, stands)?;
        // What is replaced or removed is as large as its neighbours, which are written anew sooner or later.
        self.wrote(stands.or(expected).map_or(0, <[u8]>::len));
        match swapped {
            Ok(()) => {
                // What was loaded is not torn.
                if let Some(Ok(Some(old))) = expected.map(|old| Reference::of(key, old)) {
                    self.large.remove(&old, |chunk| self.wrote(chunk))?;
                }
                Ok(Swapped::Done)
            }
            Err(_) => {
                if let Some(parted) = &parted {
                    self.large.take_back(parted, |chunk| self.wrote(chunk))?;
                }
                Ok(Swapped::Lost)
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
        let mut page = Vec::new();
        // Whoever looks at index entries has no use for the records behind them, which may be large: at most one
        // is read, so that a page is empty only at the end.
        let mut after_an_entry = CasStore::<Engine>::is_index_entry(after);
        for pair in self.records.range::<&[u8], _>(from) {
            let (key, value) = pair.map_err(failure::not_read)?;
            let is_entry = CasStore::<Engine>::is_index_entry(&key);
            let is_behind_them = after_an_entry && !is_entry;
            if is_behind_them && !page.is_empty() {
                break;
            }
            after_an_entry |= is_entry;
            let stored = match self.read_from(&key, value.clone()) {
                Ok(Some(stored)) => stored,
                // Removed since.
                Ok(None) => continue,
                // An error for its key alone, which nobody can decode.
                Err(error) if error.is_corrupt() => Stored {
                    value: value.to_vec(),
                    version: Value(value),
                },
                Err(error) => return Err(error),
            };
            page.push((key.to_vec(), stored));
            if is_behind_them || page.len() >= limit {
                break;
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use idem_core::{
        CompareAndSwap as _, Fingerprint, Holder, IdempotencyStore as _, Key, Operation, Outcome,
        ReserveRequest, Response, Scope, Terms, Token,
    };
    use testkit::Folder;

    use crate::SledStore;

    async fn complete(store: &SledStore, key: &str) {
        let operation = Operation::new(
            Scope::new("scope").unwrap(),
            Key::new(key).unwrap(),
            Fingerprint::raw("150.00"),
        );
        let request = ReserveRequest::new(operation, Token::random(), Terms::default());
        let Outcome::Reserved { attempt, .. } = store.reserve(&request).await.unwrap() else {
            panic!("{key} is not vacant");
        };
        let holder = Holder::new(request.operation.record, request.token, attempt);
        let answer = Response::new(201).body("x".repeat(10_000));
        store.complete(&holder, &answer.into()).await.unwrap();
    }

    /// Purge and `lapsed` go on behind the last entry that is due, which is mostly the last that there is.
    #[tokio::test]
    async fn a_look_at_entries_reads_no_more_than_one_record_behind_them() {
        let folder = Folder::new();
        let store = SledStore::open(folder.path()).await.unwrap();
        for key in ["a", "b", "c"] {
            complete(&store, key).await;
        }
        let engine = store.inner().cas.engine();
        let page = async |after: &[u8]| {
            let page = engine.scan(after, 128).await.unwrap();
            page.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let entries = page(b"").await;
        assert_eq!(entries.len(), 6, "of both indexes");
        let records = page(b"\x01r").await;
        assert_eq!(records.len(), 3);
        for after in [entries.last().unwrap().as_slice(), b"\x01l\xff"] {
            assert_eq!(page(after).await, records[..1]);
        }
        assert_eq!(page(&records[0]).await, records[1..]);
        assert!(page(&records[2]).await.is_empty());
    }
}
