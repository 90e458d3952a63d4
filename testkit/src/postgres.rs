//! Throwaway Postgres servers.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::folder::Folder;
use crate::ports::{Port, on_a_port};
use crate::process::{Process, Signal};
use crate::programs::Wanted;
use crate::until::until;

const WANTED: Wanted = Wanted {
    server: "PostgreSQL",
    programs: &[&["postgres"], &["initdb"]],
    variable: "IDEM_POSTGRES_BIN",
    folders: &[],
    places: &[
        ("/usr/lib/postgresql", "bin"),
        ("/opt/homebrew/opt", "bin"),
        ("/usr/local/opt", "bin"),
        ("/usr", "bin"),
    ],
};

/// Also on a machine that does much else. A recovery after a crash is part of a start.
const START: Duration = Duration::from_secs(60);

/// A Postgres server of this test's own, as the superuser `postgres`, who needs no password. It is
/// ended, and its data are gone, once this is dropped or the test process ends.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    port: Option<Port>,
    account: Option<Account>,
    process: Mutex<Process>,
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ends the sessions, writes everything out.
    Fast,
    /// At once, as in a crash: the next start recovers.
    Immediate,
}

/// What a server is to be like; from [`Postgres::builder`].
#[derive(Debug, Default)]
pub struct PostgresBuilder {
    programs: Option<PathBuf>,
    tcp: bool,
    fsync: bool,
    settings: Vec<String>,
}

impl PostgresBuilder {
    /// Listens on a port of 127.0.0.1 as well, not only on a unix socket.
    #[must_use]
    pub fn tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// Syncs for real. Otherwise it does not (`fsync=off`), which loses nothing as long as only
    /// processes die and not the machine.
    #[must_use]
    pub fn fsync(mut self) -> Self {
        self.fsync = true;
        self
    }

    /// A setting as in `postgresql.conf`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push(format!("{name}={value}"));
        self
    }

    /// Takes `postgres` and `initdb` from this folder, instead of from the one that `IDEM_POSTGRES_BIN`
    /// names, the PATH, or the newest version installed.
    #[must_use]
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.programs = Some(folder.into());
        self
    }

    /// Starts it; returns when it takes connections.
    ///
    /// # Panics
    ///
    /// If there is no Postgres on the machine, or it does not start.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Postgres {
        let programs = WANTED.folder(self.programs.clone());
        if !self.tcp {
            return self
                .start_on(programs, None)
                .unwrap_or_else(|e| panic!("{e}"));
        }
        let (mut server, port) =
            on_a_port(|port| self.start_on(programs.clone(), Some(port.number())));
        server.port = Some(port);
        server
    }

    fn start_on(&self, programs: PathBuf, port: Option<u16>) -> Result<Postgres, String> {
        let account = Account::for_postgres();
        let folder = Folder::of(account);
        copy_of_new_data(&programs, account, &folder.path().join("data"));

        let mut settings = vec![format!(
            "unix_socket_directories={}",
            folder.path().display()
        )];
        settings.push(match port {
            Some(port) => format!("port={port}"),
            None => format!("port={DEFAULT_PORT}"),
        });
        let listen = if port.is_some() { "127.0.0.1" } else { "" };
        settings.push(format!("listen_addresses={listen}"));
        if !self.fsync {
            settings.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
        }
        // The last one counts.
        settings.extend(self.settings.iter().cloned());
        let server = Postgres {
            programs,
            folder: folder.path().to_owned(),
            settings,
            port: None,
            account,
            // Killed, it would leave its other processes behind for a moment, and shared memory.
            process: Mutex::new(Process::in_folder(folder).ended_by(Signal::Quit)),
        };
        server.try_start()?;
        Ok(server)
    }
}

/// Only a part of the socket's name if it is not listened on.
const DEFAULT_PORT: u16 = 5432;

impl Postgres {
    /// A server on a unix socket, with `fsync=off`.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// For more choice.
    #[must_use]
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// The folder of its unix socket: what clients call the host.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// The unix socket itself, for a proxy.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port_number()))
    }

    /// Where it listens for TCP, if it does.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.port.as_ref().map(Port::address)
    }

    /// The port; it is a part of the unix socket's name too.
    #[must_use]
    pub fn port_number(&self) -> u16 {
        self.port.as_ref().map_or(DEFAULT_PORT, Port::number)
    }

    /// Its database `postgres`, by TCP if it listens there and else by the unix socket.
    #[must_use]
    pub fn url(&self) -> String {
        match self.address() {
            Some(address) => format!("postgres://postgres@{address}/postgres"),
            None => format!(
                "postgres://postgres@localhost/postgres?host={}",
                self.folder.display()
            ),
        }
    }

    /// The number of its first process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().pid()
    }

    /// What `psql` answers: rows a line each, columns split by `|`. `Err` is what it complained of.
    ///
    /// # Panics
    ///
    /// If there is no `psql`.
    pub fn psql(&self, sql: &str) -> Result<String, String> {
        let own = self.programs.join("psql");
        let psql = if own.is_file() { own } else { "psql".into() };
        let output = Command::new(psql)
            .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .arg(self.url())
            .stdin(Stdio::null())
            .output()
            .expect("psql: install it with `cargo xtask setup`");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// Stops it; its data stay.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn stop(&self, how: Stop) {
        self.process().end(match how {
            Stop::Fast => Signal::Int,
            Stop::Immediate => Signal::Quit,
        });
    }

    /// Starts it again after a stop, on the same data, socket and port.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&self) {
        self.try_start().unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.process().log()
    }

    /// From its next start on it is a standby: it follows nobody, and takes no writes.
    ///
    /// # Panics
    ///
    /// If its folder cannot be written to.
    pub fn becomes_standby(&self) {
        fs::write(self.folder.join("data/standby.signal"), "").unwrap();
    }

    fn try_start(&self) -> Result<(), String> {
        let data = self.folder.join("data");
        let mut command = command(&self.programs.join("postgres"), self.account, &self.folder);
        command.arg("-D").arg(&data).stdout(Stdio::null());
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let mut process = self.process();
        process.start(command);
        let pid = process.pid().unwrap();
        until("a start of Postgres", START, || {
            if let Some(status) = process.ended() {
                let log = process.log();
                return Some(Err(format!("Postgres ended with {status}:\n{log}")));
            }
            is_ready(&data, pid).then_some(Ok(()))
        })
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As `pg_ctl -w` finds out: the eighth line of `postmaster.pid`, if it is this process's file.
fn is_ready(data: &Path, pid: u32) -> bool {
    let text = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines();
    lines.next() == Some(&pid.to_string())
        && lines
            .nth(6)
            .is_some_and(|status| matches!(status.trim(), "ready" | "standby"))
}

/// `initdb` takes longer than everything else, so it runs once a process and version.
fn copy_of_new_data(programs: &Path, account: Option<Account>, to: &Path) {
    static NEW: Mutex<BTreeMap<PathBuf, Arc<Folder>>> = Mutex::new(BTreeMap::new());
    let new = {
        let mut known = NEW.lock().unwrap_or_else(PoisonError::into_inner);
        let of_version = known.entry(programs.to_owned());
        Arc::clone(of_version.or_insert_with(|| Arc::new(new_data(programs, account))))
    };
    let mut copy = Command::new("cp");
    copy.arg("-Rp").arg(new.path().join("data")).arg(to);
    run(copy);
}

fn new_data(programs: &Path, account: Option<Account>) -> Folder {
    let folder = Folder::of(account);
    let mut initdb = command(&programs.join("initdb"), account, folder.path());
    initdb.arg("-D").arg(folder.path().join("data"));
    initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    initdb.args(["--no-sync", "--no-instructions"]);
    run(initdb);
    folder
}

/// A program of Postgres, as a user whom it allows.
fn command(program: &Path, account: Option<Account>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear();
    command.env("LC_ALL", "C").env("TZ", "UTC");
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    command
}

#[track_caller]
fn run(mut command: Command) {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} after {:?}:\n{}",
        begun.elapsed(),
        String::from_utf8_lossy(&output.stderr)
    );
}
