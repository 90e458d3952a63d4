//! A store behind an unreliable connection.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use idem_core::{Cursor, Error, Inspect, LapsedPage, Purged, RecordId, RecordInfo};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use super::plan::{Fault, Faults};
use crate::Store;
use crate::call::{Call, Reply, store_of_calls};
use crate::random::Random;

/// A store behind an unreliable connection. Clones are the same connection; several connections to one
/// store are several processes.
///
/// Every call yields now and then before it takes effect and after, so that concurrent calls come in
/// any order. Calls of [`Inspect`] go through unharmed, as do [`changed`] and what is already under way
/// when the connection is [healed](Self::heal) or [cut](Self::cut).
///
/// It needs a tokio runtime with time enabled.
///
/// [`changed`]: idem_core::IdempotencyStore::changed
#[derive(Clone)]
pub struct Unreliable(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    random: Random,
    faults: Faults,
    cut: bool,
    trace: Vec<(Duration, Call, &'static str, Option<Fault>)>,
}

impl Unreliable {
    /// A connection to `store` on which `faults` happen, chosen by `seed`.
    pub fn new(store: Arc<dyn Store>, faults: Faults, seed: u64) -> Self {
        Self(Arc::new(Inner {
            store,
            begun: Instant::now(),
            state: Mutex::new(State {
                random: Random::new(seed),
                faults,
                cut: false,
                trace: Vec::new(),
            }),
        }))
    }

    /// From now on every new call goes well.
    pub fn heal(&self) {
        let mut state = self.state();
        state.faults = Faults::default();
        state.cut = false;
    }

    /// From now on every new call is refused: as if the process at this end had died.
    pub fn cut(&self) {
        self.state().cut = true;
    }

    /// How many calls went wrong so far, by what happened to them.
    pub fn injected(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for (_, _, _, fault) in &self.state().trace {
            let name = match fault {
                None => continue,
                Some(Fault::Refused) => "refused",
                Some(Fault::Lost) => "lost",
                Some(Fault::Unanswered) => "unanswered",
                Some(Fault::Slow(_)) => "slow",
                Some(Fault::Late(_)) => "late",
                Some(Fault::Copied(_)) => "copied",
                Some(Fault::Dropped(_)) => "dropped",
            };
            *counts.entry(name).or_default() += 1;
        }
        counts
    }

    /// Every call so far, with the moment at which it was made or took effect, and what happened to it:
    /// a line each, for the report of a failing test.
    pub fn trace(&self) -> Vec<(Duration, String)> {
        let state = self.state();
        let line = |(at, call, what, fault): &(_, _, _, Option<Fault>)| {
            let fault = fault
                .map(|fault| format!(" [{fault:?}]"))
                .unwrap_or_default();
            (*at, format!("{what}{call}{fault}"))
        };
        state.trace.iter().map(line).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: &'static str, call: &Call, fault: Option<Fault>) {
        let entry = (self.0.begun.elapsed(), call.clone(), what, fault);
        self.state().trace.push(entry);
    }

    async fn call(&self, call: Call) -> Result<Reply, Error> {
        let (fault, before, after) = {
            let mut state = self.state();
            let faults = state.faults;
            let fault = faults.draw(&mut state.random);
            let fault = if state.cut {
                Some(Fault::Refused)
            } else {
                fault
            };
            (fault, state.random.below(3), state.random.below(3))
        };
        self.note("", &call, fault);
        step_aside(before).await;
        let result = self.meet(fault, call).await;
        step_aside(after).await;
        result
    }

    async fn meet(&self, fault: Option<Fault>, call: Call) -> Result<Reply, Error> {
        let unknown = || Error::unknown_outcome("connection lost", "planted");
        match fault {
            None => call.send(&*self.0.store).await,
            Some(Fault::Refused) => Err(Error::unavailable("connection refused", "planted")),
            Some(Fault::Lost) => Err(unknown()),
            Some(Fault::Unanswered) => {
                call.send(&*self.0.store).await?;
                Err(unknown())
            }
            Some(Fault::Slow(delay)) => self
                .deliver(call, delay, "after a delay: ")
                .await
                .unwrap_or_else(|_| Err(unknown())),
            Some(Fault::Late(delay)) => {
                drop(self.deliver(call, delay, "late: "));
                Err(unknown())
            }
            Some(Fault::Copied(delay)) => {
                let answer = call.send(&*self.0.store).await;
                drop(self.deliver(call, delay, "an old copy: "));
                answer
            }
            Some(Fault::Dropped(polls)) => {
                let answer = dropped_after(polls, call.send(&*self.0.store)).await;
                answer.map_or_else(|| Err(unknown()), |answer| answer.and(Err(unknown())))
            }
        }
    }

    /// Makes the call after `delay`, whether or not anybody waits for its answer.
    fn deliver(
        &self,
        call: Call,
        delay: Duration,
        what: &'static str,
    ) -> tokio::task::JoinHandle<Result<Reply, Error>> {
        let this = self.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            this.note(what, &call, None);
            call.send(&*this.0.store).await
        })
    }

    async fn wait(&self, record: &RecordId, within: Duration) {
        self.0.store.changed(record, within).await;
    }
}

async fn step_aside(times: u64) {
    for _ in 0..times {
        yield_now().await;
    }
}

/// Polls a future so many times, and drops it where it stands. `None`: it was dropped.
pub(crate) async fn dropped_after<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

store_of_calls!(impl[] for Unreliable);

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for Unreliable {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.0.store.get(record).await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.0.store.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        self.0.store.purge_expired(limit).await
    }
}

impl fmt::Debug for Unreliable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.state().trace.len();
        f.debug_struct("Unreliable")
            .field("calls", &calls)
            .finish_non_exhaustive()
    }
}
