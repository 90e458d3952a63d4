//! The contract of a store.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Answer, Completion, Error, Holder, Outcome, Progress, RecordId, ReserveRequest, Terms, Update,
};

/// Where records are kept: six methods, each one atomic step of the [state machine](crate::machine).
///
/// # The contract
/// - **One step.** A method reads the record, decides by the machine and writes, as one atomic step
///   under one reading of the store's own clock. The condition stands in the statement that writes:
///   never look first and write in a second call.
/// - **The machine decides.** Where a store and [`machine`](crate::machine) disagree, the store is
///   wrong.
/// - **Its own clock** (law T2). Callers pass durations. A store on a server uses the server's clock,
///   an embedded store one injected [`Clock`](crate::Clock).
/// - **Durable first** (law D1). What was acknowledged survives, to the degree that the store's docs
///   state, and no answer that rests on a record is given before that record is durable to the same
///   degree.
/// - **Bytes** (laws R7, R9, S1). Scope and key are compared byte for byte and cannot run into each
///   other. Every legal input comes back unchanged, or is refused before anything is written.
/// - **Outcomes are values.** `Err` says "could not", and whether the call
///   [may have been applied](Error::applied). A record that cannot be read is an error for its key,
///   never a vacant one.
///
/// # What a lie costs
/// `Reserved` for an operation that someone holds is a double charge. `Conflict` for a vacant one is a
/// delay. When in doubt, refuse.
///
/// # For implementers
/// All methods are required: a default that changes behaviour would become every store's permanent
/// bug. Wrappers forward every method; keep
/// `#[deny(clippy::missing_trait_methods)]` on them. Implemented for `&T`, `Box<T>` and `Arc<T>`, and
/// usable as `dyn IdempotencyStore`.
///
/// A dropped future may have done all, some or none of the one thing its method does; the write may
/// even happen later. That is why every write can be repeated with the same token.
///
/// ```
/// use idem_core::{
///     Fingerprint, IdempotencyStore, Key, MemoryStore, Operation, Outcome, ReserveRequest, Scope,
///     Terms, Token,
/// };
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), idem_core::Error> {
/// let store = MemoryStore::new();
/// let operation = Operation::new(Scope::new("acct_812")?, Key::new("k1")?, Fingerprint::raw(b"x"));
/// let mine = ReserveRequest::new(operation.clone(), Token::random(), Terms::default());
/// let other = ReserveRequest::new(operation, Token::random(), Terms::default());
///
/// assert!(matches!(store.reserve(&mine).await?, Outcome::Reserved { attempt: 1, .. }));
/// assert!(matches!(store.reserve(&other).await?, Outcome::Conflict { .. }));
/// // The same try again, as after a lost answer: the same reservation.
/// assert!(matches!(store.reserve(&mine).await?, Outcome::Reserved { attempt: 1, .. }));
/// # Ok(()) }
/// ```
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Reserves an operation, or says why not.
    ///
    /// **Atomicity**: of any number of callers at one instant, at most one is given `Reserved` for an
    /// attempt.
    ///
    /// **MUST** apply the first of these lines that fits: expired is vacant, mismatch, completed, own
    /// token, live, lapsed or abandoned. **MUST NOT** change anything unless the outcome is
    /// `Reserved`.
    ///
    /// **Outcomes**: [`Outcome`]. **Errors**: when the outcome is unknown, send the same request
    /// again. **Dropped**: the reservation may have been made, or may be later; the same token gets it,
    /// anybody else waits for its lease.
    ///
    /// **Laws**: R1 to R10, T1 to T3, S1, D1, L1.
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error>;

    /// Records the answer of an operation.
    ///
    /// **Atomicity**: the record changes only if `holder` holds it in that very step.
    ///
    /// **MUST** give back the response that stands when the holder had completed it already.
    /// **MUST NOT** change a completed record. An answer over the store's limit is a
    /// [too large](Error::is_too_large) error before anything is written.
    ///
    /// **Outcomes**: [`Completion`]. **Errors**: when the outcome is unknown, send it again.
    /// **Dropped**: the answer may be recorded, or may be later.
    ///
    /// **Laws**: C1 to C5, T3, S1, D1, L1.
    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error>;

    /// Extends the lease, counted from now, marks the reservation started, and saves progress if there
    /// is any.
    ///
    /// **Atomicity**: as for `complete`.
    ///
    /// **MUST** keep the saved progress when `progress` is `None`. **MUST NOT** shorten a lease, nor
    /// revive an abandoned record (`Superseded`).
    ///
    /// **Outcomes**: [`Update`]. **Errors**: when the outcome is unknown, send it again. **Dropped**:
    /// the lease may be extended, or may be later.
    ///
    /// **Laws**: C3 to C7, T1, T3, L1.
    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error>;

    /// Says that it is safe to run the operation again: ends the lease now and keeps the record.
    ///
    /// **Atomicity**: as for `complete`.
    ///
    /// **MUST** keep fingerprint and progress: another fingerprint is still a mismatch. Repeated, it
    /// changes nothing.
    ///
    /// **Outcomes**: [`Update`]. **Errors**: when the outcome is unknown, send it again; `Superseded`
    /// to a resend means that it is done. **Dropped**: it may be done, or may be later.
    ///
    /// **Laws**: C3 to C5, C7, T3, L1.
    async fn abandon(&self, holder: &Holder) -> Result<Update, Error>;

    /// Says that nothing happened: forgets the record.
    ///
    /// **Atomicity**: as for `complete`.
    ///
    /// **MUST NOT** remove a completed record, nor one that somebody else holds.
    ///
    /// **Outcomes**: [`Update`]. **Errors**: when the outcome is unknown, send it again; `Superseded`
    /// to a resend means that it is done. **Dropped**: it may be done, or may be later.
    ///
    /// **Laws**: C3 to C5, C8, L1.
    async fn release(&self, holder: &Holder) -> Result<Update, Error>;

    /// Resolves when the record may have changed, and in any case within `within`.
    ///
    /// **MUST** resolve once the record was written after the first poll of this future, as promptly as
    /// the store's docs say: no wake-up is lost (law W1). It may resolve early, and it does when the
    /// store cannot watch. Nothing rests on it but speed. The passing of time (a lease that lapses) is
    /// not a write.
    ///
    /// **Dropped**: nothing happened, and nothing is left behind.
    async fn changed(&self, record: &RecordId, within: Duration);
}
