//! The store's clock: a wall clock that never runs backwards, not even across restarts.
//!
//! Leases and retentions are instants of it, written into records that outlive the process. So it follows
//! the wall clock, with two exceptions:
//!
//! - **The wall clock is set back.** This clock goes on by the monotonic clock from where it was: it is
//!   ahead of the wall for as long as that takes to catch up, and every lease ends when it would have.
//! - **The process starts anew** while the wall is behind the [mark](HighWater): this clock goes on from the
//!   mark. Time that passed in between does not count, and leases end later by so much.
//!
//! A jump forward is followed at once, since it cannot be told from a machine that slept: leases end early
//! by no more than the jump.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use idem_core::{Clock, Timestamp};

/// Shows at least the mark, and remembers the latest instant that it has shown: the mark for the next
/// process. That is written with every commit, so no instant in a record that was acknowledged is ever
/// ahead of the clock; what readers alone were shown is on disk about two seconds later.
#[derive(Debug)]
pub(crate) struct HighWater {
    source: Box<dyn Clock>,
    shown: AtomicU64,
    on_disk: AtomicU64,
}

/// How far the mark on disk may be behind what readers were shown.
const BEHIND: u64 = 1_000;

impl HighWater {
    pub(crate) fn new(source: Box<dyn Clock>, mark: Timestamp) -> Self {
        Self {
            source,
            shown: AtomicU64::new(mark.as_millis()),
            on_disk: AtomicU64::new(mark.as_millis()),
        }
    }

    /// This mark is on disk.
    pub(crate) fn is_on_disk(&self, mark: Timestamp) {
        self.on_disk.fetch_max(mark.as_millis(), Ordering::SeqCst);
    }

    /// Whether readers alone have moved the clock: it is time for a commit.
    pub(crate) fn is_far_ahead_of_disk(&self) -> bool {
        let on_disk = self.on_disk.load(Ordering::SeqCst);
        self.mark().as_millis().saturating_sub(on_disk) > BEHIND
    }

    /// The latest instant shown.
    pub(crate) fn mark(&self) -> Timestamp {
        Timestamp::from_millis(self.shown.load(Ordering::SeqCst))
    }
}

impl Clock for HighWater {
    fn now(&self) -> Timestamp {
        let now = self.source.now().as_millis();
        let shown = self.shown.fetch_max(now, Ordering::SeqCst);
        Timestamp::from_millis(now.max(shown))
    }
}

/// The wall clock, carried on by the monotonic one while it is behind.
#[derive(Debug)]
pub(crate) struct WallClock<S = System> {
    source: S,
    /// The latest step: what was shown, and what the monotonic clock said then.
    step: Mutex<(u64, u64)>,
}

/// Milliseconds of both clocks.
pub(crate) trait Source: std::fmt::Debug + Send + Sync {
    /// Since 1970.
    fn wall(&self) -> u64;
    /// Since whenever.
    fn monotonic(&self) -> u64;
}

#[derive(Debug)]
pub(crate) struct System(Instant);

impl Source for System {
    fn wall(&self) -> u64 {
        // A wall clock before 1970 is behind everything.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    fn monotonic(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl WallClock {
    /// Starts at the wall clock or the mark, whichever is later.
    pub(crate) fn starting_at(mark: Timestamp) -> Self {
        Self::of(System(Instant::now()), mark)
    }
}

impl<S: Source> WallClock<S> {
    fn of(source: S, mark: Timestamp) -> Self {
        let step = (mark.as_millis(), source.monotonic());
        Self {
            source,
            step: Mutex::new(step),
        }
    }
}

impl<S: Source> Clock for WallClock<S> {
    fn now(&self) -> Timestamp {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let (shown, then) = *step;
        let monotonic = self.source.monotonic();
        let carried_on = shown.saturating_add(monotonic.saturating_sub(then));
        let now = self.source.wall().max(carried_on);
        *step = (now, monotonic.max(then));
        Timestamp::from_millis(now)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use idem_core::ManualClock;

    use super::*;

    /// Both clocks, set by hand.
    #[derive(Clone, Debug, Default)]
    struct ByHand(Arc<(AtomicU64, AtomicU64)>);

    impl ByHand {
        fn set(&self, wall: u64, monotonic: u64) {
            self.0.0.store(wall, Ordering::SeqCst);
            self.0.1.store(monotonic, Ordering::SeqCst);
        }
    }

    impl Source for ByHand {
        fn wall(&self) -> u64 {
            self.0.0.load(Ordering::SeqCst)
        }

        fn monotonic(&self) -> u64 {
            self.0.1.load(Ordering::SeqCst)
        }
    }

    fn started_at(mark: u64, wall: u64) -> (WallClock<ByHand>, ByHand) {
        let hands = ByHand::default();
        hands.set(wall, 0);
        let mark = Timestamp::from_millis(mark);
        (WallClock::of(hands.clone(), mark), hands)
    }

    #[test]
    fn it_follows_the_wall_and_a_jump_forward_at_once() {
        let (clock, hands) = started_at(0, 1_000);
        assert_eq!(clock.now().as_millis(), 1_000);
        hands.set(1_500, 500);
        assert_eq!(clock.now().as_millis(), 1_500);
        // An hour ahead: leases end early by that hour, and by no more.
        hands.set(3_601_500, 500);
        assert_eq!(clock.now().as_millis(), 3_601_500);
    }

    #[test]
    fn set_back_it_goes_on_at_its_own_pace_until_the_wall_has_caught_up() {
        let (clock, hands) = started_at(0, 10_000);
        assert_eq!(clock.now().as_millis(), 10_000);
        hands.set(4_000, 0);
        assert_eq!(clock.now().as_millis(), 10_000);
        hands.set(5_000, 1_000);
        assert_eq!(clock.now().as_millis(), 11_000, "a lease of 1 s has ended");
        // Often asked, and in steps that are shorter than a millisecond of either clock.
        for _ in 0..1_000 {
            assert_eq!(clock.now().as_millis(), 11_000);
        }
        hands.set(20_000, 1_001);
        assert_eq!(clock.now().as_millis(), 20_000);
    }

    #[test]
    fn started_behind_the_mark_it_goes_on_from_the_mark() {
        let (clock, hands) = started_at(50_000, 1_000);
        assert_eq!(clock.now().as_millis(), 50_000);
        hands.set(1_700, 700);
        assert_eq!(clock.now().as_millis(), 50_700);
    }

    #[test]
    fn at_the_end_of_time_it_stands() {
        let (clock, hands) = started_at(u64::MAX - 1, 0);
        hands.set(0, 10);
        assert_eq!(clock.now().as_millis(), u64::MAX);
    }

    #[test]
    fn an_injected_clock_that_is_set_back_stands_still() {
        let mut source = ManualClock::new();
        source.advance(std::time::Duration::from_secs(9));
        let clock = HighWater::new(Box::new(source.clone()), Timestamp::from_millis(5));
        assert_eq!(clock.now().as_millis(), 9_000);
        assert_eq!(clock.mark().as_millis(), 9_000);
        source = ManualClock::new();
        let clock = HighWater::new(Box::new(source.clone()), clock.mark());
        assert_eq!(clock.now().as_millis(), 9_000);
        source.advance(std::time::Duration::from_secs(10));
        assert_eq!(clock.now().as_millis(), 10_000);
    }
}
