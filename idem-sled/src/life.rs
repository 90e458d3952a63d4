//! Whether the store lives; what may hang in sled, and who is told then.
//!
//! sled has errors after which its flush never returns: the disk refused a large value; or it refused a piece of
//! the log, and sled does not tell the flush that waits for it before somebody else writes. A thread of the
//! store's watches the one that commits, and later the one that closes. It has somebody write from time to time,
//! and gives up after a limit, which does not count while the process stands still. It sleeps while there is
//! nothing to watch.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

/// How things are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Something could not be written.
    pub(crate) failed: bool,
    pub(crate) end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// sled has let go of its files.
    Gone,
    /// It hangs, and keeps them.
    Stuck,
}

pub(crate) struct Life {
    limit: Duration,
    nudge_after: Duration,
    watched: Mutex<Watched>,
    changed: Condvar,
    stage: watch::Sender<Stage>,
}

#[derive(Default)]
struct Watched {
    /// When that began which may take no longer than the limit.
    since: Option<Instant>,
    /// Nothing was there to watch when the watching thread looked last.
    idle: bool,
    /// No more calls are taken.
    stopped: bool,
    /// No more commits come.
    commits_ended: bool,
    gone: bool,
}

/// Far above what a commit takes, and below what anybody minds who is told of an error.
const LONGEST_NUDGE: Duration = Duration::from_secs(1);

/// Held by what holds sled's files, dropped last.
pub(crate) struct Gone(pub(crate) Arc<Life>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0
            .stage
            .send_modify(|stage| stage.end = Some(End::Gone));
        self.0.change(|watched| watched.gone = true);
    }
}

impl Life {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            nudge_after: (limit / 4).min(LONGEST_NUDGE),
            watched: Mutex::default(),
            changed: Condvar::new(),
            stage: watch::Sender::default(),
        }
    }

    /// Something could not be written: nothing in memory is to be trusted.
    pub(crate) fn fail(&self) {
        self.stage.send_modify(|stage| stage.failed = true);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.stage.borrow().failed
    }

    /// What a thread answers. `None` if it broke off, or if the store fails meanwhile: the thread may hang.
    pub(crate) async fn or_failed<T>(&self, answered: oneshot::Receiver<T>) -> Option<T> {
        let mut stage = self.stage.subscribe();
        let mut failed = pin!(stage.wait_for(|stage| stage.failed));
        let mut answered = pin!(answered);
        poll_fn(|cx| {
            // First: what has been answered stands.
            if let Poll::Ready(answer) = answered.as_mut().poll(cx) {
                return Poll::Ready(answer.ok());
            }
            failed.as_mut().poll(cx).map(|_| None)
        })
        .await
    }

    /// Until it has ended.
    pub(crate) async fn ended(&self) -> Stage {
        let mut stage = self.stage.subscribe();
        let ended = stage.wait_for(|stage| stage.end.is_some()).await;
        ended.map(|stage| *stage).unwrap_or_default()
    }

    /// Does what may take no longer than the limit. One at a time.
    pub(crate) fn over<T>(&self, work: impl FnOnce() -> T) -> T {
        self.change(|watched| watched.since = Some(Instant::now()));
        let done = work();
        self.change(|watched| watched.since = None);
        done
    }

    /// No more calls are taken. Once the commits have ended as well, sled has to let go within the limit.
    pub(crate) fn stop(&self) {
        self.change(|watched| watched.stopped = true);
    }

    /// The same the other way round.
    pub(crate) fn commits_ended(&self) {
        self.change(|watched| watched.commits_ended = true);
    }

    fn change(&self, change: impl FnOnce(&mut Watched)) {
        let mut watched = self.lock();
        change(&mut watched);
        if watched.stopped && watched.commits_ended {
            watched.since.get_or_insert_with(Instant::now);
        }
        // Whoever sleeps for a time looks when that is over.
        if watched.idle || watched.gone {
            drop(watched);
            self.changed.notify_all();
        }
    }

    /// What the watching thread does until the end. `nudge` is called now and then while anything takes longer
    /// than it should, and `hangs` if that takes too long.
    pub(crate) fn watch(&self, nudge: impl FnMut(), hangs: impl FnOnce()) {
        if !self.sees_the_end(nudge) {
            self.fail();
            hangs();
            self.stage.send_modify(|stage| {
                stage.end.get_or_insert(End::Stuck);
            });
        }
    }

    /// False if something takes too long.
    fn sees_the_end(&self, mut nudge: impl FnMut()) -> bool {
        let mut waited = Waited::new(Instant::now());
        let mut watched = self.lock();
        while !watched.gone {
            let Some(since) = watched.since else {
                watched.idle = true;
                let woken = self.changed.wait(watched);
                watched = woken.unwrap_or_else(PoisonError::into_inner);
                watched.idle = false;
                continue;
            };
            if waited.since != since {
                waited = Waited::new(since);
            }
            waited.look(Instant::now(), self.nudge_after);
            let left = self.limit.saturating_sub(waited.counted);
            if left.is_zero() {
                return false;
            }
            let some = left.min(self.nudge_after);
            let woken = self.changed.wait_timeout(watched, some);
            watched = woken.unwrap_or_else(PoisonError::into_inner).0;
            if watched.since == Some(since) && !watched.gone {
                drop(watched);
                nudge();
                watched = self.lock();
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long something has been waited for.
///
/// Between two looks there is a step at most, or the process stood still (it was stopped, or its machine was): what
/// is waited for did so, too, and has the rest of its time.
struct Waited {
    since: Instant,
    looked: Instant,
    counted: Duration,
}

impl Waited {
    fn new(since: Instant) -> Self {
        Self {
            since,
            looked: since,
            counted: Duration::ZERO,
        }
    }

    fn look(&mut self, now: Instant, step: Duration) {
        let passed = now.saturating_duration_since(self.looked);
        self.counted = self.counted.saturating_add(passed.min(step));
        self.looked = now;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    /// What the watching thread of this has said, each thing once.
    fn watched(limit: Duration) -> (Arc<Life>, mpsc::Receiver<&'static str>) {
        let life = Arc::new(Life::new(limit));
        let (tell, told) = mpsc::channel();
        let watching = Arc::clone(&life);
        thread::spawn(move || {
            let mut nudged = false;
            let nudge = || {
                if !std::mem::replace(&mut nudged, true) {
                    tell.send("nudged").unwrap();
                }
            };
            watching.watch(nudge, || tell.send("hangs").unwrap());
            tell.send("ends").unwrap();
        });
        (life, told)
    }

    /// A watching thread that has no time for a while gives up without it.
    fn next_but_a_nudge(told: &mpsc::Receiver<&'static str>) -> Option<&'static str> {
        told.iter().find(|what| *what != "nudged")
    }

    #[test]
    fn what_takes_too_long_is_told_while_it_still_hangs() {
        let (life, told) = watched(SHORT);
        life.over(|| assert_eq!(next_but_a_nudge(&told), Some("hangs")));
        assert_eq!(next_but_a_nudge(&told), Some("ends"));
        let stuck = Stage {
            failed: true,
            end: Some(End::Stuck),
        };
        assert_eq!(*life.stage.borrow(), stuck);
        drop(Gone(Arc::clone(&life)));
        assert_eq!(life.stage.borrow().end, Some(End::Gone), "after all");
    }

    #[test]
    fn what_takes_longer_than_it_should_is_nudged_and_may_end_in_time() {
        let (life, told) = watched(100 * SHORT);
        life.over(|| assert_eq!(told.recv(), Ok("nudged")));
        drop(Gone(Arc::clone(&life)));
        assert_eq!(told.recv(), Ok("ends"));
    }

    #[test]
    fn what_stood_still_with_its_process_has_the_rest_of_its_time() {
        let began = Instant::now();
        let mut waited = Waited::new(began);
        let mut counted = |seconds| {
            waited.look(began + Duration::from_secs(seconds), LONGEST_NUDGE);
            waited.counted.as_secs()
        };
        assert_eq!([1, 2, 3].map(&mut counted), [1, 2, 3]);
        assert_eq!([3_600, 3_601].map(&mut counted), [4, 5]);
    }

    #[test]
    fn what_ends_in_time_is_not_told_and_the_end_ends_the_watch() {
        let (life, told) = watched(Duration::MAX);
        for _ in 0..3 {
            life.over(|| ());
        }
        life.commits_ended();
        life.stop();
        drop(Gone(Arc::clone(&life)));
        assert_eq!(next_but_a_nudge(&told), Some("ends"));
        let ended = Stage {
            failed: false,
            end: Some(End::Gone),
        };
        assert_eq!(*life.stage.borrow(), ended);
    }

    #[test]
    fn a_store_that_is_in_use_without_commits_may_take_its_time_and_one_that_closes_may_not() {
        for halves in [
            [Life::stop, Life::commits_ended],
            [Life::commits_ended, Life::stop],
        ] {
            let (life, told) = watched(SHORT);
            halves[0](&life);
            assert_eq!(told.recv_timeout(3 * SHORT).ok(), None);
            halves[1](&life);
            assert_eq!(next_but_a_nudge(&told), Some("hangs"));
        }
    }
}
