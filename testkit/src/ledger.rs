//! What really happened, written down outside of the killed process.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use crate::lines::{LineClient, LineServer};
use crate::marks::{Marks, VARIABLE};

/// Something that happened and cannot be undone: money that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The provider's number for it.
    pub id: String,
    /// The operation that it was for, by the client's name.
    pub operation: String,
    /// The key by which the provider could know it again.
    pub provider_key: Option<String>,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.provider_key.as_deref().unwrap_or("no key");
        write!(f, "{} for {} ({key})", self.id, self.operation)
    }
}

/// What a provider knows again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembers {
    /// Nothing: every call is an effect.
    Nothing,
    /// Its callers' keys, for so long: a call with a key that it remembers gets the first answer, and is
    /// no effect.
    Keys(Duration),
}

/// A provider and its ledger, in the test's own process: no kill of a child loses a line of it.
#[derive(Clone, Debug)]
pub struct Ledger {
    books: Arc<Mutex<Books>>,
    server: Arc<LineServer>,
}

#[derive(Debug)]
struct Books {
    remembers: Remembers,
    effects: Vec<(Effect, Instant)>,
    calls: u64,
}

impl Ledger {
    /// Listens for calls.
    #[must_use]
    pub fn start(remembers: Remembers) -> Self {
        Self::open(remembers, None)
    }

    /// Reports to the marks of a child as well: `charging` when a call comes in, `charged` when its
    /// effect has happened, before it is answered. So kills land exactly before and after the effect even
    /// of a child that reports nothing itself; and no call that comes in once a kill is decided has an
    /// effect.
    #[must_use]
    pub fn reporting_to(marks: &Marks, remembers: Remembers) -> Self {
        Self::open(remembers, Some(marks.clone()))
    }

    fn open(remembers: Remembers, marks: Option<Marks>) -> Self {
        let books = Arc::new(Mutex::new(Books {
            remembers,
            effects: Vec::new(),
            calls: 0,
        }));
        let of_server = Arc::clone(&books);
        let server = LineServer::start(move |line| {
            let words: Vec<_> = line.split(' ').collect();
            let ["charge", operation, key, ref life @ ..] = words[..] else {
                return Some(format!("not understood: {line}"));
            };
            let key = Some(key).filter(|key| *key != "-");
            let life = life.first().and_then(|life| life.parse().ok());
            let charge = || lock(&of_server).charge(operation, key);
            let id = match &marks {
                Some(marks) => marks.effect(operation, life, charge)?,
                None => charge(),
            };
            Some(format!("charged {id}"))
        });
        Self {
            books,
            server: Arc::new(server),
        }
    }

    /// Where it listens. A child calls it by [`LedgerClient`], or by hand: it writes
    /// `charge OPERATION KEY LIFE` and a line feed, with `-` for no key, and reads the line `charged ID`.
    /// The life is what follows the `/` in `IDEM_MARKS`; without it, a call of a killed child that comes in
    /// late counts as one of its successor.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Every effect, in order.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        let books = lock(&self.books);
        books
            .effects
            .iter()
            .map(|(effect, _)| effect.clone())
            .collect()
    }

    /// How often it was called, repeats included.
    #[must_use]
    pub fn calls(&self) -> u64 {
        lock(&self.books).calls
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Books {
    fn charge(&mut self, operation: &str, key: Option<&str>) -> String {
        self.calls += 1;
        if let Some(known) = self.known(key) {
            return known.id.clone();
        }
        let id = format!("ch_{}", self.effects.len() + 1);
        let effect = Effect {
            id: id.clone(),
            operation: operation.to_owned(),
            provider_key: key.map(str::to_owned),
        };
        self.effects.push((effect, Instant::now()));
        id
    }

    fn known(&self, key: Option<&str>) -> Option<&Effect> {
        let (Remembers::Keys(window), Some(key)) = (self.remembers, key) else {
            return None;
        };
        let mut latest_first = self.effects.iter().rev();
        let found = latest_first.find(|(effect, _)| effect.provider_key.as_deref() == Some(key));
        found
            .filter(|(_, at)| at.elapsed() < window)
            .map(|(effect, _)| effect)
    }
}

/// The child's side of a [`Ledger`].
#[derive(Debug)]
pub struct LedgerClient {
    client: LineClient,
    life: String,
}

impl LedgerClient {
    /// A connection to a ledger at this address.
    pub fn connect(address: &str) -> io::Result<Self> {
        let client = LineClient::connect(address)?;
        let marks = std::env::var(VARIABLE).unwrap_or_default();
        let life = marks.split_once('/').map_or("", |(_, life)| life);
        Ok(Self {
            client,
            life: life.to_owned(),
        })
    }

    /// Charges for the operation, and returns the charge's number. An error leaves open whether it
    /// charged.
    pub fn charge(&mut self, operation: &str, provider_key: Option<&str>) -> io::Result<String> {
        let key = provider_key.unwrap_or("-");
        let line = format!("charge {operation} {key} {}", self.life);
        let answer = self.client.ask(line.trim_end())?;
        match answer.strip_prefix("charged ") {
            Some(id) => Ok(id.to_owned()),
            None => Err(io::Error::other(answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(remembers: Remembers, keys: [Option<&str>; 4]) -> (Vec<String>, Ledger) {
        let ledger = Ledger::start(remembers);
        let mut client = LedgerClient::connect(&ledger.address().to_string()).unwrap();
        let charge = |key: Option<&str>| client.charge("op", key).unwrap();
        (keys.map(charge).to_vec(), ledger)
    }

    #[test]
    fn a_key_is_charged_once_within_its_window() {
        let keys = [Some("k"), Some("k"), Some("other"), None];
        let (got, ledger) = ids(Remembers::Keys(Duration::from_secs(600)), keys);
        assert_eq!(got, ["ch_1", "ch_1", "ch_2", "ch_3"]);
        assert_eq!((ledger.calls(), ledger.effects().len()), (4, 3));
        assert_eq!(ledger.effects()[0].to_string(), "ch_1 for op (k)");
        let (got, _) = ids(Remembers::Keys(Duration::ZERO), keys);
        assert_eq!(
            got,
            ["ch_1", "ch_2", "ch_3", "ch_4"],
            "the window has ended"
        );
    }

    #[test]
    fn without_memory_every_call_charges() {
        let (got, _) = ids(Remembers::Nothing, [Some("k"), Some("k"), None, None]);
        assert_eq!(got, ["ch_1", "ch_2", "ch_3", "ch_4"]);
    }
}
