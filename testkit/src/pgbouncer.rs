//! Throwaway PgBouncers, in front of throwaway Postgres servers.

use std::fs;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::account::Account;
use crate::folder::Folder;
use crate::postgres::Postgres;
use crate::process::Process;
use crate::programs::Wanted;
use crate::until::until;

const WANTED: Wanted = Wanted {
    server: "PgBouncer",
    programs: &[&["pgbouncer"]],
    variable: "IDEM_PGBOUNCER_BIN",
    // Where programs for administrators are, which are not on everybody's PATH.
    folders: &["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"],
    places: &[],
};

/// Also on a machine that does much else.
const START: Duration = Duration::from_secs(30);

/// Only a part of the socket's name: nothing listens on it.
const PORT: u16 = 6432;

/// A PgBouncer of this test's own, before a [`Postgres`], on a unix socket, in transaction mode: each
/// transaction may meet another session of the server. It tracks no prepared statements, which is the
/// hard case. The user `postgres` needs no password. It is ended once this is dropped or the test
/// process ends.
#[derive(Debug)]
pub struct PgBouncer {
    folder: PathBuf,
    process: Mutex<Process>,
}

/// What it is to be like; from [`PgBouncer::builder`].
#[derive(Clone, Debug)]
pub struct PgBouncerBuilder {
    programs: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl PgBouncerBuilder {
    /// A setting as in `pgbouncer.ini`, such as `default_pool_size`, `3`. One of its own is replaced.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Takes `pgbouncer` from this folder, instead of from the one that `IDEM_PGBOUNCER_BIN` names, the
    /// PATH, or where systems keep it.
    #[must_use]
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.programs = Some(folder.into());
        self
    }

    /// Starts it before the server; returns when it takes connections.
    ///
    /// # Panics
    ///
    /// If there is no PgBouncer on the machine, or it does not start.
    #[must_use]
    #[track_caller]
    pub fn start(self, before: &Postgres) -> PgBouncer {
        let program = WANTED.folder(self.programs.clone()).join("pgbouncer");
        // It refuses root as Postgres does, and goes through the server's folder to its socket.
        let account = Account::for_postgres();
        let folder = Folder::of(account);
        let path = folder.path().to_owned();
        fs::write(path.join("users"), "\"postgres\" \"\"\n").unwrap();
        fs::write(path.join("pgbouncer.ini"), self.ini(before, &path)).unwrap();

        let mut command = Command::new(program);
        command.arg("pgbouncer.ini").current_dir(&path).env_clear();
        command.stdout(Stdio::null());
        if let Some(account) = account {
            command.uid(account.user).gid(account.group);
        }
        // Killed in the end: it keeps nothing, and newer ones answer SIGTERM by waiting for their clients.
        let mut process = Process::in_folder(folder);
        process.start(command);
        let socket = path.join(format!(".s.PGSQL.{PORT}"));
        until("a start of PgBouncer", START, || {
            if let Some(status) = process.ended() {
                panic!("PgBouncer ended with {status}:\n{}", process.log());
            }
            UnixStream::connect(&socket).ok()
        });
        PgBouncer {
            folder: path,
            process: Mutex::new(process),
        }
    }

    fn ini(&self, before: &Postgres, folder: &Path) -> String {
        let settings = self.settings.iter();
        let settings: String = settings
            .map(|(name, value)| format!("{name} = {value}\n"))
            .collect();
        format!(
            "[databases]\n\
             * = host={host} port={port}\n\
             [pgbouncer]\n\
             unix_socket_dir = {folder}\n\
             listen_port = {PORT}\n\
             auth_file = users\n\
             {settings}",
            host = before.socket_folder().display(),
            port = before.port_number(),
            folder = folder.display(),
        )
    }
}

impl PgBouncer {
    /// In transaction mode.
    #[must_use]
    #[track_caller]
    pub fn start(before: &Postgres) -> Self {
        Self::builder().start(before)
    }

    /// For more choice.
    #[must_use]
    pub fn builder() -> PgBouncerBuilder {
        PgBouncerBuilder {
            programs: None,
            settings: Vec::new(),
        }
        .setting("pool_mode", "transaction")
        .setting("auth_type", "trust")
        .setting("max_client_conn", "900")
    }

    /// The folder of its unix socket: what clients call the host.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// A part of the unix socket's name.
    #[must_use]
    pub fn port_number(&self) -> u16 {
        PORT
    }

    /// The server's database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://postgres@localhost:{PORT}/postgres?host={}",
            self.folder.display()
        )
    }

    /// The number of its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().pid()
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
