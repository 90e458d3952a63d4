//! Instants of a store's clock, and the clocks of embedded stores.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// An instant by the store's own clock: whole milliseconds since whatever that clock counts from.
///
/// All arithmetic saturates (law T1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The instant `millis` milliseconds after the clock's origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the clock's origin.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The instant `by` later, rounded up to whole milliseconds.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis_rounded_up(by)))
    }

    /// How much later `self` is than `earlier`; zero if it is not later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Whole milliseconds that are not shorter than `duration`, saturating.
pub(crate) fn millis_rounded_up(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The clock of an embedded store. A store on a server uses the server's clock instead (law T2).
///
/// It must not run backwards, and it must be the same clock for every handle on the same records.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The instant now.
    fn now(&self) -> Timestamp;
}

/// The default clock of [`MemoryStore`](crate::MemoryStore): monotonic, counted from its own creation.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(Instant);

impl MonotonicClock {
    /// A clock that starts at zero now.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock for tests: it stands still until it is advanced. Clones share the same time. At the end of
/// time, `u64::MAX` milliseconds, every retention is over: advance by less.
///
/// ```
/// use std::time::Duration;
/// use idem_core::{Clock, ManualClock, MemoryStore};
///
/// let clock = ManualClock::new();
/// let store = MemoryStore::with_clock(clock.clone());
/// clock.advance(Duration::from_secs(61)); // every default lease has lapsed now
/// assert_eq!(clock.now().as_millis(), 61_000);
/// # let _ = store;
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the time forward by `by`, rounded up to whole milliseconds, saturating.
    pub fn advance(&self, by: Duration) {
        let step = millis_rounded_up(by);
        let add = |now: u64| Some(now.saturating_add(step));
        // The closure never gives None, so this cannot fail.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_up_and_saturate() {
        assert_eq!(millis_rounded_up(Duration::from_nanos(1)), 1);
        assert_eq!(millis_rounded_up(Duration::from_micros(999)), 1);
        assert_eq!(millis_rounded_up(Duration::from_millis(1)), 1);
        assert_eq!(millis_rounded_up(Duration::from_micros(1_001)), 2);
        assert_eq!(millis_rounded_up(Duration::MAX), u64::MAX);
        assert_eq!(millis_rounded_up(Duration::ZERO), 0);
    }

    #[test]
    fn instants_never_wrap() {
        let late = Timestamp::from_millis(u64::MAX - 1);
        assert_eq!(late.saturating_add(Duration::MAX).as_millis(), u64::MAX);
        assert_eq!(Timestamp::default().saturating_since(late), Duration::ZERO);
    }

    #[test]
    fn a_manual_clock_is_shared_by_its_clones() {
        let clock = ManualClock::new();
        let other = clock.clone();
        clock.advance(Duration::from_micros(1_500));
        assert_eq!(other.now(), Timestamp::from_millis(2));
        clock.advance(Duration::MAX);
        assert_eq!(other.now(), Timestamp::from_millis(u64::MAX));
    }
}
