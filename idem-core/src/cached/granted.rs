//! Which reservations this process was granted, and for what fingerprint.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::CacheKey;
use crate::{Fingerprint, Holder, RecordId, Token};

/// The fingerprints of reservations that were granted through this cache and have not ended.
///
/// Writes name record, token and attempt, not the fingerprint; what is kept in a cache must have the
/// one that the store granted. Bounded by two generations: what is forgotten is not kept in the cache,
/// which costs speed only. A token names one try, so on one record it has one fingerprint.
#[derive(Debug, Default)]
pub(super) struct Granted(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<(CacheKey, Token), Fingerprint>,
    old: HashMap<(CacheKey, Token), Fingerprint>,
}

/// How many reservations a generation has.
const GENERATION: usize = 16 * 1024;

impl Granted {
    pub(super) fn insert(&self, record: &RecordId, token: Token, fingerprint: Fingerprint) {
        let mut generations = self.lock();
        if generations.young.len() >= GENERATION {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations
            .young
            .insert((CacheKey::of(record), token), fingerprint);
    }

    pub(super) fn get(&self, holder: &Holder) -> Option<Fingerprint> {
        let key = key_of(holder);
        let generations = self.lock();
        generations
            .young
            .get(&key)
            .or_else(|| generations.old.get(&key))
            .copied()
    }

    pub(super) fn remove(&self, holder: &Holder) -> Option<Fingerprint> {
        let key = key_of(holder);
        let mut generations = self.lock();
        let removed = generations.young.remove(&key);
        removed.or_else(|| generations.old.remove(&key))
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(holder: &Holder) -> (CacheKey, Token) {
    (CacheKey::of(&holder.record), holder.token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Scope};

    #[test]
    fn it_remembers_the_last_generation_and_stays_bounded() {
        let granted = Granted::default();
        let token = |n: usize| Token::from_bytes((n as u128).to_be_bytes());
        let record = RecordId::new(Scope::new("s").unwrap(), Key::new("k").unwrap());
        let holder = |n: usize| Holder::new(record.clone(), token(n), 1);
        let fingerprint = Fingerprint::raw("x");
        for n in 0..5 * GENERATION {
            granted.insert(&record, token(n), fingerprint);
        }
        let last = 5 * GENERATION - 1;
        assert_eq!(granted.get(&holder(last)), Some(fingerprint));
        assert_eq!(granted.get(&holder(last - GENERATION)), Some(fingerprint));
        assert_eq!(granted.get(&holder(0)), None);
        let generations = granted.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
        drop(generations);
        assert_eq!(granted.remove(&holder(last)), Some(fingerprint));
        assert_eq!(granted.get(&holder(last)), None);
    }

    #[test]
    fn one_token_on_two_records_has_two_fingerprints() {
        let granted = Granted::default();
        let record = |key| RecordId::new(Scope::new("s").unwrap(), Key::new(key).unwrap());
        let token = Token::random();
        granted.insert(&record("a"), token, Fingerprint::raw("a"));
        granted.insert(&record("b"), token, Fingerprint::raw("b"));
        let a = Holder::new(record("a"), token, 1);
        assert_eq!(granted.remove(&a), Some(Fingerprint::raw("a")));
        assert_eq!(granted.get(&a), None);
    }
}
