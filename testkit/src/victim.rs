//! A child process that is made to be killed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::folder::Folder;
use crate::marks::Marks;
use crate::process::{Process, Signal};

/// Also on a machine that does much else, and with a store to recover.
const START: Duration = Duration::from_secs(60);

/// A server that runs as a child, is killed, and started again on whatever its last life left behind.
pub struct Victim {
    command: Box<dyn Fn() -> Command + Send>,
    process: Process,
}

impl Victim {
    /// The child that this command starts, once for each of its lives. It has to say a line on its
    /// standard output when it is ready.
    pub fn new(command: impl Fn() -> Command + Send + 'static) -> Self {
        Self {
            command: Box::new(command),
            process: Process::in_folder(Folder::new()),
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
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
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
