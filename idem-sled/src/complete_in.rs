//! The third of three steps: the result of a provider's effect, and the completion, in one transaction.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use idem_core::machine;
use idem_core::{Answer, Error, Holder, Panic, Replay, Reservation};

use crate::run_in::standing;
use crate::transaction::{Broken, Decided, Ended};
use crate::{EffectTree, SledStore, TreeInTransaction};

/// Why a record was not completed in a transaction. **Nothing was written**, unless the store's error says
/// that nobody knows.
#[derive(Debug)]
pub enum NotCompleted<E> {
    /// Another answer stands.
    Standing(Replay),
    /// Another attempt took the operation over, or it was settled.
    Superseded,
    /// What was to be written with it failed.
    Effect(E),
    /// The same, by a panic.
    Panicked(Panic),
    /// sled failed, or the store is closed.
    Store(Error),
}

impl<E> fmt::Display for NotCompleted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standing(_) => "another answer stands: nothing was written",
            Self::Superseded => "another attempt owns the operation: nothing was written",
            Self::Effect(_) => "what was to be written with the completion failed",
            Self::Panicked(_) => "what was to be written with the completion panicked",
            Self::Store(_) => "the record could not be completed",
        })
    }
}

impl<E: StdError + 'static> StdError for NotCompleted<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Effect(error) => Some(error),
            Self::Standing(_) | Self::Superseded | Self::Panicked(_) => None,
        }
    }
}

impl<E> From<Broken<E>> for NotCompleted<E> {
    fn from(broken: Broken<E>) -> Self {
        match broken {
            Broken::Store(error) => Self::Store(error),
            Broken::Handler(error) => Self::Effect(error),
            Broken::Panicked(panic) => Self::Panicked(panic),
        }
    }
}

impl SledStore {
    /// Completes the record of `reservation` together with what `effect` writes to the trees: the third step of
    /// *reserve; call the provider with the derived key; record result and completion together*.
    ///
    /// It stops the heartbeat for good. Once it has returned, tell the executor by
    /// [`Verdict::AlreadyRecorded`](idem_core::Verdict::AlreadyRecorded), or answer with `idem_tower`'s
    /// `RecordedAnswer`. `effect` runs only if the reservation still stands, and under the rules of the handler of
    /// [`run_in`](crate::Transactions::run_in): it may run more than once.
    ///
    /// Gives for how long the answer is remembered; effect and completion are on disk then.
    ///
    /// ```
    /// # use idem_core::*;
    /// # use idem_sled::*;
    /// # async fn check(store: SledStore, payments: EffectTree, reservation: Reservation) -> Result<(), Box<dyn std::error::Error>> {
    /// let charge = "ch_1"; // from the provider, by reservation.derived_key("charge")
    /// let answer = Response::new(201).body("paid");
    /// store
    ///     .complete_in([&payments], &reservation, answer, move |[payments]| {
    ///         payments.insert(charge, "150.00");
    ///         Ok::<_, sled::Error>(())
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`NotCompleted`].
    ///
    /// Dropped: the transaction goes on to its end, if it has begun.
    pub async fn complete_in<H, E, const T: usize>(
        &self,
        trees: [&EffectTree; T],
        reservation: &Reservation,
        answer: impl Into<Answer>,
        effect: H,
    ) -> Result<Duration, NotCompleted<E>>
    where
        H: Fn([&TreeInTransaction; T]) -> Result<(), E> + Send + 'static,
        E: Send + 'static,
    {
        let answer = answer.into();
        reservation.stop_heartbeat().await;
        self.complete_held_in(trees, reservation.holder(), answer, effect)
            .await
    }

    /// The same for a reservation that has no heartbeat: one made by
    /// [`reserve`](idem_core::IdempotencyStore::reserve).
    ///
    /// # Errors
    /// As for [`complete_in`](Self::complete_in).
    ///
    /// Dropped: the transaction goes on to its end.
    pub async fn complete_held_in<H, E, const T: usize>(
        &self,
        trees: [&EffectTree; T],
        holder: &Holder,
        answer: impl Into<Answer>,
        effect: H,
    ) -> Result<Duration, NotCompleted<E>>
    where
        H: Fn([&TreeInTransaction; T]) -> Result<(), E> + Send + 'static,
        E: Send + 'static,
    {
        let inner = self.inner();
        let trees = EffectTree::all_of(trees.into_iter(), &inner.cas.engine().shared.core)
            .map_err(NotCompleted::Store)?;
        let record = holder.record.clone();
        let (holder, answer) = (holder.clone(), answer.into());
        let ended = inner.transact(&record, trees, move |inner, stored, trees| {
            let now = inner.cas.now();
            let completing =
                inner
                    .cas
                    .plan(&holder.record, stored.as_deref(), now, |record, now| {
                        machine::complete(record, &holder, &answer, now)
                    })?;
            let remembered_for = match standing(completing.answer) {
                Ok(remembered_for) => remembered_for,
                Err(replay) => return Ok(Decided::Nothing(replay)),
            };
            effect(trees).map_err(Broken::Handler)?;
            let planned = idem_core::Planned {
                answer: remembered_for,
                writes: completing.writes,
            };
            Ok(Decided::Write {
                planned,
                with_effect: true,
            })
        });
        match ended.await? {
            Ended::Committed(remembered_for) => Ok(remembered_for),
            Ended::Nothing(Some(replay)) => Err(NotCompleted::Standing(replay)),
            Ended::Nothing(None) => Err(NotCompleted::Superseded),
        }
    }
}
