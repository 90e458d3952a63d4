//! A server that a command of the README starts, for as long as the test needs it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use testkit::Folder;

/// A free one, whichever that is.
pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

/// Long enough for a first build.
const START: Duration = Duration::from_secs(600);

pub(crate) struct Server {
    child: Child,
    /// What it keeps there is left behind when it is killed.
    _temp: Folder,
    pub(crate) address: String,
}

impl Server {
    /// Runs `command`, which listens on [`ANY_PORT`], and waits for the address in its first line.
    pub(crate) fn start(mut command: Command) -> Self {
        let temp = Folder::new();
        command.stdout(Stdio::piped()).env("TMPDIR", temp.path());
        let mut server = Self {
            child: command.spawn().unwrap(),
            _temp: temp,
            address: String::new(),
        };
        let stdout = BufReader::new(server.child.stdout.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        // Reads on after the first line: a full pipe would stop the server.
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .for_each(|line| sender.send(line).unwrap_or(()));
        });
        let first = receiver
            .recv_timeout(START)
            .expect("the server prints its address");
        let address = first.strip_prefix("listening on http://").expect(&first);
        address.clone_into(&mut server.address);
        server
    }
}

/// Ends it also when the test panics. `cargo run` becomes the program that it runs, so this ends
/// the server itself.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
