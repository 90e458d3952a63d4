//! How much work the randomised tests do.

use std::num::NonZeroU32;

use proptest::test_runner::Config;

/// So many cases, times the factor that `IDEM_EFFORT` asks for; 1 if it is not set.
///
/// # Panics
/// If it is not a whole number from 1: a misspelt factor must not pass for more work.
pub(crate) fn proptest_config(cases: u32) -> Config {
    let factor = std::env::var("IDEM_EFFORT").map_or(1, |factor| {
        factor
            .parse::<NonZeroU32>()
            .expect("IDEM_EFFORT is a whole number from 1")
            .get()
    });
    Config {
        cases: cases.saturating_mul(factor),
        // What fails is printed, smallest first, and becomes a test of its own.
        failure_persistence: None,
        ..Config::default()
    }
}
