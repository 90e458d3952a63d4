//! A child process that is made to be killed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::folder::Folder;
use crate::marks::Marks;
use crate::process::{Process, Signal};

/// What ends the line by which a child that is a test says that it is ready.
pub(crate) const READY: &str = "ready";

/// Also on a machine that does much else, and with a store to recover.
const START: Duration = Duration::from_secs(60);

/// A server that runs as a child, is killed, and started again on whatever its last life left behind.
pub struct Victim {
    command: Box<dyn Fn() -> Command + Send>,
    says_that_it_is_ready: fn(&str) -> bool,
    process: Process,
}

impl Victim {
    /// The child that this command starts, once for each of its lives. It has to say a line on its
    /// standard output when it is ready.
    pub fn new(command: impl Fn() -> Command + Send + 'static) -> Self {
        Self {
            command: Box::new(command),
            says_that_it_is_ready: |_| true,
            process: Process::in_folder(Folder::new()),
        }
    }

    /// This test binary once more, with this one environment variable, made to run only the test of
    /// this name: a test that finds the variable is the child instead. When it is ready it says a line
    /// that ends in `ready`; what the test harness says before does not count.
    ///
    /// # Panics
    ///
    /// If the test binary cannot be found.
    pub fn this_test(name: &'static str, variable: &'static str, value: String) -> Self {
        let binary = std::env::current_exe().unwrap();
        let command = move || {
            let mut command = Command::new(&binary);
            command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
            command.env(variable, &value);
            command
        };
        Self {
            says_that_it_is_ready: |line| line.trim_end().ends_with(READY),
            ..Self::new(command)
        }
    }

    /// Starts a life of it, and returns the line that it said.
    ///
    /// # Panics
    ///
    /// If it ends, or says nothing for a minute.
    pub fn start(&mut self, marks: &Marks) -> String {
        let mut command = (self.command)();
        let (variable, value) = marks.next_life();
        command.env(variable, value).stdout(Stdio::piped());
        let stdout = self.process.start(command).expect("it is piped");
        let (say, said) = mpsc::channel();
        let is_ready = self.says_that_it_is_ready;
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|read| read > 0) && !is_ready(&line) {
                line.clear();
            }
            let _ = say.send(line);
            // Read on, or the child would wait for room in the pipe.
            let _ = stdout.read_to_end(&mut Vec::new());
        });
        let line = said.recv_timeout(START).unwrap_or_default();
        match line.strip_suffix('\n') {
            Some(line) => line.to_owned(),
            None => panic!("the child did not start:\n{}", self.process.log()),
        }
    }

    /// SIGKILL.
    ///
    /// # Panics
    ///
    /// If it had ended by itself.
    pub fn kill(&mut self) {
        if let Some(status) = self.process.ended() {
            let log = self.process.log();
            panic!("the child was not killed, it ended with {status}:\n{log}");
        }
        self.process.end(Signal::Kill);
    }

    /// The number of its process, while it lives.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// What it has written to its standard error, in all its lives.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }
}

impl std::fmt::Debug for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.process.fmt(f)
    }
}
