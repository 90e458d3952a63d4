//! How a person settles what no program can know.

use crate::{Answer, Completion, Error, Holder, IdempotencyStore, Update};

/// What a person found out about an operation that nobody attends any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The effect happened, and this is its answer: every repeat replays it.
    Complete(Answer),
    /// It is safe to run again: the holder is dead, and the effect did not happen or is idempotent.
    RunAgain,
    /// The holder is dead, and the key is to be vacant.
    Forget,
}

/// Settles an operation in flight, for good: [unresolved](crate::Condition::Unresolved), lapsed or even
/// live.
///
/// It writes with the token and attempt that it was shown ([`RecordInfo::holder`](crate::RecordInfo)),
/// even if the lease was renewed since: `RunAgain` and `Forget` *say that the holder is dead*, and one
/// that is not will be told [`Superseded`](Update::Superseded). If the record was taken over or settled
/// meanwhile, nothing changes and the outcome says so. `reason` goes into the log, for the audit.
///
/// Dropped: it may be settled, or may be later. Calling it again with the same holder is safe.
///
/// # Errors
/// Those of the store.
///
/// # Recipe: reconcile with the provider
/// List what lapsed, ask the provider by the derived key, complete or forget.
///
/// ```
/// use std::time::Duration;
/// use idem_core::{
///     Answer, DerivedKey, Error, IdempotencyStore, Inspect, Resolution, Response, resolve,
/// };
///
/// # struct Provider;
/// # impl Provider {
/// #     async fn find_charge(&self, _key: &DerivedKey) -> Result<Option<String>, Error> { Ok(None) }
/// # }
/// async fn reconcile(
///     store: &(impl IdempotencyStore + Inspect),
///     provider: &Provider,
///     longest_age: Option<Duration>, // as the requests ask for it
/// ) -> Result<(), Error> {
///     let mut after = None;
///     loop {
///         let page = store.lapsed(after.as_ref(), 100).await?;
///         for record in page.records {
///             // The others run again by themselves, with the next request.
///             if !record.needs_a_person(longest_age) {
///                 continue;
///             }
///             // Also ask whether the key is still remembered there: absent must mean "never charged".
///             let key = record.operation.derived_key("charge");
///             let (resolution, reason) = match provider.find_charge(&key).await? {
///                 Some(id) => {
///                     let answer = Answer::from(Response::new(201).body(id));
///                     (Resolution::Complete(answer), "found at the provider")
///                 }
///                 None => (Resolution::Forget, "unknown to the provider"),
///             };
///             resolve(store, &record.holder, resolution, reason).await?;
///         }
///         after = page.next;
///         if after.is_none() {
///             return Ok(());
///         }
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// #     reconcile(&idem_core::MemoryStore::new(), &Provider, None).await
/// # }
/// ```
pub async fn resolve<S: IdempotencyStore + ?Sized>(
    store: &S,
    holder: &Holder,
    resolution: Resolution,
    reason: &str,
) -> Result<Update, Error> {
    let (resolved_as, settled) = match resolution {
        Resolution::Complete(answer) => {
            let settled = match store.complete(holder, &answer).await {
                Ok(Completion::Completed { .. }) => Ok(Update::Done),
                Ok(Completion::AlreadyCompleted(replay)) => Ok(Update::AlreadyCompleted(replay)),
                Ok(Completion::Superseded) => Ok(Update::Superseded),
                Err(error) => Err(error),
            };
            ("complete", settled)
        }
        Resolution::RunAgain => ("run again", store.abandon(holder).await),
        Resolution::Forget => ("forget", store.release(holder).await),
    };
    let outcome = match &settled {
        Ok(Update::Done) => "done",
        Ok(Update::AlreadyCompleted(_)) => "already completed",
        Ok(Update::Superseded) => "superseded",
        Err(_) => "failed",
    };
    tracing::info!(record = %holder.record, attempt = holder.attempt, resolved_as, outcome, reason, "record resolved");
    settled
}
