//! Child processes that never outlive their test.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::folder::Folder;
use crate::until::until;

/// How to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Nothing can be done about it.
    Kill,
    /// Postgres: immediate shutdown, as after a crash.
    Quit,
    /// Postgres: fast shutdown, with everything in order.
    Int,
    /// The polite way.
    Term,
}

impl Signal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::Quit => "QUIT",
            Self::Int => "INT",
            Self::Term => "TERM",
        }
    }
}

/// A folder, and at most one process at a time that works in it. What the process writes to its
/// standard error goes to the file `log` there. Dropped, by a panic too, it ends the process; the
/// folder's watchdog does that if the test process is killed.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    /// How the watchdog ends the process.
    ending: Signal,
    folder: Folder,
}

impl Process {
    /// No process yet.
    #[must_use]
    pub fn in_folder(folder: Folder) -> Self {
        Self {
            child: None,
            ending: Signal::Kill,
            folder,
        }
    }

    /// With this signal, not with SIGKILL, is the process ended in the end.
    #[must_use]
    pub fn ended_by(mut self, signal: Signal) -> Self {
        self.ending = signal;
        self
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Starts it, in a process group of its own, so that a ctrl-c is left to the watchdog.
    ///
    /// # Panics
    ///
    /// If the last one still runs, or this one cannot be started.
    pub fn start(&mut self, mut command: Command) -> Option<ChildStdout> {
        assert!(self.child.is_none(), "{:?} still runs", self.child);
        let mut log = File::options();
        let log = log.create(true).append(true).open(self.log_path());
        let spawned = command
            .stdin(Stdio::null())
            .stderr(log.unwrap())
            .process_group(0)
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        self.folder.ends(child.id(), self.ending);
        let stdout = child.stdout.take();
        self.child = Some(child);
        stdout
    }

    /// Its number, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether it ended by itself, and how.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().unwrap()?;
        self.folder.ends_nothing();
        self.child = None;
        Some(status)
    }

    /// Sends it the signal and waits for its end. `None` if it does not run.
    ///
    /// # Panics
    ///
    /// If it has not ended within half a minute.
    pub fn end(&mut self, signal: Signal) -> Option<ExitStatus> {
        send(self.child.as_mut()?, signal);
        let within = Duration::from_secs(30);
        Some(until("the end of a process", within, || self.ended()))
    }

    /// Sends it a signal that does not end it.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub(crate) fn send(&mut self, signal: &str) {
        let pid = self.pid().expect("it runs").to_string();
        let status = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(status.unwrap().success(), "{signal} was not sent");
    }

    /// What the processes in this folder have written to their standard error.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// It fails only if the process has ended. The number is its own until it was waited for.
fn send(child: &mut Child, signal: Signal) {
    if signal == Signal::Kill {
        let _ = child.kill();
    } else {
        let pid = child.id().to_string();
        let mut kill = Command::new("kill");
        kill.args(["-s", signal.name(), &pid]).stderr(Stdio::null());
        let _ = kill.status();
    }
}

impl Drop for Process {
    /// Without a panic of its own: this may run while one unwinds.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            send(&mut child, self.ending);
            let _ = child.wait();
            self.folder.ends_nothing();
        }
    }
}
