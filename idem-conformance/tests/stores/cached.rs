//! A cache before a store. Every handle is a node of its own, as in real life.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use idem_conformance::{Harness, Store, async_trait, conformance};
use idem_core::{
    Cache, CacheKey, CacheValue, Cached, Clock, Error, ManualClock, MemoryCache, MemoryStore,
    Timestamp,
};
use tokio::task::yield_now;

/// Nodes before one store; `C` says what each has for a cache.
pub(super) struct Nodes<C> {
    clock: ManualClock,
    store: MemoryStore,
    cache: C,
}

/// What a node is given for a cache.
pub(super) trait OfNode: Send + Sync + 'static {
    type Cache: Cache + 'static;

    fn new(clock: &ManualClock) -> Self;

    fn of_a_node(&self) -> Self::Cache;
}

#[async_trait]
impl<C: OfNode> Harness for Nodes<C> {
    async fn open() -> Self {
        let clock = ManualClock::new();
        Self {
            store: MemoryStore::with_clock(clock.clone()),
            cache: C::new(&clock),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(Cached::new(self.store.clone(), self.cache.of_a_node()))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// Each node has memory of its own.
struct OwnMemory(ManualClock);

impl OfNode for OwnMemory {
    type Cache = MemoryCache;

    fn new(clock: &ManualClock) -> Self {
        Self(clock.clone())
    }

    fn of_a_node(&self) -> MemoryCache {
        MemoryCache::with_clock(16 << 20, self.0.clone())
    }
}

/// All nodes share one cache, which lets others go first before it answers: marks may land late.
#[derive(Clone)]
pub(super) struct Shared {
    clock: ManualClock,
    entries: Arc<Mutex<HashMap<CacheKey, (Bytes, Timestamp)>>>,
}

impl OfNode for Shared {
    type Cache = Self;

    fn new(clock: &ManualClock) -> Self {
        Self {
            clock: clock.clone(),
            entries: Arc::default(),
        }
    }

    fn of_a_node(&self) -> Self {
        self.clone()
    }
}

#[async_trait]
impl Cache for Shared {
    fn is_shared(&self) -> bool {
        true
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        yield_now().await;
        let found = self.entries.lock().unwrap().get(key).cloned();
        Ok(found.and_then(|(value, end)| {
            let expires_in = end.saturating_since(self.clock.now());
            (!expires_in.is_zero()).then_some(CacheValue { value, expires_in })
        }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        yield_now().await;
        let end = self.clock.now().saturating_add(time_to_live);
        self.entries.lock().unwrap().insert(*key, (value, end));
        Ok(())
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        yield_now().await;
        self.entries.lock().unwrap().remove(key);
        Ok(())
    }
}

mod by_own_memory {
    use super::*;

    conformance!(Nodes<OwnMemory>, exact_time, copies);
}

mod by_all_nodes {
    use super::*;

    conformance!(Nodes<Shared>, exact_time, marks);
}
