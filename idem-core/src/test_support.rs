//! How hard the property tests try.

use proptest::test_runner::Config;

/// A factor on the number of cases of every property test: `IDEM_EFFORT`, 1 if unset.
pub(crate) fn effort() -> u32 {
    match std::env::var("IDEM_EFFORT") {
        Ok(factor) => factor.parse().expect("IDEM_EFFORT is a whole number"),
        Err(_) => 1,
    }
}

/// `cases` times [`effort`]; failures are not written to a file.
pub(crate) fn proptest_config(cases: u32) -> Config {
    Config {
        cases: cases.saturating_mul(effort()),
        failure_persistence: None,
        ..Config::default()
    }
}
