//! What clients were told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::http::Answer;

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// `Err`: no answer, and why.
    pub outcome: Result<Answer, String>,
    /// Whether the client asked no further.
    pub definitive: bool,
}

impl Try {
    /// The answer that a client may rely on, if it was one.
    #[must_use]
    pub fn acknowledged(&self) -> Option<&Answer> {
        self.outcome.as_ref().ok().filter(|_| self.definitive)
    }
}

/// Every try of every operation, in the order in which they ended.
#[derive(Clone, Debug, Default)]
pub struct History {
    tries: Arc<Mutex<BTreeMap<String, Vec<Try>>>>,
}

impl History {
    /// An operation that nobody has heard of yet: it counts as stuck until it is answered.
    pub fn begin(&self, operation: &str) {
        self.lock().entry(operation.to_owned()).or_default();
    }

    /// One more try.
    pub fn add(&self, operation: &str, made: Try) {
        let mut tries = self.lock();
        tries.entry(operation.to_owned()).or_default().push(made);
    }

    /// All tries so far, by operation.
    #[must_use]
    pub fn operations(&self) -> BTreeMap<String, Vec<Try>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Try>>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
