//! How many tests ran, read from what they printed.

use std::ops::AddAssign;

/// The sum of the `test result:` lines of one or more runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    pub(crate) fn read(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output
            .lines()
            .filter(|line| line.starts_with("test result:"))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            let before = |label| {
                let at = words.iter().position(|word| *word == label)?;
                words[..at].last()?.parse::<u64>().ok()
            };
            sum += Self {
                passed: before("passed;").unwrap_or(0),
                failed: before("failed;").unwrap_or(0),
            };
        }
        sum
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_unit_and_doc_tests_add_up() {
        let output = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 40 filtered out; finished in 0.01s

   Doc-tests idem_core
test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";
        assert_eq!(
            Counts::read(output),
            Counts {
                passed: 5,
                failed: 4
            }
        );
    }

    #[test]
    fn colours_do_not_hide_the_numbers() {
        let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 12 passed; 0 failed; 0 ignored";
        assert_eq!(
            Counts::read(line),
            Counts {
                passed: 12,
                failed: 0
            }
        );
    }

    #[test]
    fn a_filter_that_matches_nothing_counts_zero() {
        let nothing = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; \
                       0 measured; 57 filtered out; finished in 0.00s\n";
        assert_eq!(Counts::read(nothing), Counts::default());
        assert_eq!(Counts::read(""), Counts::default());
        assert_eq!(
            Counts::read("the test result: 9 passed; 9 failed;"),
            Counts::default()
        );
    }
}
