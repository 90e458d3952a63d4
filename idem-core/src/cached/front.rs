//! A cache in front of transactions, in which an operation is reserved, run and completed at once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Cache, Cached, rules};
use crate::{Answer, Completion, Operation, Outcome, RecordId, Replay, ReserveRequest};

/// The cache of a [`Cached`], as the transactional mode of a store sees it: from [`Cached::front`]. For those who
/// write such a mode; `idem_postgres::Transactions::behind` has it built in.
///
/// What a transaction reserves and completes does not go through the [`Cached`], so the mode tells the cache itself, in
/// this order, and the rules of [`Cached`] hold:
///
/// 1. [`look_up`](Self::look_up), before it begins: a replay or a conflict is the answer, and nothing is opened.
/// 2. [`reserved`](Self::reserved), once the store has granted it inside the transaction. What it replays instead is
///    for [`replayed`](Self::replayed), after the end of the transaction.
/// 3. [`ends`](Self::ends), after the effect and before the commit or the rollback.
/// 4. [`committed`](Self::committed), once the commit is acknowledged, and not before: **what is not committed is never
///    kept as an answer.** A commit whose answer was lost is not told.
///
/// Who reserves through the [`Cached`] and completes in a transaction of one's own (`PostgresStore::commit_in`) may take
/// steps 3 and 4 around it, once the [heartbeat is stopped](crate::Reservation::stop_heartbeat). Otherwise the mark
/// refuses until it ends, and the first repeat after that asks the store.
///
/// A process that dies between 2 and 3 leaves a mark: a false conflict until it ends, after a second by
/// [default](Cached::marks). One that dies between 3 and 4 leaves nothing; the next repeat asks the store.
///
/// Each call waits for the cache as long as the [`Cached`] does, and never fails: what a cache does not do costs speed.
/// Dropped: it may be done or not.
#[derive(Clone)]
pub struct CacheFront {
    cached: Cached<(), Arc<dyn Cache>>,
    refuses: bool,
}

impl<S, C: Cache + Clone + 'static> Cached<S, C> {
    /// This cache with these settings, for transactions of the store behind it, and for no other store's.
    pub fn front(&self) -> CacheFront {
        CacheFront {
            cached: Cached {
                store: (),
                cache: Arc::new(self.cache.clone()),
                longest_mark: self.longest_mark,
                cache_timeout: self.cache_timeout,
                granted: Arc::clone(&self.granted),
            },
            refuses: true,
        }
    }
}

impl CacheFront {
    /// The same for requests that wait for the transaction before them: no marks, and none that is found refuses.
    #[must_use]
    pub fn without_marks(mut self) -> Self {
        self.cached.longest_mark = Duration::ZERO;
        self.refuses = false;
        self
    }

    /// What the cache knows: a replay, a conflict, or `None`.
    pub async fn look_up(&self, operation: &Operation) -> Option<Outcome> {
        let known = self.cached.look_up(operation).await?;
        let passed_over = !self.refuses && matches!(known, Outcome::Conflict { .. });
        (!passed_over).then_some(known)
    }

    /// After the store has granted this request inside the transaction; `elapsed` since before it was asked. Marks it,
    /// for [the time of a mark](Cached::marks): nothing renews that within a transaction.
    pub async fn reserved(&self, request: &ReserveRequest, elapsed: Duration) {
        let longest = self.cached.longest_mark();
        let keep = rules::after_grant(request, longest, elapsed);
        self.cached.keep(&request.operation.record, keep).await;
    }

    /// Keeps what the store replayed; `elapsed` since before it was asked. **Only after the transaction has ended, and
    /// only if that was not what completed the record**: an answer of its own may have been rolled back.
    pub async fn replayed(&self, operation: &Operation, replay: &Replay, elapsed: Duration) {
        let keep = rules::after_replay(operation.fingerprint, replay, elapsed);
        self.cached.keep(&operation.record, keep).await;
    }

    /// Before the commit or the rollback: removes the mark.
    pub async fn ends(&self, record: &RecordId) {
        self.cached.remove_mark(record).await;
    }

    /// After the commit of this answer, which the store remembers for so long; `elapsed` since before the completion
    /// was asked for, or longer.
    pub async fn committed(
        &self,
        operation: &Operation,
        answer: &Answer,
        remembered_for: Duration,
        elapsed: Duration,
    ) {
        let completion = Completion::Completed { remembered_for };
        let keep = rules::after_complete(operation.fingerprint, answer, &completion, elapsed);
        self.cached.keep(&operation.record, keep).await;
    }
}

impl fmt::Debug for CacheFront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheFront")
            .field("longest_mark", &self.cached.longest_mark)
            .field("cache_timeout", &self.cached.cache_timeout)
            .field("refuses", &self.refuses)
            .finish_non_exhaustive()
    }
}
