//! What goes wrong, and how often.

use std::time::Duration;

use crate::random::Random;

/// How many of a thousand calls go wrong in each way. What is left goes well.
///
/// ```
/// use std::time::Duration;
/// use idem_conformance::faults::Faults;
///
/// let faults = Faults { unanswered: 100, late: 50, longest_delay: Duration::from_secs(90), ..Faults::default() };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// [`Fault::Refused`].
    pub refused: u32,
    /// [`Fault::Lost`].
    pub lost: u32,
    /// [`Fault::Unanswered`].
    pub unanswered: u32,
    /// [`Fault::Slow`].
    pub slow: u32,
    /// [`Fault::Late`].
    pub late: u32,
    /// [`Fault::Copied`].
    pub copied: u32,
    /// [`Fault::Dropped`].
    pub dropped: u32,
    /// The longest delay of what comes later. Longer than the lease, for the worst of it.
    pub longest_delay: Duration,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It never takes effect, and its caller is told so.
    Refused,
    /// It never takes effect, and its caller is told that nobody knows.
    Lost,
    /// It takes effect, its answer is lost, and its caller is told that nobody knows.
    Unanswered,
    /// It takes effect after so long, and is answered then; also if its caller no longer waits.
    Slow(Duration),
    /// Its caller is told at once that nobody knows; it takes effect after so long.
    Late(Duration),
    /// It goes well; and an old copy of it takes effect once more after so long.
    Copied(Duration),
    /// The store's future is dropped after so many polls, and its caller is told that nobody knows.
    Dropped(u32),
}

impl Faults {
    /// What happens to the next call; `None`: it goes well.
    pub(super) fn draw(&self, random: &mut Random) -> Option<Fault> {
        let longest = u64::try_from(self.longest_delay.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        // Short delays as often as long ones: a race of milliseconds and a lapsed lease.
        let bound = longest >> random.below(u64::from(longest.ilog2()) + 1);
        let delay = Duration::from_millis(1 + random.below(bound));
        let polls = 1 + u32::from(random.per_mille(500));
        let mut drawn = random.below(1000);
        let faults = [
            (self.refused, Fault::Refused),
            (self.lost, Fault::Lost),
            (self.unanswered, Fault::Unanswered),
            (self.slow, Fault::Slow(delay)),
            (self.late, Fault::Late(delay)),
            (self.copied, Fault::Copied(delay)),
            (self.dropped, Fault::Dropped(polls)),
        ];
        for (chance, fault) in faults {
            match drawn.checked_sub(u64::from(chance)) {
                None => return Some(fault),
                Some(left) => drawn = left,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_as_frequent_as_they_are_said_to_be() {
        let faults = Faults {
            refused: 100,
            late: 300,
            longest_delay: Duration::from_secs(1),
            ..Faults::default()
        };
        let mut random = Random::new(1);
        let drawn: Vec<_> = (0..10_000).map(|_| faults.draw(&mut random)).collect();
        let count =
            |is: fn(&Fault) -> bool| drawn.iter().flatten().filter(|fault| is(fault)).count();
        assert!((900..1100).contains(&count(|fault| *fault == Fault::Refused)));
        assert!((2800..3200).contains(&count(|fault| matches!(fault, Fault::Late(_)))));
        assert!((5700..6300).contains(&drawn.iter().filter(|fault| fault.is_none()).count()));
        let short = |fault: &Fault| matches!(fault, Fault::Late(delay) if delay.as_millis() < 10);
        let long = |fault: &Fault| matches!(fault, Fault::Late(delay) if delay.as_millis() > 500);
        assert!(count(short) > 200 && count(long) > 100);
    }

    #[test]
    fn nothing_goes_wrong_by_default() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| Faults::default().draw(&mut random).is_none()));
    }
}
