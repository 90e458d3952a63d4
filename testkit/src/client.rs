//! A client that asks until it knows.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::history::{History, Try};
use crate::http::{Answer, Request};
use crate::marks::Marks;
use crate::random::Rng;

/// Sends the same request, byte for byte, until a definitive answer comes, and writes down every try.
#[derive(Clone, Debug)]
pub struct RetryingClient {
    /// Where the server is, in each of its lives.
    pub to: SocketAddr,
    /// For one try. Far longer than an answer takes.
    pub within: Duration,
    /// For all tries at one operation: after that it is stuck.
    pub patience: Duration,
    /// The longest pause before the next try; pauses are random.
    pub pause: Duration,
    /// Which answers end the asking.
    pub is_definitive: fn(&Answer) -> bool,
    /// What is told when a request begins and ends.
    pub marks: Option<Marks>,
    /// Where every try is written down.
    pub history: History,
}

impl RetryingClient {
    /// With the usual patience, and [`Answer::is_definitive`].
    #[must_use]
    pub fn new(to: SocketAddr) -> Self {
        Self {
            to,
            within: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            pause: Duration::from_millis(20),
            is_definitive: Answer::is_definitive,
            marks: None,
            history: History::default(),
        }
    }

    /// The definitive answer. `None`: it is stuck.
    pub fn ask(&self, operation: &str, request: &Request, rng: &mut Rng) -> Option<Answer> {
        self.history.begin(operation);
        let deadline = Instant::now() + self.patience;
        while Instant::now() < deadline {
            if let Some(answer) = self.ask_once(operation, request) {
                return Some(answer);
            }
            // why: retries without a pause would keep the restarted server from anything else
            thread::sleep(rng.shorter_than(self.pause));
        }
        None
    }

    fn ask_once(&self, operation: &str, request: &Request) -> Option<Answer> {
        if let Some(marks) = &self.marks {
            marks.sent(operation);
        }
        let outcome = request.send(self.to, self.within);
        if let Some(marks) = &self.marks {
            marks.ended(operation);
        }
        let definitive = outcome.as_ref().is_ok_and(self.is_definitive);
        let made = Try {
            outcome: outcome.map_err(|error| error.to_string()),
            definitive,
        };
        let acknowledged = made.acknowledged().cloned();
        self.history.add(operation, made);
        acknowledged
    }
}
