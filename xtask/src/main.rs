//! The project's own commands; `cargo xtask help` lists them.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to whoever called it"
)]

mod apt;
mod compat;
mod counts;
mod fuzz;
mod metadata;
mod mutants;
mod report;
mod rustc;
mod setup;
mod shell;
mod steps;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

  setup    find the servers that the tests need, install what is missing
  test     set up, then check everything; stop at the first failure
  compat   run the stores' tests on other versions of their servers; `compat NAME` on one
  mutants  change the state machine in every small way; a test must notice each
  fuzz     list the fuzz targets; `fuzz NAME --seconds N` runs one
  help     print this
";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    Help,
    Setup,
    Test,
    Compat(compat::Request),
    Mutants,
    Fuzz(fuzz::Request),
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    if let Some(ended) = rustc::stand_in(&args) {
        return ended;
    }
    let task = match task(&args) {
        Ok(task) => task,
        Err(misuse) => {
            eprintln!("{misuse}; `cargo xtask help` lists the commands");
            return ExitCode::from(2);
        }
    };
    let outcome = match task {
        Task::Help => {
            print!("{HELP}");
            Ok(())
        }
        Task::Setup => setup::run(),
        Task::Test => test::run(),
        Task::Compat(request) => compat::run(request),
        Task::Mutants => mutants::run(),
        Task::Fuzz(request) => fuzz::run(request),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn task(args: &[String]) -> Result<Task, String> {
    let Some((name, rest)) = args.split_first() else {
        return Ok(Task::Help);
    };
    let task = match name.as_str() {
        "help" | "--help" | "-h" => Task::Help,
        "setup" => Task::Setup,
        "test" => Task::Test,
        "compat" => return compat::request(rest).map(Task::Compat),
        "mutants" => Task::Mutants,
        "fuzz" => return fuzz::request(rest).map(Task::Fuzz),
        _ => return Err(format!("no command `{name}`")),
    };
    match rest.first() {
        None => Ok(task),
        Some(extra) => Err(format!(
            "`{name}` takes nothing after it, but was given `{extra}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Task, String> {
        task(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn every_command_is_understood_and_in_the_help() {
        for (name, expected) in [
            ("help", Task::Help),
            ("setup", Task::Setup),
            ("test", Task::Test),
            ("compat", Task::Compat(compat::Request::All)),
            ("mutants", Task::Mutants),
            ("fuzz", Task::Fuzz(fuzz::Request::List)),
        ] {
            assert_eq!(asked(name), Ok(expected));
            assert!(
                HELP.contains(&format!("\n  {name} ")),
                "{name} is not in the help"
            );
        }
        assert_eq!(asked(""), Ok(Task::Help));
    }

    #[test]
    fn what_is_not_understood_is_named_in_one_line() {
        assert_eq!(asked("tets"), Err("no command `tets`".into()));
        assert_eq!(asked("--fast"), Err("no command `--fast`".into()));
        assert!(asked("fuzz --fast").unwrap_err().contains("`--fast`"));
        let extra = asked("test --fast").unwrap_err();
        assert!(
            extra.contains("`--fast`") && !extra.contains('\n'),
            "{extra}"
        );
    }
}
