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
    /// There is a job, or there will be no more.
    given: Condvar,
    ended: Condvar,
}

struct Queue<C> {
    jobs: VecDeque<Given<C>>,
    given: u64,
    /// The numbers of the jobs that hands are at.
    running: Vec<u64>,
    stopped: bool,
}

struct Given<C> {
    number: u64,
    /// It begins once every job that was given before has ended.
    is_last: bool,
    job: Job<C>,
}

/// How many: enough that a slow read does not hold up the others.
pub(crate) const HANDS: usize = 4;

impl<C> Default for Hands<C> {
    fn default() -> Self {
        let queue = Queue {
            jobs: VecDeque::new(),
            given: 0,
            running: Vec::new(),
            stopped: false,
        };
        Self {
            queue: Mutex::new(queue),
            given: Condvar::new(),
            ended: Condvar::new(),
        }
    }
}

impl<C> Hands<C> {
    fn lock(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False, and the job is dropped, if no hand will take it.
    pub(crate) fn give(&self, job: Job<C>) -> bool {
        self.enqueue(job, false)
    }

    /// The same for one that begins once all that were given before have ended, also those whose callers have
    /// gone.
    pub(crate) fn give_after_all(&self, job: Job<C>) -> bool {
        self.enqueue(job, true)
    }

    fn enqueue(&self, job: Job<C>, is_last: bool) -> bool {
        let mut queue = self.lock();
        if queue.stopped {
            return false;
        }
        let number = queue.given;
        queue.given += 1;
        queue.jobs.push_back(Given {
            number,
            is_last,
            job,
        });
        drop(queue);
        self.given.notify_one();
        true
    }

    /// No more jobs. Those that wait are done.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.given.notify_all();
    }

    /// What each hand does, until the end. `panicked` is called if a job panics.
    pub(crate) fn work(&self, data: &C, panicked: impl Fn(&C)) {
        while let Some((number, job)) = self.next() {
            if catch_unwind(AssertUnwindSafe(|| job(data))).is_err() {
                panicked(data);
            }
            self.ended(number);
        }
    }

    fn next(&self) -> Option<(u64, Job<C>)> {
        let mut queue = self.lock();
        loop {
            let Some(given) = queue.jobs.pop_front() else {
                if queue.stopped {
                    return None;
                }
                queue = wait(&self.given, queue);
                continue;
            };
            // What was given before has begun at least: the queue is one.
            while given.is_last && queue.running.iter().any(|at| *at < given.number) {
                queue = wait(&self.ended, queue);
            }
            queue.running.push(given.number);
            return Some((given.number, given.job));
        }
    }

    fn ended(&self, number: u64) {
        let mut queue = self.lock();
        queue.running.retain(|at| *at != number);
        drop(queue);
        self.ended.notify_all();
    }
}

fn wait<'a, C>(on: &Condvar, queue: MutexGuard<'a, Queue<C>>) -> MutexGuard<'a, Queue<C>> {
    on.wait(queue).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    #[test]
    fn the_last_begins_once_all_before_have_ended_and_the_next_need_not_wait_for_it() {
        let hands = Arc::new(Hands::<Mutex<Vec<&str>>>::default());
        let log = Arc::new(Mutex::new(Vec::new()));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (hands, log) = (Arc::clone(&hands), Arc::clone(&log));
                thread::spawn(move || hands.work(&log, |_| ()))
            })
            .collect();
        let (go, wait) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let note =
            |what: &'static str| move |log: &Mutex<Vec<&str>>| log.lock().unwrap().push(what);
        hands.give(Box::new(move |log| {
            begun.send(()).unwrap();
            wait.recv().unwrap();
            note("slow")(log);
        }));
        has_begun.recv().unwrap();
        assert!(hands.give_after_all(Box::new(note("last"))));
        let (next, next_ended) = mpsc::channel();
        hands.give(Box::new(move |log| {
            note("next")(log);
            next.send(()).unwrap();
        }));
        next_ended.recv().unwrap();
        go.send(()).unwrap();
        hands.stop();
        assert!(!hands.give(Box::new(note("late"))));
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        assert_eq!(*log.lock().unwrap(), ["next", "slow", "last"]);
    }

    #[test]
    fn a_hand_outlives_a_job_that_panics() {
        let hands = Hands::<Mutex<u32>>::default();
        hands.give(Box::new(|_| std::panic::resume_unwind(Box::new("planted"))));
        hands.give(Box::new(|done| *done.lock().unwrap() += 1));
        hands.stop();
        let done = Mutex::new(0);
        hands.work(&done, |done| *done.lock().unwrap() += 10);
        assert_eq!(*done.lock().unwrap(), 11);
    }
}
