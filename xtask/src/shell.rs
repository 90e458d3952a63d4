//! Running a command line: its output is passed through and kept.

use std::fmt;
use std::io::{self, PipeReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long an ended command's output may stay open before that counts as a failure.
const DRAIN: Duration = Duration::from_secs(10);

/// A command that runs at the workspace's root, shown as one would type it there.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    env: Vec<(&'static str, String)>,
    words: Vec<String>,
}

/// What a command that ran to its end left behind.
pub(crate) struct Finished {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
}

impl CommandLine {
    /// `line` is split at spaces; a word that has spaces of its own comes by [`Self::word`].
    pub(crate) fn new(line: &str) -> Self {
        Self {
            env: Vec::new(),
            words: Vec::new(),
        }
        .and(line)
    }

    pub(crate) fn and(mut self, line: &str) -> Self {
        self.words
            .extend(line.split_whitespace().map(str::to_owned));
        self
    }

    pub(crate) fn word(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Runs to the end. What it prints appears at once, and its standard output is kept as well.
    pub(crate) fn run(&self) -> Result<Finished, String> {
        self.run_and_keep(false)
    }

    /// The same, and its standard error goes where its standard output goes.
    pub(crate) fn run_with_stderr(&self) -> Result<Finished, String> {
        self.run_and_keep(true)
    }

    fn run_and_keep(&self, with_stderr: bool) -> Result<Finished, String> {
        let failed = |error: io::Error| format!("cannot run `{self}`: {error}");
        let (sender, receiver) = mpsc::channel();
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = self.command();
        if with_stderr {
            command.stderr(writer.try_clone().map_err(failed)?);
        }
        let mut child = command.stdout(writer).spawn().map_err(failed)?;
        // It holds our ends of the pipe, and the pipe has no end while one is open.
        drop(command);
        std::thread::spawn(move || sender.send(pass_through(reader)));
        let status = child.wait().map_err(failed)?;
        // A process that the command left behind holds the pipe open: without a limit, we would
        // wait for that process instead of reporting it.
        match receiver.recv_timeout(DRAIN) {
            Ok(stdout) => Ok(Finished {
                code: status.code(),
                stdout,
            }),
            Err(_) => Err(format!(
                "`{self}` ended, but a process that it started goes on"
            )),
        }
    }

    /// The standard output of a command that is only asked something; `None` if it fails.
    pub(crate) fn ask(&self) -> Option<String> {
        let output = self.command().stderr(Stdio::null()).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self) -> Command {
        let mut command = match self.words[0].as_str() {
            // Whichever toolchain runs this program runs the rest as well.
            "cargo" => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
            program => Command::new(program),
        };
        command
            .args(&self.words[1..])
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(root()).stdin(Stdio::null());
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

/// The workspace's root.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn pass_through(mut from: PipeReader) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 8192];
    while let Ok(length @ 1..) = from.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..length]);
        // Nobody listening is no reason to stop: the exit code still counts.
        let mut out = io::stdout().lock();
        let _ = out.write_all(&chunk[..length]).and_then(|()| out.flush());
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let line = CommandLine::new("cargo mutants -f")
            .word("src/*.rs")
            .and("-- it's");
        let line = line.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            line.to_string(),
            r"RUSTDOCFLAGS='-D warnings' cargo mutants -f 'src/*.rs' -- 'it'\''s'"
        );
    }

    #[test]
    fn exit_code_and_output_are_kept() {
        let script = "echo one; echo $WORD; exit 7";
        let line = CommandLine::new("sh -c").word(script).env("WORD", "two");
        let finished = line.run().unwrap();
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(7), "one\ntwo\n")
        );
    }

    #[test]
    fn standard_error_is_kept_where_it_is_asked_for() {
        let line = CommandLine::new("sh -c").word("echo one >&2; echo two");
        assert_eq!(line.run().unwrap().stdout, "two\n");
        assert_eq!(line.run_with_stderr().unwrap().stdout, "one\ntwo\n");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_that_names_it() {
        let error = CommandLine::new("no-such-program-here --flag")
            .run()
            .err()
            .unwrap();
        assert!(error.contains("no-such-program-here --flag"), "{error}");
        assert_eq!(CommandLine::new("no-such-program-here").ask(), None);
        assert_eq!(CommandLine::new("false").ask(), None);
    }
}
