//! The cache before transactions, if there is one.

use std::time::Duration;

use idem_core::{
    Answer, Cache, CacheFront, Cached, Executed, Operation, Outcome, RecordId, ReserveRequest,
};

use crate::{PostgresStore, Transactions};

impl Transactions {
    /// Transactions of the store behind a cache: what was committed is replayed, and rapid repeats of what runs are
    /// refused, without opening one.
    ///
    /// The cache gets an answer only after its commit. It gets a mark before the handler runs, which refuses for its
    /// [time](Cached::marks), a second by default, however long the handler takes: later repeats ask the database. So the
    /// transaction takes as much longer as a put and a removal take, at most [twice the
    /// time](Cached::cache_timeout) that a call of the cache may take; [without marks](Cached::marks) it does not. If
    /// the process dies, or the handler panics and the mark cannot be removed, the transaction rolls back and the
    /// mark refuses until it ends, after a second by default.
    ///
    /// ```no_run
    /// use idem_core::{Cache, Cached, Operation, Response};
    /// use idem_postgres::{EffectConnection, PostgresStore, Transactions, sqlx};
    ///
    /// # async fn pay<C: Cache + Clone + 'static>(store: PostgresStore, cache: C, pool: &sqlx::PgPool, operation: Operation)
    /// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let cached = Cached::new(store, cache); // for the routes that are not by hand as well
    /// let pay = async |mut connection: EffectConnection, _| {
    ///     sqlx::query("INSERT INTO payments DEFAULT VALUES").execute(&mut *connection).await?;
    ///     Ok::<_, sqlx::Error>(Response::new(201).body("paid"))
    /// };
    /// let executed = Transactions::behind(&cached).run_in(pool, operation, pay).await?;
    /// # _ = executed; Ok(()) }
    /// ```
    pub fn behind<C: Cache + Clone + 'static>(cached: &Cached<PostgresStore, C>) -> Self {
        let mut transactions = cached.store().transactions();
        transactions.before = Before(Some(cached.front()));
        transactions
    }
}

/// What transactions tell the cache, in the order that [`CacheFront`] states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before(Option<CacheFront>);

impl Before {
    /// For those who wait for a commit instead of being refused.
    pub(crate) fn without_marks(self) -> Self {
        Self(self.0.map(CacheFront::without_marks))
    }

    pub(crate) async fn look_up(&self, operation: &Operation) -> Option<Executed> {
        self.0.as_ref()?.look_up(operation).await.map(refused)
    }

    pub(crate) async fn reserved(&self, request: &ReserveRequest, elapsed: Duration) {
        if let Some(front) = &self.0 {
            front.reserved(request, elapsed).await;
        }
    }

    /// After the rollback.
    pub(crate) async fn refused(
        &self,
        request: &ReserveRequest,
        outcome: &Outcome,
        elapsed: Duration,
    ) {
        if let (Some(front), Outcome::Replay(replay)) = (&self.0, outcome) {
            front.replayed(&request.operation, replay, elapsed).await;
        }
    }

    pub(crate) async fn ends(&self, record: &RecordId) {
        if let Some(front) = &self.0 {
            front.ends(record).await;
        }
    }

    pub(crate) async fn committed(
        &self,
        operation: &Operation,
        answer: &Answer,
        remembered_for: Duration,
        elapsed: Duration,
    ) {
        if let Some(front) = &self.0 {
            front
                .committed(operation, answer, remembered_for, elapsed)
                .await;
        }
    }
}

/// What becomes of a request that does not run, by what it was told instead of `Reserved`.
pub(crate) fn refused(outcome: Outcome) -> Executed {
    match outcome {
        Outcome::Replay(replay) => Executed::Replayed(replay),
        Outcome::Conflict { retry_after } => Executed::Conflict { retry_after },
        Outcome::Mismatch => Executed::Mismatch,
        // Nobody asks this of it; whoever did would find out by trying again.
        Outcome::Reserved { .. } => Executed::Conflict {
            retry_after: Some(Duration::from_millis(1)),
        },
    }
}
