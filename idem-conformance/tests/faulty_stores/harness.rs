//! One harness for all of them: it opens the store that this thread judges.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use idem_conformance::{
    Harness, Limited, Reopen, Store, Verdict, all_laws, async_trait, judge_some,
};
use idem_core::{Cache, CacheKey, CacheValue, Cached, Clock as _, Error, ManualClock, Timestamp};

use crate::data::Data;
use crate::decisions::{Decisions, Kind, LIMIT};
use crate::store::{Handle, Shared, lock, step_aside};

thread_local! {
    static JUDGED: Cell<Option<&'static Decisions>> = const { Cell::new(None) };
}

/// The laws of the store's words, judged: those that are for it, or all of them where `every` says so, or
/// none is for it alone.
pub(crate) fn judge(store: &'static Decisions, every: bool) -> Vec<Verdict> {
    JUDGED.set(Some(store));
    let every = every || all_laws().iter().all(|law| law.rejects != store.name);
    let chosen = |_: &str, rejects: &str| every || rejects == store.name;
    match store.kind {
        Kind::Plain => judge_some!(chosen, Judged, exact_time, reopen),
        Kind::Limited => judge_some!(chosen, Judged, exact_time, limit),
        Kind::Copies => judge_some!(chosen, Judged, copies),
        Kind::Marks => judge_some!(chosen, Judged, marks),
    }
}

struct Judged {
    decisions: &'static Decisions,
    clock: ManualClock,
    shared: Arc<Shared>,
    cache: ToyCache,
    handles: AtomicU64,
}

impl Judged {
    fn over(decisions: &'static Decisions, clock: ManualClock, shared: Arc<Shared>) -> Self {
        Self {
            cache: ToyCache {
                decisions,
                clock: clock.clone(),
                entries: Arc::default(),
            },
            decisions,
            clock,
            shared,
            handles: AtomicU64::new(0),
        }
    }
}

/// The records of stores that share them with all others.
static OF_ALL: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

fn empty() -> Arc<Shared> {
    Arc::new(Shared::from_disk(Data::default()))
}

#[async_trait]
impl Harness for Judged {
    async fn open() -> Self {
        let decisions = JUDGED.get().expect("laws open stores on their own thread");
        let shared = if decisions.stores_share {
            Arc::clone(lock(&OF_ALL).get_or_insert_with(empty))
        } else {
            empty()
        };
        Self::over(decisions, ManualClock::new(), shared)
    }

    fn store(&self) -> Arc<dyn Store> {
        let handle = Handle {
            decisions: self.decisions,
            clock: self.clock.clone(),
            shared: if self.decisions.handles_share {
                Arc::clone(&self.shared)
            } else {
                empty()
            },
            number: self.handles.fetch_add(1, Ordering::Relaxed),
        };
        match self.decisions.kind {
            Kind::Plain | Kind::Limited => Arc::new(handle),
            Kind::Copies | Kind::Marks => Arc::new(
                Cached::new(handle, self.cache.clone())
                    .marks(self.decisions.longest_mark)
                    .cache_timeout(Duration::from_secs(60)),
            ),
        }
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl Reopen for Judged {
    async fn reopen(self) -> Self {
        let disk = lock(&self.shared.disk).clone();
        let shared = Arc::new(Shared::from_disk(disk));
        Self::over(self.decisions, self.clock, shared)
    }
}

impl Limited for Judged {
    const LARGEST_RESPONSE: usize = LIMIT;
}

/// A cache under the store's clock.
#[derive(Clone)]
struct ToyCache {
    decisions: &'static Decisions,
    clock: ManualClock,
    entries: Arc<Mutex<HashMap<CacheKey, (Bytes, Timestamp)>>>,
}

#[async_trait]
impl Cache for ToyCache {
    fn is_shared(&self) -> bool {
        self.decisions.kind == Kind::Marks
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        let now = self.clock.now();
        let entries = lock(&self.entries);
        let kept = entries.get(key).filter(|(_, end)| now < *end);
        Ok(kept.map(|(value, end)| CacheValue {
            value: value.clone(),
            expires_in: end.saturating_since(now),
        }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        // A put may land late.
        step_aside().await;
        let time_to_live = (self.decisions.cached_for)(time_to_live);
        let end = self.clock.now().saturating_add(time_to_live);
        lock(&self.entries).insert(*key, (value, end));
        Ok(())
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        lock(&self.entries).remove(key);
        Ok(())
    }
}
