//! Who waits for which commit. No disk and no clock: what is here is checked with loom.
//!
//! One thread commits. A write happens in memory first, then joins the batch that is being gathered; the
//! next commit takes the batch, and only then begins, so it covers every write of it. Whoever reads joins
//! too, if somebody's write of the same key may not be on disk yet.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;
#[cfg(not(all(test, idem_loom)))]
use std::time::Instant;

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Why nothing can be committed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Its owner closed it.
    ByOwner,
    /// A commit failed: what is in memory is not what is on disk.
    Failed,
}

/// Told whether the commit that it waited for is on disk. Called once: on the committing thread, on the one that
/// joins, or on the one that finds that nothing more will be on disk.
pub(crate) trait Waiter {
    fn told(self, outcome: Result<(), Closed>);
}

/// The batch that is being gathered, and what is not on disk yet.
pub(crate) struct Commits<W> {
    state: Mutex<State<W>>,
    /// There is something to commit, or no more will come.
    changed: Condvar,
}

struct State<W> {
    batch: Batch<W>,
    /// The batch whose commit is under way. Kept here, since that commit may never return.
    committing: Batch<W>,
    /// For each key the writes that have begun and are not known to be on disk. A key without is on disk.
    unsettled: HashMap<Box<[u8]>, usize>,
    /// How many writes have begun and not ended.
    writing: usize,
    closed: Option<Closed>,
}

/// What one commit covers.
pub(crate) struct Batch<W> {
    waiters: Vec<W>,
    /// The keys of its writes, one for each write.
    keys: Vec<Box<[u8]>>,
    /// Something was written that nobody waits for.
    quiet: bool,
    #[cfg(not(all(test, idem_loom)))]
    quiet_since: Option<Instant>,
}

impl<W> Default for Batch<W> {
    fn default() -> Self {
        Self {
            waiters: Vec::new(),
            keys: Vec::new(),
            quiet: false,
            #[cfg(not(all(test, idem_loom)))]
            quiet_since: None,
        }
    }
}

impl<W> Default for Commits<W> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                batch: Batch::default(),
                committing: Batch::default(),
                unsettled: HashMap::new(),
                writing: 0,
                closed: None,
            }),
            changed: Condvar::new(),
        }
    }
}

/// A write that has begun. Dropped without a word, by a panic, it counts as written, and nobody waits.
pub(crate) struct Writing<'a, W: Waiter> {
    commits: &'a Commits<W>,
    /// None if nobody asks whether it is on disk.
    key: Option<Box<[u8]>>,
    ended: bool,
}

impl<W: Waiter> Commits<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called **before** the write is visible to anybody.
    ///
    /// # Errors
    /// [`Closed`]: nothing may be written.
    pub(crate) fn begin(&self, key: &[u8]) -> Result<Writing<'_, W>, Closed> {
        let key: Box<[u8]> = key.into();
        self.begin_for(Some(key))
    }

    /// The same where nobody waits for the disk, and readers do not either.
    ///
    /// # Errors
    /// [`Closed`]: nothing may be written.
    pub(crate) fn begin_untracked(&self) -> Result<Writing<'_, W>, Closed> {
        self.begin_for(None)
    }

    fn begin_for(&self, key: Option<Box<[u8]>>) -> Result<Writing<'_, W>, Closed> {
        let mut state = self.lock();
        if let Some(closed) = state.closed {
            return Err(closed);
        }
        if let Some(key) = &key {
            *state.unsettled.entry(key.clone()).or_default() += 1;
        }
        state.writing += 1;
        Ok(Writing {
            commits: self,
            key,
            ended: false,
        })
    }

    /// After a read: tells `waiter` once what was read under the key is on disk, which may be at once.
    pub(crate) fn when_durable(&self, key: &[u8], waiter: W) {
        let mut state = self.lock();
        let outcome = match state.closed {
            Some(closed) => Err(closed),
            None if !state.unsettled.contains_key(key) => Ok(()),
            None => {
                // The read is over, and the next commit has not begun: it covers what was read.
                state.batch.waiters.push(waiter);
                return self.notify(state);
            }
        };
        drop(state);
        waiter.told(outcome);
    }

    /// Tells `waiter` once everything that was written before is on disk.
    pub(crate) fn when_all_durable(&self, waiter: W) {
        let mut state = self.lock();
        if let Some(closed) = state.closed {
            drop(state);
            return waiter.told(Err(closed));
        }
        state.batch.waiters.push(waiter);
        self.notify(state);
    }

    /// After a write that nobody waits for: a commit comes, some time.
    pub(crate) fn wrote_quietly(&self) {
        let mut state = self.lock();
        let first = !state.batch.quiet;
        state.batch.be_quiet();
        if first {
            self.notify(state);
        }
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        self.lock().closed
    }

    /// No more writes. What has begun is still committed.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed.get_or_insert(Closed::ByOwner);
        self.notify(state);
    }

    /// What is in memory is not to be trusted: nothing more is committed. Also for a commit that hangs.
    pub(crate) fn fail(&self) {
        let mut state = self.lock();
        state.closed = Some(Closed::Failed);
        // They would wait for a commit that will not come, or will not return.
        let under_way = std::mem::take(&mut state.committing.waiters);
        let gathered = std::mem::take(&mut state.batch.waiters);
        self.notify(state);
        for waiter in under_way.into_iter().chain(gathered) {
            waiter.told(Err(Closed::Failed));
        }
    }

    fn notify(&self, state: MutexGuard<'_, State<W>>) {
        drop(state);
        self.changed.notify_one();
    }

    /// Commits, batch after batch, until nothing more comes. `commit` makes durable all that was written
    /// before it was called; if it fails, this is closed for good. What is quiet waits for company for so
    /// long.
    pub(crate) fn run<E>(
        &self,
        delay_quiet: Duration,
        mut commit: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        while self.next(delay_quiet) {
            if let Err(error) = commit() {
                self.fail();
                return Err(error);
            }
            self.committed();
        }
        Ok(())
    }

    /// Takes what is to be committed next; false once this is closed and everything is committed.
    fn next(&self, delay_quiet: Duration) -> bool {
        let mut state = self.lock();
        loop {
            let urgent = !state.batch.waiters.is_empty();
            match state.closed {
                Some(Closed::Failed) => return false,
                Some(Closed::ByOwner) if state.writing == 0 => {
                    let pending = urgent || state.batch.quiet;
                    if pending {
                        state.take_batch();
                    }
                    return pending;
                }
                _ if urgent => {
                    state.take_batch();
                    return true;
                }
                _ => {}
            }
            match self.wait(state, delay_quiet) {
                Ok(again) => state = again,
                Err(mut due) => {
                    due.take_batch();
                    return true;
                }
            }
        }
    }

    /// The commit under way is over, and what it covers is on disk. If this was failed meanwhile, who waited
    /// for it has been told so, and nobody is told twice.
    fn committed(&self) {
        let mut state = self.lock();
        let batch = std::mem::take(&mut state.committing);
        for key in &batch.keys {
            state.settled(key);
        }
        drop(state);
        for waiter in batch.waiters {
            waiter.told(Ok(()));
        }
    }

    /// Until something changes; `Err` if what is quiet has waited for long enough.
    #[cfg(not(all(test, idem_loom)))]
    #[allow(clippy::type_complexity, reason = "two ways to hold the same lock")]
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<W>>,
        delay_quiet: Duration,
    ) -> Result<MutexGuard<'a, State<W>>, MutexGuard<'a, State<W>>> {
        let waited = state.batch.quiet_since.map(|since| since.elapsed());
        let Some(left) = waited.map(|waited| delay_quiet.saturating_sub(waited)) else {
            let state = self.changed.wait(state);
            return Ok(state.unwrap_or_else(PoisonError::into_inner));
        };
        if left.is_zero() {
            return Err(state);
        }
        let state = self.changed.wait_timeout(state, left);
        Ok(state.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// In the model no time passes: what is quiet waits for company, or for the end.
    #[cfg(all(test, idem_loom))]
    #[allow(clippy::type_complexity, reason = "two ways to hold the same lock")]
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<W>>,
        _: Duration,
    ) -> Result<MutexGuard<'a, State<W>>, MutexGuard<'a, State<W>>> {
        Ok(self
            .changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W> Batch<W> {
    /// Something was written that nobody waits for.
    fn be_quiet(&mut self) {
        self.quiet = true;
        #[cfg(not(all(test, idem_loom)))]
        self.quiet_since.get_or_insert_with(Instant::now);
    }
}

impl<W> State<W> {
    fn take_batch(&mut self) {
        self.committing = std::mem::take(&mut self.batch);
    }

    fn settled(&mut self, key: &[u8]) {
        if let Some(count) = self.unsettled.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.unsettled.remove(key);
            }
        }
    }
}

impl<'a, W: Waiter> Writing<'a, W> {
    /// The write is visible. `waiter` is told once it is on disk.
    pub(crate) fn written(mut self, waiter: W) {
        let key = self.key.take();
        let mut state = self.end();
        if state.closed == Some(Closed::Failed) {
            drop(state);
            return waiter.told(Err(Closed::Failed));
        }
        state.batch.keys.extend(key);
        state.batch.waiters.push(waiter);
        self.commits.notify(state);
    }

    /// Nothing was written, nor will be.
    pub(crate) fn not_written(mut self) {
        let key = self.key.take();
        let mut state = self.end();
        if let Some(key) = key {
            state.settled(&key);
        }
        self.commits.notify(state);
    }

    /// It ends here: what is decided about it is decided under this lock.
    fn end(&mut self) -> MutexGuard<'a, State<W>> {
        self.ended = true;
        let commits = self.commits;
        let mut state = commits.lock();
        state.writing -= 1;
        state
    }
}

impl<W: Waiter> Drop for Writing<'_, W> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let key = self.key.take();
        let mut state = self.end();
        state.batch.keys.extend(key);
        let first = !state.batch.quiet;
        state.batch.be_quiet();
        if first || state.closed.is_some() {
            self.commits.notify(state);
        }
    }
}

#[cfg(all(test, idem_loom))]
#[path = "loom.rs"]
mod loom_checks;
