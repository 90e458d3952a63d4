//! What a reservation asks for: how long it stands, and how long it is remembered.

use std::time::Duration;

use crate::Error;
use crate::time::millis_rounded_up;

/// How long a reservation stands unattended (the lease), and how long its record is remembered (the
/// retention).
///
/// Two settings, never one: a lease is as long as a crash may block a key, a retention as long as
/// clients may retry. Both are rounded up to whole milliseconds and saturate at [`Terms::MAX_LEASE`]
/// and [`Terms::MAX_RETENTION`] (law T1); a store may state lower bounds of its own.
///
/// # What to publish
/// A record is remembered for at least the retention after the first request, and for at least half of
/// it after the answer: whenever a lease is set or ended or a record is completed, and less than half
/// the retention would be left after that, the retention is counted anew from that moment (law T3). That is
/// why twice the lease must fit into it.
///
/// ```
/// use std::time::Duration;
/// use idem_core::Terms;
///
/// let terms = Terms::new(Duration::from_secs(30), Duration::from_secs(24 * 3600))?;
/// assert_eq!(terms.lease(), Duration::from_secs(30));
/// assert!(Terms::new(Duration::from_secs(30), Duration::from_secs(59)).is_err());
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    lease: Duration,
    retention: Duration,
}

impl Terms {
    /// The longest lease: 2^52 milliseconds, about 142 000 years.
    pub const MAX_LEASE: Duration = Duration::from_millis(1 << 52);

    /// The longest retention: 2^53 milliseconds, twice [`Terms::MAX_LEASE`].
    pub const MAX_RETENTION: Duration = Duration::from_millis(1 << 53);

    /// A lease and a retention.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if one is zero, or if twice the lease is longer than the retention
    /// after both were rounded and saturated.
    pub fn new(lease: Duration, retention: Duration) -> Result<Self, Error> {
        if lease.is_zero() || retention.is_zero() {
            let which = if lease.is_zero() {
                "lease"
            } else {
                "retention"
            };
            return Err(Error::invalid(format!(
                "{which} is zero: at least 1 ms is needed"
            )));
        }
        let whole = |duration, bound: Duration| {
            Duration::from_millis(millis_rounded_up(duration)).min(bound)
        };
        let lease = whole(lease, Self::MAX_LEASE);
        let retention = whole(retention, Self::MAX_RETENTION);
        if 2 * lease > retention {
            return Err(Error::invalid(format!(
                "lease {lease:?} is more than half the retention {retention:?}: twice the lease must fit into it"
            )));
        }
        Ok(Self { lease, retention })
    }

    /// How long a reservation stands unattended: whole milliseconds.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// How long a record is remembered: whole milliseconds.
    pub fn retention(&self) -> Duration {
        self.retention
    }
}

/// A lease of 60 seconds, a retention of 24 hours.
impl Default for Terms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            retention: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// What a reservation asks for if its lease lapses without a word from its holder.
///
/// It is written into the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnLapse {
    /// The next request runs the operation again. Right where the effect is idempotent by itself: in
    /// one transaction with the key, or deduplicated by the provider through the
    /// [derived key](crate::DerivedKey).
    #[default]
    RunAgain,
    /// Never run it a second time without a person: whether the effect happened is unknown, and the
    /// record stays unresolved until someone [resolves](crate::resolve) it.
    Hold,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn t1_zero_is_refused() {
        for (lease, retention, which) in [
            (Duration::ZERO, MS, "lease"),
            (MS, Duration::ZERO, "retention"),
        ] {
            let error = Terms::new(lease, retention).unwrap_err();
            assert!(error.is_invalid());
            assert_eq!(
                error.to_string(),
                format!("{which} is zero: at least 1 ms is needed")
            );
        }
    }

    #[test]
    fn t1_the_longest_durations_saturate_together() {
        let terms = Terms::new(Duration::MAX, Duration::MAX).unwrap();
        assert_eq!(terms.lease(), Terms::MAX_LEASE);
        assert_eq!(terms.retention(), Terms::MAX_RETENTION);
    }

    #[test]
    fn twice_the_lease_must_fit_into_the_retention() {
        assert!(Terms::new(MS, 2 * MS).is_ok());
        assert!(Terms::new(MS, MS).unwrap_err().is_invalid());
        assert!(
            Terms::new(Duration::MAX, Duration::from_secs(86_400))
                .unwrap_err()
                .is_invalid()
        );
    }

    #[test]
    fn parts_of_a_millisecond_round_up_before_they_are_compared() {
        assert_eq!(
            Terms::new(Duration::from_nanos(1), 2 * MS).unwrap().lease(),
            MS
        );
        // 1.5 ms becomes 2 ms, and twice that is more than 3 ms.
        assert!(Terms::new(Duration::from_micros(1_500), 3 * MS).is_err());
    }
}
