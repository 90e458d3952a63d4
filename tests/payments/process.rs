//! Child processes that never outlive their test.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Folder;

/// Far longer than anything takes: for what hangs.
const LONGEST: Duration = Duration::from_secs(240);

/// The example. `cargo test` builds it before it runs this; `cargo test --test payments` does not.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let binary = profile
        .join("examples")
        .join(format!("payments{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.exists(),
        "run `cargo build --example payments` first"
    );
    binary
}

/// A running example. Dropped, also by a panic, it is killed.
pub(crate) struct Payments {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Where it keeps what is temporary, which it leaves behind if it is killed.
    _temp: Option<Folder>,
}

/// How it ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Ended {
    Payments::spawn(args, None).ended()
}

/// The example, to be given its arguments.
pub(crate) fn command() -> Command {
    Command::new(binary())
}

impl Payments {
    fn spawn(args: &[&str], temp: Option<&Path>) -> Self {
        let own = temp.is_none().then(Folder::new);
        let temp = own.as_ref().map(Folder::path).or(temp);
        let mut child = command()
            .args(args)
            .envs(temp.map(|temp| ("TMPDIR", temp)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdout,
            _temp: own,
        }
    }

    /// `payments serve` on a free port, and the address from its first line.
    pub(crate) fn serve(flags: &[&str]) -> (Self, SocketAddr) {
        Self::serve_with(flags, None)
    }

    /// The same, with a folder for what is temporary.
    pub(crate) fn serve_with(flags: &[&str], temp: Option<&Path>) -> (Self, SocketAddr) {
        let flags = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        let mut payments = Self::spawn(&flags, temp);
        let first = payments.line();
        let Some(address) = first.strip_prefix("listening on http://") else {
            panic!("the first line is {first:?}: {:?}", payments.ended().stderr);
        };
        let address = address.parse().unwrap();
        (payments, address)
    }

    /// The next line of its output, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.strip_suffix('\n').unwrap_or(&line).to_owned()
    }

    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(kill.success());
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(mut self) -> Ended {
        let stderr = read_apart(self.child.stderr.take().unwrap());
        let deadline = Instant::now() + LONGEST;
        // Its output is a few kilobytes and fits into the pipe: reading it can wait.
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("no end within {LONGEST:?}"),
                // why: the standard library has no wait with a deadline
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        Ended {
            status,
            stdout,
            stderr: stderr.join().unwrap(),
        }
    }
}

fn read_apart(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

impl Drop for Payments {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
