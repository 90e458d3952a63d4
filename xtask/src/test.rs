//! Runs every step, stops at the first that fails, says how long each part took.

use crate::counts::Counts;
use crate::metadata::Package;
use crate::report::Report;
use crate::setup;
use crate::shell::Finished;
use crate::steps::{Expect, FOREIGN, Step, steps};

pub(crate) fn run() -> Result<(), String> {
    let mut report = Report::default();
    let outcome = every_part(&mut report);
    println!("\n{report}");
    let counts = outcome?;
    // Alone on its line in exactly this form: that is how a machine reads it.
    println!(
        "all parts passed\n{} passed, {} failed",
        counts.passed, counts.failed
    );
    Ok(())
}

fn every_part(report: &mut Report) -> Result<Counts, String> {
    println!("== setup");
    report
        .time("setup", setup::run)
        .map_err(|reason| failure("setup", &reason, "cargo xtask setup"))?;
    let mut sum = Counts::default();
    for step in steps(&Package::of_workspace()?) {
        println!("\n== {}: {}", step.part, step.line);
        let counts = report.time(&step.part, || run_step(&step));
        sum += counts.map_err(|reason| failure(&step.part, &reason, &step.line.to_string()))?;
    }
    Ok(sum)
}

fn run_step(step: &Step) -> Result<Counts, String> {
    let finished = step.line.run()?;
    check(step.expect, &finished)
}

/// Whether a command did what was expected of it, and how many tests that were.
fn check(expect: Expect, finished: &Finished) -> Result<Counts, String> {
    let code = match expect {
        Expect::Exit(code) => code,
        Expect::Tests(_) | Expect::OnlyOwn(_) => 0,
    };
    if finished.code != Some(code) {
        let ended = match finished.code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was ended by a signal".to_owned(),
        };
        return Err(format!("it {ended}, expected {code}"));
    }
    match expect {
        Expect::Exit(_) => Ok(Counts::default()),
        Expect::Tests(least) => {
            let counts = Counts::read(&finished.stdout);
            if counts.passed < least {
                return Err(format!(
                    "{} tests passed, expected at least {least}",
                    counts.passed
                ));
            }
            Ok(counts)
        }
        Expect::OnlyOwn(own) => {
            let crates = || {
                finished
                    .stdout
                    .lines()
                    .filter_map(|line| line.split(' ').next())
            };
            let found: Vec<_> = crates().filter(|name| is_foreign(name)).collect();
            if !found.is_empty() {
                return Err(format!("{own} depends on {}", found.join(", ")));
            }
            if !crates().any(|name| name == own) {
                return Err(format!("the list does not even name {own}"));
            }
            Ok(Counts::default())
        }
    }
}

fn is_foreign(name: &str) -> bool {
    FOREIGN.iter().any(|foreign| {
        name.strip_prefix(foreign)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

fn failure(part: &str, reason: &str, line: &str) -> String {
    format!("failed: {part}: {reason}\nto repeat it: {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, stdout: &str) -> Finished {
        Finished {
            code: Some(code),
            stdout: stdout.to_owned(),
        }
    }

    #[test]
    fn an_exit_code_has_to_be_the_expected_one() {
        assert!(check(Expect::Exit(0), &ended(0, "")).is_ok());
        assert!(check(Expect::Exit(1), &ended(1, "")).is_ok());
        let reason = check(Expect::Exit(1), &ended(0, "")).unwrap_err();
        assert_eq!(reason, "it ended with exit code 0, expected 1");
        let killed = Finished {
            code: None,
            stdout: String::new(),
        };
        assert!(
            check(Expect::Exit(0), &killed)
                .unwrap_err()
                .contains("signal")
        );
    }

    #[test]
    fn too_few_tests_fail_although_the_command_succeeded() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored";
        assert!(check(Expect::Tests(0), &ended(0, none)).is_ok());
        assert!(check(Expect::Tests(1), &ended(0, none)).is_err());
        let two = "test result: ok. 2 passed; 0 failed; 0 ignored";
        assert_eq!(check(Expect::Tests(1), &ended(0, two)).unwrap().passed, 2);
        assert!(check(Expect::Tests(1), &ended(101, two)).is_err());
    }

    #[test]
    fn foreign_crates_are_found_by_family_and_named() {
        let expect = Expect::OnlyOwn("idem-core");
        assert!(check(expect, &ended(0, "idem-core v0.1.0\nbytes v1.10.0\n")).is_ok());
        let tree = "idem-core v0.1.0\nsqlx-core v0.8.0\nhttp v1.3.1\nringbuf v0.4.0\n";
        let reason = check(expect, &ended(0, tree)).unwrap_err();
        assert_eq!(reason, "idem-core depends on sqlx-core, http");
        assert!(
            check(expect, &ended(0, "")).is_err(),
            "an empty list proves nothing"
        );
    }

    #[test]
    fn a_failure_names_the_part_the_reason_and_the_line_to_repeat() {
        let text = failure("docs", "it ended with exit code 101", "cargo doc");
        assert_eq!(
            text,
            "failed: docs: it ended with exit code 101\nto repeat it: cargo doc"
        );
    }
}
