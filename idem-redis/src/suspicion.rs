//! When a connection is to be made anew.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Limits;

/// So many calls without an answer, and none with one in between, make it suspect; not before the first of them is
/// as old as a call may become.
const IN_A_ROW: u32 = 3;

/// Between the end of one making and the beginning of the next. Twice as long after each that has not helped against
/// silence: a peer that is slow, and not gone, must not be connected to for ever.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What a call says of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The server answers on it.
    Lives,
    /// There was no answer, or one that may be for the connection and not for the call.
    Doubtful,
    /// It will not do, however often it is used.
    Wrong,
}

/// What was heard of a connection. It is heard by part: the server, or, of a cluster, some neighbouring slots, which
/// mostly have one node.
pub(crate) struct Suspicion {
    limits: Limits,
    doubts: HashMap<u16, Doubt>,
    /// Before this, none is made.
    rests_until: Option<Instant>,
    /// The part whose silence was the reason last, and how often in a row: until that part lives.
    silent: Option<(u16, u32)>,
}

/// Calls without an answer since the last that had one.
struct Doubt {
    calls: u32,
    since: Instant,
}

impl Suspicion {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            doubts: HashMap::new(),
            rests_until: None,
            silent: None,
        }
    }

    /// Whether another connection is to be made, after a call that `began` then. If so, nobody else is told so until
    /// [that is over](Self::making_is_over).
    pub(crate) fn hears(&mut self, part: u16, began: Instant, sign: Sign) -> bool {
        let suspect = match sign {
            Sign::Lives => {
                self.doubts.remove(&part);
                self.silent.take_if(|(silent, _)| *silent == part);
                false
            }
            Sign::Doubtful => self.doubts(part, began),
            Sign::Wrong => true,
        };
        let now = Instant::now();
        if !suspect || self.rests_until.is_some_and(|until| now < until) {
            return false;
        }
        // What answers, and is wrong, costs little to ask again.
        let before = self.silent.map_or(0, |(_, times)| times);
        self.silent = (sign == Sign::Doubtful).then_some((part, before.saturating_add(1)));
        // Longer than any making takes: a task that never runs again keeps nobody else from it.
        self.rests_until = now.checked_add(self.longest_making() + PAUSE);
        true
    }

    fn doubts(&mut self, part: u16, began: Instant) -> bool {
        let first = Doubt {
            calls: 0,
            since: began,
        };
        let doubt = self.doubts.entry(part).or_insert(first);
        doubt.calls = doubt.calls.saturating_add(1);
        doubt.since = doubt.since.min(began);
        doubt.calls >= IN_A_ROW && doubt.since.elapsed() >= self.limits.answer
    }

    /// For all tries of the driver at one connection.
    pub(crate) fn longest_making(&self) -> Duration {
        let tries = self.limits.connect.saturating_mul(5);
        tries.min(Duration::from_secs(3600)) + PAUSE
    }

    /// Another connection is there: what was heard of the one before says nothing of it.
    pub(crate) fn made(&mut self) {
        self.doubts.clear();
    }

    /// However it ended: the pause begins.
    pub(crate) fn making_is_over(&mut self) {
        let times = self.silent.map_or(1, |(_, times)| times);
        let doubled = PAUSE.saturating_mul(1 << times.saturating_sub(1).min(8));
        self.rests_until = Instant::now().checked_add(doubled.min(LONGEST_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const ANSWER: Duration = Duration::from_millis(300);
    const STEP: Duration = Duration::from_millis(10);
    const PART: u16 = 7;

    fn suspicion() -> Suspicion {
        Suspicion::new(Limits::default().answer(ANSWER))
    }

    /// A call that begins and ends now.
    fn hears(suspicion: &mut Suspicion, part: u16, sign: Sign) -> bool {
        suspicion.hears(part, Instant::now(), sign)
    }

    /// How long calls get no answer, one after the other, until another connection is to be made. It is made at once,
    /// and is as silent.
    async fn silence(suspicion: &mut Suspicion) -> Duration {
        let began = Instant::now();
        while !hears(suspicion, PART, Sign::Doubtful) {
            advance(STEP).await;
        }
        suspicion.made();
        suspicion.making_is_over();
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn some_calls_in_a_row_and_some_time_make_a_part_suspect() {
        let mut suspicion = suspicion();
        assert_eq!(silence(&mut suspicion).await, ANSWER);
        advance(PAUSE).await;
        assert!(
            !hears(&mut suspicion, PART, Sign::Doubtful),
            "of the one that was made"
        );
        let mut few = self::suspicion();
        for part in 0..100 {
            assert!(!hears(&mut few, part, Sign::Doubtful));
            advance(ANSWER).await;
            assert!(!hears(&mut few, part, Sign::Doubtful), "two calls");
            assert!(!hears(&mut few, part, Sign::Lives));
            assert!(!hears(&mut few, part, Sign::Doubtful), "it has lived");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_help_is_done_less_and_less_often_until_the_part_lives() {
        let mut suspicion = suspicion();
        silence(&mut suspicion).await;
        for pause in [1, 2, 4, 8, 8] {
            hears(&mut suspicion, PART + 1, Sign::Lives);
            let took = silence(&mut suspicion).await;
            assert_eq!(took, Duration::from_secs(pause));
        }
        hears(&mut suspicion, PART, Sign::Lives);
        advance(LONGEST_PAUSE).await;
        silence(&mut suspicion).await;
        assert_eq!(silence(&mut suspicion).await, PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_is_tried_once_a_second() {
        let mut suspicion = suspicion();
        assert!(hears(&mut suspicion, PART, Sign::Wrong));
        for _ in 0..5 {
            assert!(
                !hears(&mut suspicion, PART, Sign::Wrong),
                "it is being made"
            );
            suspicion.making_is_over();
            assert!(!hears(&mut suspicion, PART, Sign::Wrong), "it rests");
            advance(PAUSE).await;
            assert!(hears(&mut suspicion, PART, Sign::Wrong));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_making_that_never_ends_keeps_nobody_from_it_for_ever() {
        let mut suspicion = suspicion();
        assert!(hears(&mut suspicion, PART, Sign::Wrong));
        advance(suspicion.longest_making()).await;
        assert!(!hears(&mut suspicion, PART, Sign::Wrong));
        advance(PAUSE).await;
        assert!(hears(&mut suspicion, PART, Sign::Wrong));
    }
}
