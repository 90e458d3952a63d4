//! How a child process says where it is.

use std::process;
use std::sync::Mutex;

use crate::lines::LineClient;
use crate::marks::VARIABLE;

/// The child's side of [`Marks`](crate::Marks). In a process that nobody watches it does nothing.
///
/// A child that cannot depend on this crate does the same by hand: it connects to the address before
/// the `/` in `IDEM_MARKS`, writes `mark LIFE NAME OPERATION` and a line feed, where `LIFE` is what
/// follows the `/`, and goes on only once it has read the line `go`.
#[derive(Debug)]
pub struct Marker {
    rig: Option<(Mutex<LineClient>, String)>,
}

impl Marker {
    /// By the environment that [`Victim`](crate::Victim) gives its child.
    ///
    /// # Panics
    ///
    /// If the test that it names is not there.
    #[must_use]
    pub fn from_env() -> Self {
        let rig = std::env::var(VARIABLE).ok().map(|text| {
            let (address, life) = text.split_once('/').expect("ADDRESS/LIFE");
            let client = LineClient::connect(address).expect("the test listens");
            (Mutex::new(client), life.to_owned())
        });
        Self { rig }
    }

    /// Says that this operation has come to the mark, and returns once the test says to go on. If a kill
    /// is to land here, it never returns. [`Stage::begun_by`](crate::Stage::begun_by) lists the names
    /// that begin a stage; the operation is what the client calls it, without white space.
    pub fn reach(&self, mark: &str, operation: &str) {
        let Some((client, life)) = &self.rig else {
            return;
        };
        let line = format!("mark {life} {mark} {operation}");
        let answer = client.lock().map(|mut client| client.ask(&line));
        // Never past a mark without the test's leave.
        if !matches!(answer, Ok(Ok(text)) if text == "go") {
            process::abort();
        }
    }
}
