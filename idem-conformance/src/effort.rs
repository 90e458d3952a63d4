//! How much work the randomised laws do, and from which seed.
//!
//! `IDEM_EFFORT` multiplies the work, `IDEM_SEED` begins elsewhere. Without them every run is the same.

use std::num::NonZeroU32;

/// The factor that `IDEM_EFFORT` asks for; 1 if it is not set.
///
/// # Panics
/// If it is not a whole number from 1: a misspelt factor must not pass for more work.
pub fn effort() -> u32 {
    std::env::var("IDEM_EFFORT").map_or(1, |factor| {
        factor
            .parse::<NonZeroU32>()
            .expect("IDEM_EFFORT is a whole number from 1")
            .get()
    })
}

/// The seed that `IDEM_SEED` asks for, if it is set.
///
/// # Panics
/// If it is not a whole number: a misspelt seed must not pass for a replay.
pub fn seed() -> Option<u64> {
    let text = std::env::var("IDEM_SEED").ok()?;
    Some(text.parse().expect("IDEM_SEED is a whole number"))
}

/// Prints a line of figures beside a law's verdict.
#[expect(clippy::print_stdout, reason = "a test's figures belong to its output")]
pub(crate) fn report(figures: &str) {
    println!("{figures}");
}
