//! A cache that fails at random, by a seed: it costs speed, and a false conflict until a mark ends.

use std::collections::{BTreeMap, HashMap};
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use idem_conformance::{Harness, Store, async_trait, judge_some};
use idem_core::{
    Cache, CacheKey, CacheValue, Cached, Clock, Error, ManualClock, MemoryStore, Timestamp,
};
use tokio::task::yield_now;

use crate::checked::{Checked, Granted};

/// What is not asked: that a copy is there; and histories, in which each call would ask twice, so that all
/// overlap and nobody can put them in order in time.
const PASSED_OVER: [&str; 2] = [
    "r6_a_copy_is_given_for_half_of_the_retention_at_most",
    "l1_concurrent_histories_are_linearizable_at_one_moment",
];

#[test]
fn the_suite_holds_on_nodes_before_a_cache_that_fails() {
    let chosen = |law: &str, _: &str| !PASSED_OVER.contains(&law);
    let verdicts = judge_some!(chosen, Nodes, exact_time, copies);
    assert!(verdicts.len() > 150, "{} laws", verdicts.len());
    for verdict in &verdicts {
        assert_eq!(verdict.broken, None, "{}", verdict.law);
    }
    let met = MET.lock().unwrap();
    println!("{} laws; {met:?}", verdicts.len());
    for what in Fault::ALL {
        assert!(met.contains_key(&format!("{what:?}")), "{what:?}: {met:?}");
    }
    assert!(met.contains_key("false conflict"), "{met:?}");
}

/// What the nodes met in all laws.
static MET: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

fn met(what: impl Into<String>) {
    *MET.lock().unwrap().entry(what.into()).or_default() += 1;
}

/// Nodes before one store, with one failing cache between them.
struct Nodes {
    clock: ManualClock,
    store: MemoryStore,
    cache: Failing,
    granted: Granted,
}

#[async_trait]
impl Harness for Nodes {
    async fn open() -> Self {
        static SEED: AtomicU64 = AtomicU64::new(1);
        let clock = ManualClock::new();
        Self {
            store: MemoryStore::with_clock(clock.clone()),
            cache: Failing::new(clock.clone(), SEED.fetch_add(1, Ordering::Relaxed)),
            granted: Granted::default(),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        let cached = Cached::new(self.store.clone(), self.cache.clone());
        Arc::new(Checked {
            // What never answers is waited for in real time.
            cached: cached.cache_timeout(Duration::from_millis(1)),
            granted: Arc::clone(&self.granted),
            clock: self.clock.clone(),
            false_conflict: || met("false conflict"),
        })
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// An error, and nothing happened.
    Refused,
    /// It happened, and an error.
    Unanswered,
    /// Nothing happens, and no answer comes.
    Silent,
    /// It happened, and no answer comes.
    Hangs,
    /// It happens some calls later, if that is in its time.
    Late,
    /// Everything that was kept is gone.
    Forgets,
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::Refused,
        Self::Unanswered,
        Self::Silent,
        Self::Hangs,
        Self::Late,
        Self::Forgets,
    ];
}

/// Keeps its contract, and no more than that. Clones are the same cache.
#[derive(Clone)]
struct Failing {
    clock: ManualClock,
    state: Arc<Mutex<State>>,
}

struct State {
    random: u64,
    entries: HashMap<CacheKey, (Bytes, Timestamp)>,
    late: Vec<Late>,
}

/// What has yet to happen.
struct Late {
    key: CacheKey,
    /// `None`: it is removed.
    put: Option<(Bytes, Duration)>,
    /// Later than that it must not be put.
    within: Timestamp,
    calls_left: u64,
}

impl Failing {
    fn new(clock: ManualClock, seed: u64) -> Self {
        let state = State {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            entries: HashMap::new(),
            late: Vec::new(),
        };
        Self {
            clock,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// What happens to the next call. What is late lands, and now and then others go first.
    async fn next(&self) -> Option<Fault> {
        let (fault, others_first) = {
            let mut state = self.state();
            state.land(self.clock.now());
            let drawn = state.below(40);
            // What is waited for in vain costs time: it is rare.
            let fault = match drawn {
                0..4 => Some(Fault::Refused),
                4..8 => Some(Fault::Unanswered),
                8 => Some(if state.below(2) == 0 {
                    Fault::Silent
                } else {
                    Fault::Hangs
                }),
                9..13 => Some(Fault::Late),
                13 => Some(Fault::Forgets),
                _ => None,
            };
            (fault, state.below(3))
        };
        if let Some(fault) = fault {
            met(format!("{fault:?}"));
        }
        for _ in 0..others_first {
            yield_now().await;
        }
        fault
    }

    /// A put or a removal, as it fails or does not.
    async fn write(&self, key: &CacheKey, put: Option<(Bytes, Duration)>) -> Result<(), Error> {
        let asked = self.clock.now();
        let fault = self.next().await;
        let lost = || Error::unknown_outcome("the cache failed", "planted");
        match fault {
            Some(Fault::Refused) => return Err(lost()),
            Some(Fault::Silent) => return pending().await,
            Some(Fault::Late) => {
                let time_to_live = put.as_ref().map_or(Duration::MAX, |(_, time)| *time);
                let mut state = self.state();
                let calls_left = state.below(6);
                state.late.push(Late {
                    key: *key,
                    put,
                    within: asked.saturating_add(time_to_live),
                    calls_left,
                });
                return Err(lost());
            }
            Some(Fault::Forgets) => self.state().entries.clear(),
            Some(Fault::Unanswered | Fault::Hangs) | None => {}
        }
        self.state().write(key, put, self.clock.now());
        match fault {
            Some(Fault::Unanswered) => Err(lost()),
            Some(Fault::Hangs) => pending().await,
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    /// Below `end`, by the seed (xorshift).
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn write(&mut self, key: &CacheKey, put: Option<(Bytes, Duration)>, now: Timestamp) {
        match put {
            Some((value, time_to_live)) => {
                let end = now.saturating_add(time_to_live);
                self.entries.insert(*key, (value, end));
            }
            None => {
                self.entries.remove(key);
            }
        }
    }

    fn land(&mut self, now: Timestamp) {
        let (landing, flying) = std::mem::take(&mut self.late)
            .into_iter()
            .partition::<Vec<_>, _>(|late| late.calls_left == 0);
        self.late = flying;
        for late in &mut self.late {
            late.calls_left -= 1;
        }
        for Late {
            key, put, within, ..
        } in landing
        {
            if now <= within {
                self.write(&key, put, now);
            }
        }
    }
}

#[async_trait]
impl Cache for Failing {
    fn is_shared(&self) -> bool {
        true
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        match self.next().await {
            Some(Fault::Refused | Fault::Unanswered) => {
                return Err(Error::unavailable("the cache is away", "planted"));
            }
            Some(Fault::Silent | Fault::Hangs) => return pending().await,
            Some(Fault::Forgets) => self.state().entries.clear(),
            Some(Fault::Late) | None => {}
        }
        let found = self.state().entries.get(key).cloned();
        Ok(found.and_then(|(value, end)| {
            let expires_in = end.saturating_since(self.clock.now());
            (!expires_in.is_zero()).then_some(CacheValue { value, expires_in })
        }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        self.write(key, Some((value, time_to_live))).await
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        self.write(key, None).await
    }
}
