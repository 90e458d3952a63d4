//! What a handler gets: the proof that its caller won.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::calls::Calls;
use crate::{DerivedKey, Error, Holder, Operation, Progress, Update};

/// The proof that this caller won: what a handler gets. Clones are handles on the same reservation.
///
/// It is held until the handler's verdict is recorded. Meanwhile a heartbeat renews the lease.
#[derive(Clone)]
pub struct Reservation(Arc<Inner>);

struct Inner {
    operation: Operation,
    holder: Holder,
    progress: Option<Progress>,
    calls: Calls,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    superseded: bool,
    /// A heartbeat renews the lease, or is about to.
    beats: bool,
    /// The heartbeat is asked to stop, for good.
    stop_beating: bool,
    /// The handler has ended: handles that are left must not renew.
    over: bool,
}

impl Reservation {
    pub(crate) fn new(
        operation: Operation,
        holder: Holder,
        progress: Option<Progress>,
        calls: Calls,
    ) -> Self {
        Self(Arc::new(Inner {
            operation,
            holder,
            progress,
            calls,
            state: watch::Sender::new(State::default()),
        }))
    }

    /// The operation that is reserved.
    pub fn operation(&self) -> &Operation {
        &self.0.operation
    }

    /// What writes to the store name: record, token and attempt.
    pub fn holder(&self) -> &Holder {
        &self.0.holder
    }

    /// 1 for the first run; one more each time the operation is taken over.
    pub fn attempt(&self) -> u32 {
        self.0.holder.attempt
    }

    /// What the attempt before had saved, if anything: where to go on.
    pub fn progress(&self) -> Option<&Progress> {
        self.0.progress.as_ref()
    }

    /// A key for a downstream provider, the same on every attempt: see [`DerivedKey`].
    pub fn derived_key(&self, label: &str) -> DerivedKey {
        self.0.operation.derived_key(label)
    }

    /// Saves progress for a successor, and renews the lease (law C6).
    ///
    /// Save *before* the step that must not be repeated, or make that step idempotent by a
    /// [derived key](Self::derived_key): a save whose answer was lost may arrive late, and after a
    /// later one.
    ///
    /// # Errors
    /// [Superseded](Error::is_superseded): another attempt owns the operation; stop, the answer of this
    /// one will not be used; or the run has ended, and this is a handle left over. [Too large](Error::is_too_large) above [`Progress::MAX_LEN`] bytes.
    /// [Unavailable](Error::is_unavailable) when the store did not answer.
    ///
    /// Dropped: it may be saved, or may be later.
    pub async fn save_progress(&self, bytes: impl Into<bytes::Bytes>) -> Result<(), Error> {
        let progress = Progress::new(bytes)?;
        let State {
            superseded, over, ..
        } = *self.0.state.borrow();
        if superseded || over {
            return Err(if over {
                Error::run_ended()
            } else {
                Error::superseded()
            });
        }
        match self
            .0
            .calls
            .renew(self.holder(), Some(&progress))
            .await?
            .value
        {
            Update::Done => Ok(()),
            Update::Superseded | Update::AlreadyCompleted(_) => {
                self.mark_superseded();
                Err(Error::superseded())
            }
        }
    }

    /// Whether a renewal has found that this attempt no longer owns the operation. Then stop: its
    /// answer will not be used.
    pub fn is_superseded(&self) -> bool {
        self.0.state.borrow().superseded
    }

    /// Resolves once [`is_superseded`](Self::is_superseded), or once the run has ended: to end a long
    /// handler early, or a task that watches over it.
    ///
    /// Dropped: nothing happened.
    pub async fn superseded(&self) {
        // The sender lives in `self`, so this cannot end otherwise.
        let mut state = self.0.state.subscribe();
        let _ = state.wait_for(|state| state.superseded || state.over).await;
    }

    /// Stops the heartbeat for good, and waits until no renewal is under way.
    ///
    /// For a handler that completes its record in a transaction of its own
    /// ([`Verdict::AlreadyRecorded`](crate::Verdict::AlreadyRecorded)): stop the heartbeat before the
    /// transaction takes its snapshot or its locks, so that neither waits for, nor fails on, a
    /// renewal. From then on what is left of the lease has to be enough: two thirds of it, usually.
    ///
    /// Dropped: it stops all the same.
    pub async fn stop_heartbeat(&self) {
        self.ask_heartbeat_to_stop();
        // The sender lives in `self`, so this cannot end otherwise.
        let mut state = self.0.state.subscribe();
        let _ = state.wait_for(|state| !state.beats).await;
    }

    pub(crate) fn ask_heartbeat_to_stop(&self) {
        self.0.state.send_modify(|state| state.stop_beating = true);
    }

    pub(crate) fn mark_superseded(&self) {
        self.0.state.send_modify(|state| state.superseded = true);
    }

    pub(crate) fn mark_over(&self) {
        self.0.state.send_modify(|state| state.over = true);
    }
}

/// Says that a heartbeat runs, for as long as it lives: also if the runtime ends it.
pub(crate) struct Beating(Reservation);

impl Beating {
    pub(crate) fn begin(reservation: Reservation) -> Self {
        reservation.0.state.send_modify(|state| state.beats = true);
        Self(reservation)
    }

    pub(crate) fn reservation(&self) -> &Reservation {
        &self.0
    }

    pub(crate) async fn asked_to_stop(&self) {
        // The sender lives in `self`, so this cannot end otherwise.
        let mut state = self.0.0.state.subscribe();
        let _ = state.wait_for(|state| state.stop_beating).await;
    }
}

impl Drop for Beating {
    fn drop(&mut self) {
        self.0.0.state.send_modify(|state| state.beats = false);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("holder", &self.0.holder)
            .field("progress", &self.0.progress)
            .field("superseded", &self.is_superseded())
            .finish_non_exhaustive()
    }
}
