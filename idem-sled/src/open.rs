//! Opening: one process at a time, what a killed one left behind, the format, the threads.

use std::fs::{self, File, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use idem_core::Timestamp;
use sled::{Db, Tree};
use tokio::sync::{oneshot, watch};

use crate::clock::{HighWater, WallClock};
use crate::commits::{Closed, Commits};
use crate::core::{Core, Told};
use crate::disk::{Disk, MARK, sync_folder};
use crate::engine::Engine;
use crate::hands::{HANDS, Hands};
use crate::{Durability, OpenError, Options, SledStore};

/// The trees of the store's own. Others are the user's.
pub(crate) const OWN_TREES: &str = "idem_";
const RECORDS: &str = "idem_records";
const FACTS: &str = "idem_facts";

/// In the tree of facts: how the rest is written. Frozen with the golden files.
const FORMAT: &[u8] = b"format";
const KNOWN_FORMAT: u32 = 1;

/// How long what nobody waits for waits for the company of what somebody waits for.
const QUIET: Duration = Duration::from_secs(1);

/// How long sled, closed in this process a moment ago, may take to let go of its file.
const LET_GO: Duration = Duration::from_secs(2);
const LET_GO_STEP: Duration = Duration::from_millis(10);

pub(crate) async fn open(options: Options) -> Result<SledStore, OpenError> {
    let (answer, answered) = oneshot::channel();
    named("idem-sled-open").spawn(move || {
        let opened = catch_unwind(AssertUnwindSafe(|| open_here(options)));
        let opened = opened.unwrap_or_else(|_| {
            Err(OpenError::Damaged(
                "sled panicked while it opened the folder".into(),
            ))
        });
        let _ = answer.send(opened);
    })?;
    answered.await.unwrap_or_else(|_| {
        Err(OpenError::Io(io::Error::other(
            "the thread that opens ended",
        )))
    })
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

fn open_here(options: Options) -> Result<SledStore, OpenError> {
    let folder = &options.folder;
    fs::create_dir_all(folder)?;
    let lock = lock(folder)?;
    clear_what_was_left(folder)?;
    let db = open_sled(folder, options.cache_capacity)?;
    let facts = db.open_tree(FACTS)?;
    let records = db.open_tree(RECORDS)?;
    check_format(&facts, &records)?;
    let mark = read_mark(&facts)?;
    let source = options
        .clock
        .unwrap_or_else(|| Box::new(WallClock::starting_at(mark)));
    let clock = Arc::new(HighWater::new(source, mark));

    let mut disk = Disk::new(db.clone(), facts, folder, options.on_commit)?;
    disk.commit(&clock)?;
    sync_names(folder)?;

    let (gone_sender, gone) = watch::channel(());
    let core = Arc::new(Core {
        db,
        records,
        commits: Arc::default(),
        clock: Arc::clone(&clock),
        immediate: options.durability == Durability::Immediate,
        _lock: lock,
        _gone: gone_sender,
    });
    let engine = Engine {
        hands: Arc::default(),
        core: Arc::downgrade(&core),
        gone,
    };
    let delay = match options.durability {
        Durability::Immediate => QUIET,
        Durability::Eventual { within } => within,
    };
    // Dropped on the way, by an error, the engine lets the threads end that have begun.
    start_threads(&engine.hands, &core, disk, delay)?;
    Ok(SledStore::of(engine, clock, options.durability))
}

/// Before anything else is touched: sled's own lock comes too late to clear up under.
fn lock(folder: &Path) -> Result<File, OpenError> {
    let mut file = File::options();
    let file = file.create(true).write(true).truncate(false);
    let file = file.open(folder.join("idem.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
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

fn check_format(facts: &Tree, records: &Tree) -> Result<(), OpenError> {
    let Some(format) = facts.get(FORMAT)? else {
        if records.iter().next().is_some() {
            return Err(OpenError::Damaged("records without a format".into()));
        }
        facts.insert(FORMAT, &KNOWN_FORMAT.to_be_bytes())?;
        return Ok(());
    };
    let Ok(found) = <[u8; 4]>::try_from(&*format) else {
        return Err(OpenError::Damaged("the format is not a number".into()));
    };
    match u32::from_be_bytes(found) {
        KNOWN_FORMAT => Ok(()),
        0 => Err(OpenError::Damaged("there is no format 0".into())),
        found => Err(OpenError::NewerFormat {
            found,
            known: KNOWN_FORMAT,
        }),
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

fn start_threads(
    hands: &Arc<Hands<Core>>,
    core: &Arc<Core>,
    disk: Disk,
    delay: Duration,
) -> io::Result<()> {
    let working = Arc::new(AtomicUsize::new(HANDS));
    for number in 0..HANDS {
        let (hands, core, working) = (Arc::clone(hands), Arc::clone(core), Arc::clone(&working));
        let hand = Hand { core, working };
        named(&format!("idem-sled-{number}")).spawn(move || {
            hands.work(&*hand.core, Core::fail);
        })?;
    }
    let core = Arc::clone(core);
    named("idem-sled-commit").spawn(move || commit_until_closed(&core, disk, delay))?;
    Ok(())
}

/// Ends the commits when the last hand has ended.
struct Hand {
    core: Arc<Core>,
    working: Arc<AtomicUsize>,
}

impl Drop for Hand {
    fn drop(&mut self) {
        if self.working.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.core.commits.close();
        }
    }
}

fn commit_until_closed(core: &Core, mut disk: Disk, delay: Duration) {
    let commits: &Commits<Told> = &core.commits;
    let mut commit = || {
        let committed = catch_unwind(AssertUnwindSafe(|| disk.commit(&core.clock)));
        committed.unwrap_or_else(|_| Err(sled::Error::ReportableBug("flush panicked".into())))
    };
    let mut ended = commits.run(delay, &mut commit);
    if commits.closed() == Some(Closed::ByOwner) {
        // What the clock has shown since the last commit.
        ended = commit();
    }
    if let Err(error) = ended {
        tracing::error!(%error, "a flush failed: the store is closed until it is opened again");
    }
}
