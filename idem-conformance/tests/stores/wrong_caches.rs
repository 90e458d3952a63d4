//! Caches that break their contract: the suite finds each of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use idem_conformance::{async_trait, judge_some};
use idem_core::{Cache, CacheKey, CacheValue, Error, ManualClock};

use crate::cached::{Nodes, OfNode, Shared};

/// A cache that all nodes share, with one thing wrong. Clones are the same cache.
#[derive(Clone)]
struct Wrong<const WHAT: u8> {
    right: Shared,
    puts: Arc<Mutex<Vec<(CacheKey, Bytes, Duration)>>>,
}

const NOTHING: u8 = 0;
/// It keeps a value beyond its time.
const FOREVER: u8 = 1;
/// It says that more time is left than there is.
const OVERSTATED: u8 = 2;
/// It gives what is kept under another key.
const MIXED_UP: u8 = 3;
/// It alters a value.
const ALTERED: u8 = 4;
/// It puts again what was put once, whenever that was.
const SENT_AGAIN: u8 = 5;
/// It does not remove.
const NOT_REMOVED: u8 = 6;

impl<const WHAT: u8> Wrong<WHAT> {
    fn key(&self, key: &CacheKey) -> CacheKey {
        let puts = self.puts.lock().unwrap();
        match puts.first() {
            Some((first, ..)) if WHAT == MIXED_UP => *first,
            _ => *key,
        }
    }

    fn once_put(&self, key: &CacheKey) -> Option<(Bytes, Duration)> {
        let puts = self.puts.lock().unwrap();
        let mut of_key = puts.iter().rev().filter(|(put, ..)| put == key);
        of_key.next().map(|(_, value, time)| (value.clone(), *time))
    }
}

impl<const WHAT: u8> OfNode for Wrong<WHAT> {
    type Cache = Self;

    fn new(clock: &ManualClock) -> Self {
        Self {
            right: Shared::new(clock),
            puts: Arc::default(),
        }
    }

    fn of_a_node(&self) -> Self {
        self.clone()
    }
}

#[async_trait]
impl<const WHAT: u8> Cache for Wrong<WHAT> {
    fn is_shared(&self) -> bool {
        true
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        let mut found = self.right.get(&self.key(key)).await?;
        if found.is_none()
            && WHAT == SENT_AGAIN
            && let Some((value, time_to_live)) = self.once_put(key)
        {
            self.right.put(key, value, time_to_live).await?;
            found = self.right.get(key).await?;
        }
        Ok(found.map(|mut found| {
            match WHAT {
                OVERSTATED => found.expires_in *= 3,
                ALTERED => {
                    let mut altered = found.value.to_vec();
                    *altered.last_mut().expect("no value is empty") ^= 1;
                    found.value = altered.into();
                }
                _ => {}
            }
            found
        }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        let put = (*key, value.clone(), time_to_live);
        self.puts.lock().unwrap().push(put);
        let time_to_live = match WHAT {
            FOREVER => Duration::from_secs(100 * 365 * 24 * 3600),
            _ => time_to_live,
        };
        self.right.put(&self.key(key), value, time_to_live).await
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        match WHAT {
            NOT_REMOVED => Ok(()),
            _ => self.right.remove(&self.key(key)).await,
        }
    }
}

/// The laws that a cache breaks.
fn broken<const WHAT: u8>() -> Vec<&'static str> {
    // They find each of them, and take little time.
    let chosen = |law: &str, _: &str| ["r6_", "r7_", "r8_", "c8_"].contains(&&law[..3]);
    let verdicts = judge_some!(chosen, Nodes<Wrong<WHAT>>, exact_time, marks);
    let broken = verdicts.iter().filter(|verdict| verdict.broken.is_some());
    broken.map(|verdict| verdict.law).collect()
}

#[test]
fn each_is_found_by_the_suite() {
    assert_eq!(broken::<NOTHING>(), Vec::<&str>::new());
    for (what, broken) in [
        ("it keeps a value beyond its time", broken::<FOREVER>()),
        ("it says that more time is left", broken::<OVERSTATED>()),
        ("it gives what is under another key", broken::<MIXED_UP>()),
        ("it alters a value", broken::<ALTERED>()),
        ("it puts again what was put once", broken::<SENT_AGAIN>()),
        ("it does not remove", broken::<NOT_REMOVED>()),
    ] {
        println!(
            "{what}: {} laws, such as {:?}",
            broken.len(),
            broken.first()
        );
        assert!(!broken.is_empty(), "{what}");
    }
}
