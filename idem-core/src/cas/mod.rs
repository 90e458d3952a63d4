//! A complete store out of an engine's compare-and-swap.
//!
//! Read in this order: [`engine`] is what an engine has to offer, [`step`] is how a step of the machine
//! becomes a swap, [`index`] is how an ordered engine knows what is due; [`purge`], [`lapsed`] and
//! [`patrol`] walk.

mod engine;
mod index;
mod keys;
mod lapsed;
mod patrol;
mod planned;
mod purge;
mod step;
#[cfg(test)]
mod tests;
mod wait;
mod walk;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

pub use self::engine::{CompareAndSwap, Stored, Swapped};
pub use self::keys::MAX_ENGINE_KEY_LEN;
pub use self::planned::Planned;

use self::patrol::Hand;
use crate::machine::{self, Change};
use crate::sync::Mutex;
use crate::time::Clock;
use crate::waiters::Waiters;
use crate::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, Outcome,
    Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};

/// A complete store out of three functions: load, compare-and-swap, scan.
///
/// It loads a record, decides by the [state machine](crate::machine), and swaps in the next one if
/// nobody wrote in between; else it looks again. Everything else follows from that: a decision on a
/// stale record changes nothing.
///
/// | | |
/// | --- | --- |
/// | clock | injected: see [`new`](Self::new) |
/// | lost when, durable when acknowledged | as the engine: nothing is answered before it is as durable as the engine declares |
/// | largest response | no limit of its own; [`max_value_bytes`](Self::max_value_bytes) |
/// | `changed` | wakes at a write through this store, and at the latest after the [poll interval](Self::poll_interval), for what others wrote; it needs a tokio runtime with time enabled |
/// | a record that cannot be read | an error for its key, never vacant; purging and listing pass over it and log it |
///
/// # What calls cost
/// | call | calls of the engine |
/// | --- | --- |
/// | any, without a write | one load |
/// | complete, renew, abandon, release, takeover | a load and a swap; ordered: one swap more when a live lease is abandoned, or an operation under `Hold` is completed |
/// | reserve what is vacant | a load and a swap; ordered: two swaps more, for the index |
/// | a lost race | that again. A call loses only to one that won, so somebody always gets on; after 256 losses it gives up with a [transient](Error::is_transient) error |
/// | `lapsed`, ordered | a load for each record whose lease ended, from the cursor on, and two or three more calls for each index entry that was not put right since: a purge does that too |
/// | `lapsed`, not ordered | a scan of everything for each page, then a load for each record shown; memory for one page |
/// | `purge_expired`, ordered | what is due: three for each record that it removes, up to four for each of at most `limit` + 1024 stale entries in either index, and a look at 32 records |
/// | `purge_expired`, not ordered | a scan from the beginning until `limit` records are removed and one more is found: purge with large limits |
///
/// On an ordered engine, `more` of a purge may be true when only stale entries are left. It is false only
/// if no expired record is left, save one that lost its index entry in a crash within the wrong
/// instant; the next purges find it, 32 records at a time.
///
/// `lapsed` changes no record, but puts the index right where it is stale: it needs to be allowed to
/// write.
///
/// Two handles in one process should be one store in an [`Arc`](std::sync::Arc): only so they wake each
/// other.
///
/// See [`CompareAndSwap`] for a complete engine, and `examples/custom_store.rs` for one in use.
pub struct CasStore<E> {
    engine: E,
    clock: Box<dyn Clock>,
    waiters: Mutex<Waiters>,
    poll_interval: Duration,
    max_value_bytes: usize,
    tidied: Hand,
    patrolled: Hand,
}

/// How often a call may lose a race. Each loss is another call's gain, so an honest engine does not come
/// near it; one that always says `Lost` must not hang its callers.
const MOST_RACES: usize = 256;

fn too_many_races() -> Error {
    Error::unavailable(
        "others wrote this record all the time: try again",
        format!("{MOST_RACES} compare-and-swap calls in a row were lost"),
    )
}

impl<E> CasStore<E> {
    /// The longest poll interval: about 136 years.
    const LONGEST_POLL: Duration = Duration::from_secs(1 << 32);

    /// A store in this engine, by this clock.
    ///
    /// **One clock for all who share the records** (law T2): leases and retentions are instants of it,
    /// written into the records, so it must not run backwards, and must go on when a process starts
    /// anew. That rules out [`MonotonicClock`](crate::MonotonicClock) for records that outlive the
    /// process. An engine in the process takes a wall clock that never runs back; one on a server takes
    /// the server's, such as Redis's `TIME` or the `Date` of its answers, kept up between calls. Where a
    /// server shows no clock, hosts must be synchronised: a host that is ahead by more than what is left
    /// of a lease takes over too early, and what protects then is the token, and the derived key or
    /// [`Hold`](crate::OnLapse::Hold).
    pub fn new(engine: E, clock: impl Clock + 'static) -> Self {
        Self {
            engine,
            clock: Box::new(clock),
            waiters: Mutex::default(),
            poll_interval: Duration::from_millis(100),
            max_value_bytes: usize::MAX,
            tidied: Hand::default(),
            patrolled: Hand::default(),
        }
    }

    /// Sets after how long, at most, [`changed`](IdempotencyStore::changed) resolves for its caller to
    /// look again: between half of this and all of it, by chance. By default 100 ms.
    ///
    /// Writes through this store wake at once; this is for those of other processes. Each waiter costs
    /// one load in each interval. `Duration::MAX` is for an engine that one process has to itself, and
    /// that never applies a swap whose future was dropped.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval.clamp(Duration::from_millis(1), Self::LONGEST_POLL);
        self
    }

    /// Sets the most bytes that an encoded record may have: the response, the progress, and about 200
    /// bytes besides. By default there is no limit.
    ///
    /// What is over it is a [too large](Error::is_too_large) error before anything is written (law S1).
    /// For engines with a limit of their own, such as 1.5 MiB in etcd or 400 KiB in DynamoDB.
    #[must_use]
    pub fn max_value_bytes(mut self, bytes: usize) -> Self {
        self.max_value_bytes = bytes;
        self
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<E: CompareAndSwap> IdempotencyStore for CasStore<E> {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.step(&request.operation.record, |record, now| {
            machine::reserve(record, request, now)
        })
        .await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.step(&holder.record, |record, now| {
            machine::complete(record, holder, answer, now)
        })
        .await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.step(&holder.record, |record, now| {
            machine::renew(record, holder, terms, progress, now)
        })
        .await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.step(&holder.record, |record, now| {
            machine::abandon(record, holder, now)
        })
        .await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.step(&holder.record, |record, now| {
            machine::release(record, holder, now)
        })
        .await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.wait(record, within).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<E: CompareAndSwap> Inspect for CasStore<E> {
    async fn get(&self, id: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.step(id, |record, now| {
            let info = record.and_then(|record| machine::view(id, record, now));
            (info, Change::Keep)
        })
        .await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.lapsed_page(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        if E::ORDERED {
            self.purge_by_index(limit).await
        } else {
            self.purge_by_scan(limit).await
        }
    }
}

impl<E> fmt::Debug for CasStore<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CasStore")
            .field("clock", &self.clock)
            .field("poll_interval", &self.poll_interval)
            .field("max_value_bytes", &self.max_value_bytes)
            .finish_non_exhaustive()
    }
}
