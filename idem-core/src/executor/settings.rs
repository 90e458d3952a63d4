//! How the executor behaves, and how to say so.

use std::sync::Arc;
use std::time::Duration;

use super::Idempotency;
use crate::time::millis_rounded_up;
use crate::{Error, IdempotencyStore, OnLapse, Terms};

/// What to do with a request whose operation is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Answer `Conflict` at once.
    #[default]
    Reject,
    /// Wait for the answer and replay it; take over if its holder dies or abandons. After `up_to`,
    /// answer `Conflict`. An unresolved operation is not waited for.
    Wait {
        /// The longest to wait.
        up_to: Duration,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) terms: Terms,
    pub(crate) on_conflict: OnConflict,
    pub(crate) on_lapse: OnLapse,
    pub(crate) longest_age: Option<Duration>,
    pub(crate) heartbeat: Option<Heartbeat>,
    pub(crate) response_limit: usize,
    pub(crate) call_timeout: Duration,
    pub(crate) resend_for: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat {
    pub(crate) every: Duration,
    pub(crate) ceiling: Duration,
}

/// Settings of an [`Idempotency`]. Start from [`Idempotency::builder`].
///
/// ```
/// use std::time::Duration;
/// use idem_core::{Idempotency, MemoryStore, OnConflict, OnLapse};
///
/// let idempotency = Idempotency::builder(MemoryStore::new())
///     .lease(Duration::from_secs(30))
///     .retention(Duration::from_secs(48 * 3600))
///     .on_conflict(OnConflict::Wait { up_to: Duration::from_secs(5) })
///     .on_lapse(OnLapse::Hold)
///     .build()?;
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "call `build`"]
pub struct Builder {
    store: Arc<dyn IdempotencyStore>,
    lease: Duration,
    retention: Duration,
    on_conflict: OnConflict,
    on_lapse: OnLapse,
    longest_age: Option<Duration>,
    heartbeat: Beat,
    heartbeat_ceiling: Duration,
    response_limit: usize,
    call_timeout: Duration,
    resend_for: Duration,
}

#[derive(Clone, Copy)]
enum Beat {
    ThirdOfTheLease,
    Every(Duration),
    Never,
}

impl Builder {
    pub(super) fn new(store: Arc<dyn IdempotencyStore>) -> Self {
        let terms = Terms::default();
        Self {
            store,
            lease: terms.lease(),
            retention: terms.retention(),
            on_conflict: OnConflict::default(),
            on_lapse: OnLapse::default(),
            longest_age: None,
            heartbeat: Beat::ThirdOfTheLease,
            heartbeat_ceiling: Duration::from_secs(15 * 60),
            response_limit: 1 << 20,
            call_timeout: Duration::from_secs(2),
            resend_for: Duration::from_secs(5),
        }
    }

    /// How long a reservation stands unattended: for how long a crash may block a key. Default 60 s.
    /// A handler may run for longer, since a heartbeat renews it.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a record is remembered: for how long clients may retry. Default 24 h. See [`Terms`] for
    /// what to publish.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// What to do with a request whose operation is in flight. Default: reject.
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// What happens to an operation whose holder died. Default: [`OnLapse::RunAgain`], which needs an
    /// effect that is idempotent by the derived key or by a transaction. Where it cannot be, choose
    /// [`OnLapse::Hold`].
    pub fn on_lapse(mut self, on_lapse: OnLapse) -> Self {
        self.on_lapse = on_lapse;
        self
    }

    /// The longest age for running again, by [`OnLapse::RunAgain`]: an operation that was first
    /// reserved so long ago or longer is not taken over; it stays unresolved until a person settles it
    /// or it expires. Default: none.
    ///
    /// Set it to what the provider remembers of a derived key, less the [`lease`](Self::lease) (a
    /// takeover may begin so long after it was granted, and no later) and the longest that a handler may
    /// take. No more is needed, and no less is enough: both are explored exhaustively.
    pub fn longest_age(mut self, longest_age: Duration) -> Self {
        self.longest_age = Some(longest_age);
        self
    }

    /// Renews the lease of a running handler so often. Default: every third of the lease.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = Beat::Every(every);
        self
    }

    /// Never renews the lease by itself: a handler that runs for longer may be taken over.
    pub fn no_heartbeat(mut self) -> Self {
        self.heartbeat = Beat::Never;
        self
    }

    /// For how long the heartbeat goes on: a handler that hangs must not hold its key for ever.
    /// Default 15 minutes.
    pub fn heartbeat_ceiling(mut self, ceiling: Duration) -> Self {
        self.heartbeat_ceiling = ceiling;
        self
    }

    /// The largest response to keep, in bytes as encoded. Default 1 MiB. A larger one reaches its
    /// caller, and completes the record without its body: repeats are told so, and nothing runs twice.
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.response_limit = bytes;
        self
    }

    /// How long one store call may take (default 2 s), and for how long a call without an answer is
    /// sent again with the same token (default 5 s). A store's own limit on a statement should be
    /// shorter than `one_call`, so that a blocked statement never outlives its caller.
    pub fn store_timeouts(mut self, one_call: Duration, resend_for: Duration) -> Self {
        self.call_timeout = one_call;
        self.resend_for = resend_for;
        self
    }

    /// The executor with these settings.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid), saying what is allowed: a zero duration; a lease of more than half
    /// the retention; a heartbeat that is not shorter than the lease.
    pub fn build(self) -> Result<Idempotency, Error> {
        let terms = Terms::new(self.lease, self.retention)?;
        for (name, value) in [
            ("longest age", self.longest_age.unwrap_or(Duration::MAX)),
            ("heartbeat ceiling", self.heartbeat_ceiling),
            ("store timeout of one call", self.call_timeout),
            ("store timeout of all resends", self.resend_for),
        ] {
            if value.is_zero() {
                return Err(Error::invalid(format!("{name} is zero: more is needed")));
            }
        }
        let every = match self.heartbeat {
            Beat::Never => None,
            Beat::Every(every) if every.is_zero() => {
                return Err(Error::invalid(
                    "heartbeat is zero: to have none, use no_heartbeat",
                ));
            }
            Beat::Every(every) if every >= terms.lease() => {
                return Err(Error::invalid(format!(
                    "heartbeat {every:?} is not shorter than the lease {:?}",
                    terms.lease()
                )));
            }
            Beat::Every(every) => Some(every),
            Beat::ThirdOfTheLease => {
                Some(Duration::from_millis(millis_rounded_up(terms.lease() / 3)))
            }
        };
        let settings = Settings {
            terms,
            on_conflict: self.on_conflict,
            on_lapse: self.on_lapse,
            longest_age: self.longest_age,
            heartbeat: every.map(|every| Heartbeat {
                every,
                ceiling: self.heartbeat_ceiling,
            }),
            response_limit: self.response_limit,
            call_timeout: self.call_timeout,
            resend_for: self.resend_for,
        };
        Ok(Idempotency::with_settings(self.store, settings))
    }
}
