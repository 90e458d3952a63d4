//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use idem_core::Clock;

use crate::{OpenError, SledStore, open};

/// When a write is on disk: see the [crate's front page](crate#what-survives).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before it is acknowledged, and so is whatever an answer rests on. Callers share flushes. What that is
    /// worth if the machine stops: [see there](crate#when-the-machine-stops).
    #[default]
    Immediate,
    /// Some time later. **Answers rest on what a crash may take back.**
    ///
    /// If the process is killed, what was acknowledged within the last `within`, and the
    /// time that a flush takes, may be lost: reservations, completions, replays that others were given. What
    /// is left is how things stood at some instant before. So an operation may run a second time although it
    /// was answered; what protects then is the derived key alone. A store loses nothing whose
    /// [`close`](SledStore::close) succeeds.
    Eventual {
        /// The longest that a write waits for its flush to begin; much that is written does not wait so long.
        within: Duration,
    },
}

/// How far a commit has come: see [`Options::on_commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Commit {
    /// It begins: what was written until now will be in it.
    Begins,
    /// sled has handed it to the operating system, and the disk has not confirmed it.
    Flushed,
    /// It is on disk, and nobody who waits for it has been told.
    Synced,
}

/// Settings of a store: from [`SledStore::options`].
#[must_use = "call `open`"]
pub struct Options {
    pub(crate) folder: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) cache_capacity: u64,
    pub(crate) commit_limit: Duration,
    pub(crate) clock: Option<Box<dyn Clock>>,
    pub(crate) on_commit: Option<OnCommit>,
}

pub(crate) type OnCommit = Box<dyn FnMut(Commit) + Send>;

impl Options {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            durability: Durability::default(),
            cache_capacity: 64 << 20,
            commit_limit: Duration::from_secs(30),
            clock: None,
            on_commit: None,
        }
    }

    /// When writes are on disk. By default before they are acknowledged.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// About how many bytes of pages sled keeps in memory. By default 64 MiB (sled's own default is 1 GiB);
    /// at least 1 MiB. Everything else that sled holds comes on top.
    pub fn cache_capacity(mut self, bytes: u64) -> Self {
        self.cache_capacity = bytes.max(1 << 20);
        self
    }

    /// How long a commit may take, the first one at opening as well, and closing after the last; at least 1 ms. By
    /// default 30 s, which no disk needs that works: sled hangs for ever after some errors of the disk.
    ///
    /// A commit that takes longer closes the store. Everybody who waits is told that the outcome is unknown, every
    /// later call is refused, and [`close`](SledStore::close) returns; the folder stays locked for as long as sled
    /// hangs, mostly until the process ends. A handler of a transaction, and what is called
    /// [on a commit](Self::on_commit), hold commits up, and count.
    pub fn commit_limit(mut self, limit: Duration) -> Self {
        self.commit_limit = limit.max(Duration::from_millis(1));
        self
    }

    /// Another clock, for tests. By default the wall clock, which never runs back here.
    ///
    /// **It must count from the same origin in every process that opens the folder**: instants of it are
    /// written into records. One that is set back stands still until it has caught up.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Calls this at each stage of each commit, on the committing thread: to measure how long the disk takes.
    /// Everybody who waits for the commit waits for this as well. If it panics, the store closes itself.
    pub fn on_commit(mut self, on_commit: impl FnMut(Commit) + Send + 'static) -> Self {
        self.on_commit = Some(Box::new(on_commit));
        self
    }

    /// Opens the store, and makes it if it is not there. The work is done on a thread of its own.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// Dropped: it is opened all the same, and closed at once.
    pub async fn open(self) -> Result<SledStore, OpenError> {
        open::open(self).await
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("folder", &self.folder)
            .field("durability", &self.durability)
            .field("cache_capacity", &self.cache_capacity)
            .field("commit_limit", &self.commit_limit)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
