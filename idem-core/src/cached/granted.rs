//! Which reservations this process was granted, and for what fingerprint.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Fingerprint, Token};

/// The fingerprints of reservations that were granted through this cache and have not ended.
///
/// Writes name record, token and attempt, not the fingerprint; what is kept in a cache must have the
/// one that the store granted. Bounded by two generations: what is forgotten is not kept in the cache,
/// which costs speed only.
#[derive(Debug, Default)]
pub(super) struct Granted(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Token, Fingerprint>,
    old: HashMap<Token, Fingerprint>,
}

/// How many reservations a generation has.
const GENERATION: usize = 16 * 1024;

impl Granted {
    pub(super) fn insert(&self, token: Token, fingerprint: Fingerprint) {
        let mut generations = self.lock();
        if generations.young.len() >= GENERATION {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(token, fingerprint);
    }

    pub(super) fn get(&self, token: &Token) -> Option<Fingerprint> {
        let generations = self.lock();
        generations
            .young
            .get(token)
            .or_else(|| generations.old.get(token))
            .copied()
    }

    pub(super) fn remove(&self, token: &Token) -> Option<Fingerprint> {
        let mut generations = self.lock();
        let removed = generations.young.remove(token);
        removed.or_else(|| generations.old.remove(token))
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_remembers_the_last_generation_and_stays_bounded() {
        let granted = Granted::default();
        let token = |n: usize| Token::from_bytes((n as u128).to_be_bytes());
        let fingerprint = Fingerprint::raw("x");
        for n in 0..5 * GENERATION {
            granted.insert(token(n), fingerprint);
        }
        let last = 5 * GENERATION - 1;
        assert_eq!(granted.get(&token(last)), Some(fingerprint));
        assert_eq!(granted.get(&token(last - GENERATION)), Some(fingerprint));
        assert_eq!(granted.get(&token(0)), None);
        let generations = granted.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
        drop(generations);
        assert_eq!(granted.remove(&token(last)), Some(fingerprint));
        assert_eq!(granted.get(&token(last)), None);
    }
}
