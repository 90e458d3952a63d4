//! The threads that call sled, so that no thread of an async runtime does: a call may read from the disk,
//! wait for a full buffer to be written, or for a transaction of somebody else.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Something to do with the store's data.
pub(crate) type Job<C> = Box<dyn FnOnce(&C) + Send>;

/// The jobs that wait for a hand.
pub(crate) struct Hands<C> {
    queue: Mutex<Queue<C>>,
    changed: Condvar,
}

struct Queue<C> {
    jobs: VecDeque<Job<C>>,
    stopped: bool,
}

/// How many: enough that a slow read does not hold up the others.
pub(crate) const HANDS: usize = 4;

impl<C> Default for Hands<C> {
    fn default() -> Self {
        let queue = Queue {
            jobs: VecDeque::new(),
            stopped: false,
        };
        Self {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        }
    }
}

impl<C> Hands<C> {
    fn lock(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False, and the job is dropped, if no hand will take it.
    pub(crate) fn give(&self, job: Job<C>) -> bool {
        let mut queue = self.lock();
        if queue.stopped {
            return false;
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.changed.notify_one();
        true
    }

    /// No more jobs. Those that wait are done.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// What each hand does, until the end. `panicked` is called if a job panics.
    pub(crate) fn work(&self, data: &C, panicked: impl Fn(&C)) {
        while let Some(job) = self.next() {
            if catch_unwind(AssertUnwindSafe(|| job(data))).is_err() {
                panicked(data);
            }
        }
    }

    fn next(&self) -> Option<Job<C>> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.stopped {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
