//! Fuzzing: runs a target for some time, and says what came of it.

use std::fs;
use std::num::NonZeroU32;

use crate::shell::{CommandLine, root};

/// The targets, and what each takes for its input.
const TARGETS: &[(&str, &str)] = &[
    ("canonical_json", "any bytes, taken for JSON"),
    (
        "key_header",
        "any bytes, taken for the header that has the key",
    ),
    (
        "record_codec",
        "any bytes, taken for a stored response or record",
    ),
];

const DEFAULT_SECONDS: NonZeroU32 = NonZeroU32::new(60).unwrap();

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Request {
    List,
    Run {
        target: &'static str,
        seconds: NonZeroU32,
    },
}

/// What stands after `cargo xtask fuzz`.
pub(crate) fn request(args: &[String]) -> Result<Request, String> {
    let Some((name, flags)) = args.split_first() else {
        return Ok(Request::List);
    };
    let names = || TARGETS.iter().map(|(target, _)| *target);
    let target = names().find(|target| target == name).ok_or_else(|| {
        let all = names().collect::<Vec<_>>().join(", ");
        format!("no fuzz target `{name}`, only {all}")
    })?;
    let seconds = match flags {
        [] => DEFAULT_SECONDS,
        [flag, seconds] if flag == "--seconds" => seconds.parse().map_err(|_| {
            format!("`--seconds` takes a whole number from 1, but was given `{seconds}`")
        })?,
        [flag] if flag == "--seconds" => return Err("`--seconds` lacks its number".into()),
        [flag, seconds, extra, ..] if flag == "--seconds" => {
            return Err(format!(
                "`--seconds {seconds}` is all that may follow, but there was `{extra}`"
            ));
        }
        [flag, ..] => return Err(format!("`fuzz` takes `--seconds N` only, not `{flag}`")),
    };
    Ok(Request::Run { target, seconds })
}

pub(crate) fn run(request: Request) -> Result<(), String> {
    match request {
        Request::List => {
            for (target, input) in TARGETS {
                println!("{target:<16} {input}");
            }
            Ok(())
        }
        Request::Run { target, seconds } => fuzz(target, seconds),
    }
}

fn fuzz(target: &str, seconds: NonZeroU32) -> Result<(), String> {
    needs("rustc --version", "rustup toolchain install nightly")?;
    needs("cargo fuzz --version", "cargo install --locked cargo-fuzz")?;
    let found = root().join(found(target));
    fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let line = line(target, seconds);
    println!("{line}");
    let finished = line.run_with_stderr()?;
    println!("{}", verdict(target, finished.code, &finished.stdout)?);
    Ok(())
}

fn needs(program: &str, install: &str) -> Result<(), String> {
    let line = nightly(program);
    match line.ask() {
        Some(_) => Ok(()),
        None => Err(format!("`{line}` does not work; get it by: {install}")),
    }
}

fn nightly(line: &str) -> CommandLine {
    CommandLine::new("rustup run nightly").and(line)
}

/// Where new inputs are kept, so that the next run goes on from them. The checked-in ones are only read.
fn found(target: &str) -> String {
    format!("target/fuzz/found/{target}")
}

fn line(target: &str, seconds: NonZeroU32) -> CommandLine {
    // Without a sanitizer: there is no unsafe code to find faults in, and it is twice as fast.
    nightly("cargo fuzz run --sanitizer none --target-dir target/fuzz")
        .word(target)
        .word(found(target))
        .word(format!("fuzz/corpus/{target}"))
        .and("-- -max_len=512")
        .word(format!("-max_total_time={seconds}"))
        .env("RUSTFLAGS", "--cfg idem_fuzz")
}

/// What a run came to, read from what libFuzzer printed.
fn verdict(target: &str, code: Option<i32>, output: &str) -> Result<String, String> {
    if let Some(input) = after(output, "Test unit written to ") {
        return Err(format!(
            "{target} failed; the input that does it: {input}\n\
             once it is mended, move it to fuzz/regressions/{target}/, where the tests run it"
        ));
    }
    // "Done 1234 runs in 56 second(s)"
    let done = after(output, "Done ").map(|rest| rest.split(' ').collect::<Vec<_>>());
    match (code, done.as_deref()) {
        (Some(0), Some([executions, "runs", "in", seconds, ..])) => Ok(format!(
            "{target}: {executions} executions in {seconds} s, none failed"
        )),
        _ => Err(format!("cargo-fuzz itself failed ({code:?})")),
    }
}

/// The rest of the last line that has `label`.
fn after<'a>(output: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = output.lines().rev();
    lines.find_map(|line| Some(line.split_once(label)?.1.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Request, String> {
        request(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    fn seconds(target: &'static str, seconds: u32) -> Result<Request, String> {
        let seconds = NonZeroU32::new(seconds).unwrap();
        Ok(Request::Run { target, seconds })
    }

    #[test]
    fn a_target_is_named_and_its_time_is_given_or_a_minute() {
        assert_eq!(asked(""), Ok(Request::List));
        assert_eq!(asked("record_codec"), seconds("record_codec", 60));
        assert_eq!(
            asked("canonical_json --seconds 900"),
            seconds("canonical_json", 900)
        );
    }

    #[test]
    fn what_is_not_understood_is_named_in_one_line() {
        for (line, named) in [
            ("codec", "`codec`"),
            ("--seconds 5", "`--seconds`"),
            ("record_codec 5", "`5`"),
            ("record_codec --runs 5", "`--runs`"),
            ("record_codec --seconds", "lacks"),
            ("record_codec --seconds 0", "`0`"),
            ("record_codec --seconds -1", "`-1`"),
            ("record_codec --seconds 1.5", "`1.5`"),
            ("record_codec --seconds 5 more", "`more`"),
        ] {
            let misuse = asked(line).unwrap_err();
            assert!(misuse.contains(named) && !misuse.contains('\n'), "{misuse}");
        }
    }

    #[test]
    fn the_targets_are_those_of_the_fuzz_crate() {
        let entries = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let expected = TARGETS.iter().map(|(target, _)| format!("{target}.rs"));
        assert_eq!(files, expected.collect::<Vec<_>>());
    }

    #[test]
    fn new_inputs_do_not_go_to_the_checked_in_corpus() {
        let expected = "RUSTFLAGS='--cfg idem_fuzz' rustup run nightly cargo fuzz run \
            --sanitizer none --target-dir target/fuzz record_codec target/fuzz/found/record_codec \
            fuzz/corpus/record_codec -- -max_len=512 -max_total_time=60";
        assert_eq!(line("record_codec", DEFAULT_SECONDS).to_string(), expected);
    }

    #[test]
    fn executions_and_time_are_read_at_the_end() {
        let output = "#2\tINITED cov: 12\nDone 10000000 runs in 612 second(s)\n";
        assert_eq!(
            verdict("record_codec", Some(0), output).unwrap(),
            "record_codec: 10000000 executions in 612 s, none failed"
        );
    }

    #[test]
    fn a_failure_names_the_input_and_where_it_belongs() {
        let output = "artifact_prefix='a/'; Test unit written to a/crash-0f\nBase64: AA==\n";
        let failure = verdict("record_codec", Some(1), output).unwrap_err();
        assert!(failure.contains(": a/crash-0f\n"), "{failure}");
        assert!(
            failure.contains("fuzz/regressions/record_codec/"),
            "{failure}"
        );
    }

    #[test]
    fn a_run_that_did_not_end_well_is_a_failure() {
        assert!(verdict("record_codec", Some(1), "Done 5 runs in 1 second(s)").is_err());
        assert!(verdict("record_codec", None, "").is_err());
        assert!(verdict("record_codec", Some(0), "").is_err());
    }

    #[test]
    fn what_is_missing_is_said_with_the_command_that_gets_it() {
        let missing = needs("no-such-program-here", "cargo install it").unwrap_err();
        assert!(
            missing.ends_with("get it by: cargo install it"),
            "{missing}"
        );
    }
}
