//! How long each part took.

use std::fmt;
use std::time::{Duration, Instant};

/// One row a part, in the order in which they ran.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

struct Row {
    part: String,
    took: Duration,
    failed: bool,
}

impl Report {
    /// Runs a piece of `part`; pieces of one part that follow one another share its row.
    pub(crate) fn time<T, E>(
        &mut self,
        part: &str,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let start = Instant::now();
        let outcome = run();
        self.add(part, start.elapsed(), outcome.is_err());
        outcome
    }

    fn add(&mut self, part: &str, took: Duration, failed: bool) {
        match self.rows.last_mut() {
            Some(row) if row.part == part => {
                row.took += took;
                row.failed |= failed;
            }
            _ => self.rows.push(Row {
                part: part.to_owned(),
                took,
                failed,
            }),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.rows.iter().map(|row| row.took).sum();
        let width = self
            .rows
            .iter()
            .map(|row| row.part.len())
            .max()
            .unwrap_or(0)
            .max(5);
        let mut line = |part: &str, took: Duration, mark: &str| {
            writeln!(f, "{part:<width$}  {:>8.1} s{mark}", took.as_secs_f64())
        };
        for row in &self.rows {
            line(
                &row.part,
                row.took,
                if row.failed { "  FAILED" } else { "" },
            )?;
        }
        line("total", total, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_part_share_a_row_and_failures_are_marked() {
        let mut report = Report::default();
        report.add("setup", Duration::from_millis(240), false);
        report.add("tests idem-core", Duration::from_secs(2), false);
        report.add("tests idem-core", Duration::from_millis(10_500), true);
        let expected = "\
setup                 0.2 s
tests idem-core      12.5 s  FAILED
total                12.7 s
";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn the_outcome_is_handed_on() {
        let mut report = Report::default();
        assert_eq!(report.time("a", || Ok::<_, ()>(7)), Ok(7));
        assert_eq!(report.time("b", || Err::<(), _>("no")), Err("no"));
        assert_eq!(
            report.rows.iter().map(|row| row.failed).collect::<Vec<_>>(),
            [false, true]
        );
    }
}
