//! Throwaway Redis servers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::folder::Folder;
use crate::ports::{Port, on_a_port};
use crate::process::{Process, Signal};
use crate::programs::{Wanted, named_in};
use crate::resp::{Connection, Reply};
use crate::until::until;

const NAMES: &[&str] = &["redis-server", "valkey-server"];

const WANTED: Wanted = Wanted {
    server: "Redis",
    programs: &[NAMES],
    variable: "IDEM_REDIS_BIN",
    folders: &[],
    places: &[],
};

/// Also on a machine that does much else, and with a file to load.
const START: Duration = Duration::from_secs(30);

/// What is on the disk when a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// Nothing, ever.
    No,
    /// What is older than a second or two. (What was written is safe from a SIGKILL; what waits in the
    /// server's own buffer is not.)
    EverySecond,
    /// The write.
    Always,
}

/// A Redis server of this test's own, on a port of 127.0.0.1 and on a unix socket. It is ended, and its
/// files are gone, once this is dropped or the test process ends.
#[derive(Debug)]
pub struct Redis {
    server: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
    port: Port,
    process: Mutex<Process>,
}

/// What a server is to be like; from [`Redis::builder`].
#[derive(Clone, Debug)]
pub struct RedisBuilder {
    programs: Option<PathBuf>,
    append: Append,
    settings: Vec<String>,
}

impl RedisBuilder {
    /// Otherwise [`Append::No`].
    #[must_use]
    pub fn append(mut self, append: Append) -> Self {
        self.append = append;
        self
    }

    /// A setting as in `redis.conf`, such as `maxmemory`, `10mb`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings
            .extend([format!("--{name}"), value.to_owned()]);
        self
    }

    /// Without this command, as an older server.
    #[must_use]
    pub fn without_command(mut self, name: &str) -> Self {
        let unnamed = ["--rename-command", name, ""].map(str::to_owned);
        self.settings.extend(unnamed);
        self
    }

    /// Takes `redis-server` or `valkey-server` from this folder, instead of from the one that
    /// `IDEM_REDIS_BIN` names, or the PATH.
    #[must_use]
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.programs = Some(folder.into());
        self
    }

    /// Starts it; returns when it answers.
    ///
    /// # Panics
    ///
    /// If there is no Redis on the machine, or it does not start.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Redis {
        let programs = WANTED.folder(self.programs.clone());
        let server = named_in(&programs, NAMES).expect("it was found there");
        let (parts, port) = on_a_port(|port| {
            let folder = Folder::new();
            let path = folder.path().to_owned();
            let arguments = self.arguments(port, &path);
            let mut process = Process::in_folder(folder);
            start(&mut process, &server, &arguments, port)?;
            Ok((path, arguments, process))
        });
        let (folder, arguments, process) = parts;
        Redis {
            server,
            folder,
            arguments,
            port,
            process: Mutex::new(process),
        }
    }

    fn arguments(&self, port: &Port, folder: &Path) -> Vec<String> {
        let (append, sync) = match self.append {
            Append::No => ("no", "no"),
            Append::EverySecond => ("yes", "everysec"),
            Append::Always => ("yes", "always"),
        };
        let port = port.number().to_string();
        let folder = folder.display();
        let mut arguments: Vec<String> = [
            ["--bind", "127.0.0.1"],
            ["--port", &port],
            ["--unixsocket", &format!("{folder}/redis.sock")],
            ["--dir", &folder.to_string()],
            ["--save", ""],
            ["--appendonly", append],
            ["--appendfsync", sync],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
        // The last one counts.
        arguments.extend(self.settings.iter().cloned());
        arguments
    }
}

impl Redis {
    /// A server that writes nothing to the disk.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// For more choice.
    #[must_use]
    pub fn builder() -> RedisBuilder {
        RedisBuilder {
            programs: None,
            append: Append::No,
            settings: Vec::new(),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// By TCP.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// The number of its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().pid()
    }

    /// A command on a connection of its own.
    ///
    /// # Panics
    ///
    /// If it is not answered, or by an error.
    #[track_caller]
    pub fn ask(&self, command: &[&str]) -> Reply {
        let reply = Connection::tcp(self.address()).and_then(|mut redis| redis.ask(command));
        match reply {
            Ok(Reply::Error(error)) => panic!("{command:?}: {error}"),
            Ok(reply) => reply,
            Err(error) => panic!("{command:?}: {error}\n{}", self.log()),
        }
    }

    /// SIGKILL; its files stay.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn kill(&self) {
        self.process().end(Signal::Kill);
    }

    /// Stops it in its tracks, as a machine that hangs: its connections stay, and nothing is answered.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn pause(&self) {
        self.process().send("STOP");
    }

    /// It goes on where it was paused.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn go_on(&self) {
        self.process().send("CONT");
    }

    /// SIGTERM, an orderly end; its files stay.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn stop(&self) {
        self.process().end(Signal::Term);
    }

    /// Starts it again after its end, on the same files, socket and port.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&self) {
        let mut process = self.process();
        start(&mut process, &self.server, &self.arguments, &self.port)
            .unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.process().log()
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(
    process: &mut Process,
    server: &Path,
    arguments: &[String],
    port: &Port,
) -> Result<(), String> {
    let mut command = Command::new(server);
    command.args(arguments).current_dir(process.folder().path());
    command.args(["--logfile", "log", "--daemonize", "no"]);
    process.start({
        command.stdout(Stdio::null());
        command
    });
    until("a start of Redis", START, || {
        if let Some(status) = process.ended() {
            let log = process.log();
            return Some(Err(format!("Redis ended with {status}:\n{log}")));
        }
        let pong = Connection::tcp(port.address()).and_then(|mut redis| redis.ask(&["PING"]));
        // While it loads its files, it answers by an error.
        let ready = pong.is_ok_and(|pong| pong == Reply::Text("PONG".into()));
        ready.then_some(Ok(()))
    })
}
