//! Whether the store in another process is flushing right now: the kernel says what its threads wait for.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The thread that commits. The kernel keeps 15 bytes of a name.
const COMMITTER: &str = "idem-sled-commi";

/// Waits until the thread that commits waits for the disk, and returns at once then; false if that does not come
/// in time. While it waits so, a signal does not end its call: a kill that is sent now lands within it, or within
/// microseconds of its end.
pub(crate) fn is_seen(pid: u32, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    let mut committer = None;
    while Instant::now() < deadline {
        match &committer {
            None => committer = find(pid),
            Some(stat) if waits_for_the_disk(stat) => return true,
            Some(_) => {}
        }
    }
    false
}

/// Its entry in `/proc`, once it has been started.
fn find(pid: u32) -> Option<PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let stats = threads.flatten().map(|thread| thread.path().join("stat"));
    stats
        .filter(|stat| fs::read_to_string(stat).is_ok_and(|text| name(&text) == Some(COMMITTER)))
        .last()
}

fn name(stat: &str) -> Option<&str> {
    let (_, rest) = stat.split_once('(')?;
    rest.rsplit_once(')').map(|(name, _)| name)
}

fn waits_for_the_disk(stat: &PathBuf) -> bool {
    let text = fs::read_to_string(stat).unwrap_or_default();
    let state = text.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with('D'))
}
