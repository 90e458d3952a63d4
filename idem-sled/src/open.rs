//! Opening: one process at a time, what a killed one left behind, the format.

use std::fs::{self, File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use idem_core::Timestamp;
use sled::{Db, Tree};
use tokio::sync::oneshot;

use crate::clock::{HighWater, WallClock};
use crate::core::Core;
use crate::disk::{Disk, MARK, sync_folder};
use crate::engine::{Engine, Shared};
use crate::large::LargeTree;
use crate::life::{Gone, Life};
use crate::nudge::{self, Nudges};
use crate::pace::Pace;
use crate::readable::read_through;
use crate::threads::{named, start_threads, watch};
use crate::{Durability, OpenError, Options, SledStore};

/// The trees of the store's own. Others are the user's.
pub(crate) const OWN_TREES: &str = "idem_";
const RECORDS: &str = "idem_records";
const LARGE: &str = "idem_large";
const FACTS: &str = "idem_facts";

/// In the tree of facts: how the rest is written. Frozen with the golden files.
const FORMAT: &[u8] = b"format";
/// 1: large values stand in the records. 2: some stand in a tree of their own; what the first format wrote is
/// read all the same.
const KNOWN_FORMAT: u32 = 2;

/// How long what nobody waits for waits for the company of what somebody waits for.
const QUIET: Duration = Duration::from_secs(1);

/// How long sled, closed in this process a moment ago, may take to let go of its file.
const LET_GO: Duration = Duration::from_secs(2);
/// How long the lock of a store that was closed a moment ago may stay with a process that another thread is
/// starting: until it has begun, it has every open file of this one.
const BEING_STARTED: Duration = Duration::from_millis(250);
const LET_GO_STEP: Duration = Duration::from_millis(10);

pub(crate) async fn open(options: Options) -> Result<SledStore, OpenError> {
    let (answer, answered) = oneshot::channel();
    let life = Arc::new(Life::new(options.commit_limit));
    let living = Arc::clone(&life);
    named("idem-sled-open").spawn(move || {
        let opened = catch_unwind(AssertUnwindSafe(|| open_here(options, living)));
        let opened = opened.unwrap_or_else(|_| {
            Err(OpenError::Damaged(
                "sled panicked while it opened the folder".into(),
            ))
        });
        let _ = answer.send(opened);
    })?;
    let opened = life.or_failed(answered).await;
    opened.unwrap_or_else(|| {
        let hangs = "sled hangs: the folder stays locked until this process ends";
        Err(OpenError::Io(io::Error::other(hangs)))
    })
}

fn open_here(options: Options, life: Arc<Life>) -> Result<SledStore, OpenError> {
    let folder = &options.folder;
    fs::create_dir_all(folder)?;
    let lock = lock(folder)?;
    // sled takes what it cannot read for the end of its log, and clears away what follows.
    read_through(folder)?;
    clear_what_was_left(folder)?;
    let db = open_sled(folder, options.cache_capacity)?;
    let facts = db.open_tree(FACTS)?;
    let records = db.open_tree(RECORDS)?;
    let format = read_format(&facts, &records)?;
    let mark = read_mark(&facts)?;
    if format != Some(KNOWN_FORMAT) {
        // Before anything that an earlier release cannot read.
        facts.insert(FORMAT, &KNOWN_FORMAT.to_be_bytes())?;
    }
    let large = LargeTree(db.open_tree(LARGE)?);
    remove_orphans(&large, &records)?;
    nudge::remove_left(&db)?;
    let source = options
        .clock
        .unwrap_or_else(|| Box::new(WallClock::starting_at(mark)));
    let clock = Arc::new(HighWater::new(source, mark));

    let mut disk = Disk::new(db.clone(), facts, folder, options.on_commit)?;
    let core = Arc::new(Core {
        db,
        records,
        large,
        nudges: Nudges::default(),
        pace: Pace::default(),
        commits: Arc::default(),
        clock: Arc::clone(&clock),
        immediate: options.durability == Durability::Immediate,
        life: Arc::clone(&life),
        _lock: lock,
        _gone: Gone(Arc::clone(&life)),
    });
    watch(&core)?;
    life.over(|| disk.commit(&clock))?;
    sync_names(folder)?;

    let shared = Shared {
        hands: Arc::default(),
        core: Arc::downgrade(&core),
        life,
    };
    let engine = Engine {
        shared: Arc::new(shared),
        waits: true,
    };
    let delay = match options.durability {
        Durability::Immediate => QUIET,
        Durability::Eventual { within } => within,
    };
    // Dropped on the way, by an error, the engine lets the threads end that have begun.
    start_threads(&engine.shared.hands, core, disk, delay)?;
    Ok(SledStore::of(engine, clock, options.durability))
}

/// Damage there is an error for its records alone, and not for the store.
fn remove_orphans(large: &LargeTree, records: &Tree) -> sled::Result<()> {
    match large.remove_orphans(records) {
        Err(error @ sled::Error::Corruption { .. }) => {
            tracing::warn!(%error, "a part of the large values cannot be read");
            Ok(())
        }
        removed => removed,
    }
}

/// Before anything else is touched: sled's own lock comes too late to clear up under.
fn lock(folder: &Path) -> Result<File, OpenError> {
    let mut file = File::options();
    let file = file.create(true).write(true).truncate(false);
    let file = file.open(folder.join("idem.lock"))?;
    let mut left = BEING_STARTED;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {
                left = left.checked_sub(LET_GO_STEP).ok_or(OpenError::Locked)?;
                thread::sleep(LET_GO_STEP);
            }
        }
    }
}

/// sled refuses to open when it was killed at the wrong moment, although nothing is lost.
fn clear_what_was_left(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A snapshot that was not ready: there is the one before, or the log.
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
            tracing::warn!("an unfinished snapshot of sled was removed");
        }
    }
    // Written before the first byte of data, without a sync: half of it may be there.
    if !folder.join("db").exists() {
        match fs::remove_file(folder.join("conf")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn open_sled(folder: &Path, cache_capacity: u64) -> Result<Db, OpenError> {
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(cache_capacity)
        // The store's own thread flushes.
        .flush_every_ms(None);
    let mut left = LET_GO;
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_lock(&error) => {
                // Threads of sled's pool may hold the file for a moment after a store was closed.
                left = left.checked_sub(LET_GO_STEP).ok_or(OpenError::Locked)?;
                thread::sleep(LET_GO_STEP);
            }
            opened => return Ok(opened?),
        }
    }
}

fn is_lock(error: &io::Error) -> bool {
    error.to_string().starts_with("could not acquire lock")
}

/// One that can be read; none in a folder that is new.
fn read_format(facts: &Tree, records: &Tree) -> Result<Option<u32>, OpenError> {
    let Some(format) = facts.get(FORMAT)? else {
        if records.iter().next().is_some() {
            return Err(OpenError::Damaged("records without a format".into()));
        }
        return Ok(None);
    };
    let Ok(found) = <[u8; 4]>::try_from(&*format) else {
        return Err(OpenError::Damaged("the format is not a number".into()));
    };
    match u32::from_be_bytes(found) {
        0 => Err(OpenError::Damaged("there is no format 0".into())),
        found if found > KNOWN_FORMAT => Err(OpenError::NewerFormat {
            found,
            known: KNOWN_FORMAT,
        }),
        found => Ok(Some(found)),
    }
}

fn read_mark(facts: &Tree) -> Result<Timestamp, OpenError> {
    let Some(mark) = facts.get(MARK)? else {
        return Ok(Timestamp::default());
    };
    let mark = <[u8; 8]>::try_from(&*mark)
        .map_err(|_| OpenError::Damaged("the clock's mark is not a number".into()))?;
    Ok(Timestamp::from_millis(u64::from_be_bytes(mark)))
}

/// The files that were made just now are there after the machine stops, too.
fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder.join("conf"))?.sync_all()?;
    sync_folder(folder)?;
    match folder.canonicalize()?.parent() {
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}
