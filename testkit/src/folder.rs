//! Throwaway folders, and the watchdogs that clear them away.

use std::fs::DirBuilder;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::Account;
use crate::process::Signal;

/// Reads which process to end and how, until its standard input ends because the folder was dropped or
/// because the test process is gone, however that came about. Then it does it.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
signal= pid=
while read -r next_signal next_pid; do
    signal=$next_signal pid=$next_pid
done
if [ -n "$pid" ]; then
    kill -s "$signal" "$pid"
    tries=0
    while kill -s 0 "$pid" && [ "$tries" -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -s KILL "$pid"
fi
rm -rf -- "$1"
"#;

/// A folder that is gone once it is dropped, or the test process ended in whatever way.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    watchdog: Child,
}

impl Folder {
    /// A new, empty folder, closed to other users. Its path is short, since a unix socket's path has to
    /// fit into about 100 bytes.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it makes something on the disk")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let temp = std::env::temp_dir();
        let path = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = temp.join(format!("idem-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                // Left by another process with this number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("cannot make {}: {error}", path.display()),
            }
        };
        let watchdog = Command::new("/bin/sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the test's process group must not end this.
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        Self { path, watchdog }
    }

    /// A folder that belongs to the account, if it is not the test's own.
    pub(crate) fn of(account: Option<Account>) -> Self {
        let folder = Self::new();
        if let Some(account) = account {
            chown(&folder.path, Some(account.user), Some(account.group)).unwrap();
        }
        folder
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on the watchdog ends this process, instead of the one before, and before it removes the
    /// folder.
    pub(crate) fn ends(&mut self, pid: u32, signal: Signal) {
        self.tell(&format!("{} {pid}\n", signal.name()));
    }

    /// From now on the watchdog ends no process.
    pub(crate) fn ends_nothing(&mut self) {
        self.tell("- \n");
    }

    fn tell(&mut self, line: &str) {
        let stdin = self.watchdog.stdin.as_mut().unwrap();
        stdin
            .write_all(line.as_bytes())
            .expect("the watchdog lives");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_folder_is_gone_with_what_is_in_it() {
        let folder = Folder::new();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn the_watchdog_ends_the_last_process_that_it_was_told() {
        let sleeper = || Command::new("sleep").arg("60").spawn().unwrap();
        let (mut spared, mut ended) = (sleeper(), sleeper());
        let mut folder = Folder::new();
        folder.ends(spared.id(), Signal::Kill);
        folder.ends(ended.id(), Signal::Kill);
        let reaper = std::thread::spawn(move || ended.wait().unwrap());
        drop(folder);
        assert!(!reaper.join().unwrap().success());
        assert!(spared.try_wait().unwrap().is_none());
        spared.kill().unwrap();
        spared.wait().unwrap();
    }
}
