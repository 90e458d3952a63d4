//! What is on the disk, and making it so.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use idem_core::Timestamp;
use sled::{Db, Tree};

use crate::Commit;
use crate::clock::HighWater;
use crate::options::OnCommit;

/// The key of the mark in the tree of the store's own facts.
pub(crate) const MARK: &[u8] = b"clock";

/// Makes everything that was written durable. Used by one thread.
pub(crate) struct Disk {
    db: Db,
    facts: Tree,
    /// The file that sled appends to. sled's flush on Linux is `sync_file_range`, which leaves the data in
    /// the disk's cache and the file's size to chance.
    file: File,
    blobs: Blobs,
    mark: Option<Timestamp>,
    on_commit: Option<OnCommit>,
}

impl Disk {
    pub(crate) fn new(
        db: Db,
        facts: Tree,
        folder: &Path,
        on_commit: Option<OnCommit>,
    ) -> io::Result<Self> {
        Ok(Self {
            db,
            facts,
            file: File::open(folder.join("db"))?,
            blobs: Blobs::new(folder.join("blobs")),
            mark: None,
            on_commit,
        })
    }

    /// Makes durable what was written before the call, and the clock's mark with it.
    pub(crate) fn commit(&mut self, clock: &HighWater) -> sled::Result<()> {
        self.tell(Commit::Begins);
        let mark = clock.mark();
        if self.mark != Some(mark) {
            self.facts.insert(MARK, &mark.as_millis().to_be_bytes())?;
        }
        // Blocking, on a thread of its own: `flush_async` hangs for ever at eight callers.
        self.db.flush()?;
        self.tell(Commit::Flushed);
        self.blobs.sync()?;
        self.file.sync_data()?;
        self.tell(Commit::Synced);
        self.mark = Some(mark);
        clock.is_on_disk(mark);
        Ok(())
    }

    fn tell(&mut self, commit: Commit) {
        if let Some(on_commit) = &mut self.on_commit {
            on_commit(commit);
        }
    }
}

/// The files in which sled keeps what is over 128 KiB: leaves of the user's trees, and of the records in folders
/// of the first format. sled never syncs them.
struct Blobs {
    folder: PathBuf,
    /// Those that were there when the folder was read last, and are synced.
    synced: HashSet<OsString>,
    read: Option<Read>,
}

/// When the folder was read last, and when it had been changed last by then.
#[derive(Clone, Copy)]
struct Read {
    at: SystemTime,
    changed: SystemTime,
}

/// File systems note the time of a change by a clock that ticks, some every two seconds: what changes within a
/// tick of the reading may look as if it had been there.
const TICK: Duration = Duration::from_secs(3);

/// How many files are synced at a time.
const SYNCING: usize = 16;

impl Blobs {
    fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            synced: HashSet::new(),
            read: None,
        }
    }

    /// Syncs those that are new, and the folder, which holds their names.
    fn sync(&mut self) -> io::Result<()> {
        let changed = fs::metadata(&self.folder)?.modified()?;
        let unchanged = |read: Read| read.changed == changed && changed + TICK < read.at;
        if self.read.is_some_and(unchanged) {
            return Ok(());
        }
        let at = SystemTime::now();
        let mut there = HashSet::new();
        for entry in fs::read_dir(&self.folder)? {
            there.insert(entry?.file_name());
        }
        let new: Vec<_> = there.difference(&self.synced).collect();
        self.sync_files(&new)?;
        if !new.is_empty() {
            sync_folder(&self.folder)?;
        }
        self.synced = there;
        self.read = Some(Read { at, changed });
        Ok(())
    }
}

impl Blobs {
    /// Those of a process before may be many, and a disk syncs many at once in the time of a few.
    fn sync_files(&self, names: &[&OsString]) -> io::Result<()> {
        let share = names.len().div_ceil(SYNCING).max(1);
        thread::scope(|scope| {
            let mut shares = names.chunks(share);
            let own = shares.next().unwrap_or_default();
            let others: Vec<_> = shares
                .map(|share| scope.spawn(|| share.iter().try_for_each(|name| self.sync_file(name))))
                .collect();
            let mut synced = own.iter().try_for_each(|name| self.sync_file(name));
            for other in others {
                let other = other.join();
                let other = other.unwrap_or_else(|_| Err(io::Error::other("a sync panicked")));
                synced = synced.and(other);
            }
            synced
        })
    }

    fn sync_file(&self, name: &OsString) -> io::Result<()> {
        match File::open(self.folder.join(name)) {
            Ok(file) => file.sync_all(),
            // sled has removed it since: nothing rests on it any more.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
