//! Random numbers that can be had again.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Where a test's random numbers come from: `IDEM_SEED`, or else a new seed. Dropped by a panic, it
/// prints the command that replays the test.
#[derive(Debug)]
pub struct Seed {
    value: u64,
    test: &'static str,
}

impl Seed {
    /// The seed of the test of this name.
    ///
    /// # Panics
    ///
    /// If `IDEM_SEED` is no whole number.
    #[must_use]
    pub fn of(test: &'static str) -> Self {
        let value = match std::env::var("IDEM_SEED") {
            Ok(text) => text.parse().expect("IDEM_SEED is a whole number"),
            Err(_) => return Self::new(test),
        };
        Self { value, test }
    }

    /// A new seed, whatever `IDEM_SEED` says. Short enough to be typed.
    pub(crate) fn new(test: &'static str) -> Self {
        let value = RandomState::new().hash_one(test) >> 32;
        Self { value, test }
    }

    /// The seed itself.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// A stream of random numbers of its own for each name and number, so that threads that take
    /// turns as they like do not disturb each other's streams.
    #[must_use]
    pub fn rng(&self, name: &str, number: u64) -> Rng {
        Rng(self.value).stream(name, number)
    }
}

impl Rng {
    /// A stream of its own for each name and number; it does not matter how many numbers were taken
    /// from the others.
    pub(crate) fn stream(&self, name: &str, number: u64) -> Self {
        let mut rng = self.clone();
        for part in name.bytes().map(u64::from).chain([number]) {
            rng = Rng(rng.next() ^ part);
        }
        rng
    }
}

/// The command that replays it.
impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = std::env::var("CARGO_PKG_NAME");
        let package = package.as_deref().unwrap_or("PACKAGE");
        let Self { value, test } = self;
        write!(f, "IDEM_SEED={value} cargo test -p {package} {test}")
    }
}

impl Drop for Seed {
    #[allow(
        clippy::print_stderr,
        reason = "it belongs beside the message of the panic"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay it: {self}");
        }
    }
}

/// A stream of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True once in `n` times, on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A time shorter than `longest`.
    pub fn shorter_than(&mut self, longest: Duration) -> Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.below(nanos.max(1)))
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = self.below(from.len() as u64);
        &from[usize::try_from(index).unwrap()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_each_stream_its_own() {
        let seed = Seed {
            value: 7,
            test: "any",
        };
        let numbers = |name: &str, number| {
            let mut rng = seed.rng(name, number);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(numbers("kills", 1), numbers("kills", 1));
        assert_ne!(numbers("kills", 1), numbers("kills", 2));
        assert_ne!(numbers("kills", 1), numbers("faults", 1));
    }

    #[test]
    fn every_side_of_the_die_comes_up() {
        let mut rng = Rng(1);
        let mut seen = [0; 6];
        for _ in 0..600 {
            seen[usize::try_from(rng.below(6)).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|times| (50..150).contains(times)),
            "{seen:?}"
        );
    }

    #[test]
    fn the_replay_command_names_the_test() {
        let seed = Seed {
            value: 42,
            test: "a_test",
        };
        let command = seed.to_string();
        assert!(
            command.starts_with("IDEM_SEED=42 cargo test -p "),
            "{command}"
        );
        assert!(command.ends_with(" a_test"), "{command}");
    }
}
