//! The threads of an open store: those that call sled, the one that commits, and the one that watches it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::commits::{Closed, Commits};
use crate::core::{Core, Told};
use crate::disk::Disk;
use crate::hands::{HANDS, Hands};

pub(crate) fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Those that call sled, and the one that commits.
pub(crate) fn start_threads(
    hands: &Arc<Hands<Core>>,
    core: Arc<Core>,
    disk: Disk,
    delay: Duration,
) -> io::Result<()> {
    let working = Arc::new(AtomicUsize::new(HANDS));
    for number in 0..HANDS {
        let (hands, core, working) = (Arc::clone(hands), Arc::clone(&core), Arc::clone(&working));
        let hand = Hand { core, working };
        named(&format!("idem-sled-{number}")).spawn(move || {
            hands.work(&*hand.core, Core::fail);
        })?;
    }
    named("idem-sled-commit").spawn(move || commit_until_closed(core, disk, delay))?;
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

fn commit_until_closed(core: Arc<Core>, mut disk: Disk, delay: Duration) {
    let (life, commits) = (Arc::clone(&core.life), Arc::clone(&core.commits));
    let mut commit = || {
        let commit = AssertUnwindSafe(|| disk.commit(&core.clock));
        core.pace.begin();
        let committed = life.over(|| catch_unwind(commit));
        let committed =
            committed.unwrap_or_else(|_| Err(sled::Error::ReportableBug("flush panicked".into())));
        // First: whoever is told of it finds the store closed.
        committed.inspect_err(|_| life.fail())
    };
    let mut ended = commits.run(delay, &mut commit);
    if commits.closed() == Some(Closed::ByOwner) {
        // What the clock has shown since the last commit.
        ended = commit();
    }
    if let Err(error) = ended {
        tracing::error!(%error, "a flush failed: the store is closed until it is opened again");
    }
    life.commits_ended();
}

/// Starts the thread that watches. It is without the core: what is watched at last is that this goes.
pub(crate) fn watch(core: &Arc<Core>) -> io::Result<()> {
    let (life, commits) = (Arc::clone(&core.life), Arc::clone(&core.commits));
    let nudge = nudge(Arc::downgrade(core));
    named("idem-sled-watch").spawn(move || life.watch(nudge, || hangs(&commits)))?;
    Ok(())
}

/// Nudges sled, on a thread of its own each time, for that may hang as well; then it is the last.
fn nudge(core: Weak<Core>) -> impl FnMut() {
    let mut nudging = None::<thread::JoinHandle<sled::Result<()>>>;
    move || {
        if nudging.as_ref().is_none_or(thread::JoinHandle::is_finished)
            && let Some(core) = core.upgrade()
        {
            let nudge = move || core.nudges.nudge(&core.db);
            nudging = named("idem-sled-nudge").spawn(nudge).ok();
        }
    }
}

fn hangs(commits: &Commits<Told>) {
    tracing::error!("sled hangs: the store is closed until its process is started anew");
    commits.fail();
}
