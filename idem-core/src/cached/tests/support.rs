//! A store that counts who asks, and a shared cache that fails on request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::sleep; // why: under paused time only

use crate::{
    Answer, Cache, CacheKey, CacheValue, Cached, Clock, Completion, Error, Fingerprint, Holder,
    IdempotencyStore, Key, ManualClock, MemoryStore, Operation, Outcome, Progress, RecordId,
    ReserveRequest, Response, Scope, Terms, Timestamp, Token, Update,
};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const LEASE: Duration = Duration::from_secs(60);

pub(super) fn operation(key: &str, asks_for: &str) -> Operation {
    Operation::new(
        Scope::new("s").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw(asks_for),
    )
}

pub(super) fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key, "150.00"), Token::random(), Terms::default())
}

pub(super) fn holder(request: &ReserveRequest) -> Holder {
    Holder::new(request.operation.record.clone(), request.token, 1)
}

pub(super) fn answer(body: &'static str) -> Answer {
    Response::new(201).body(body).into()
}

/// Counts the reserves that reach it.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) store: MemoryStore,
    reserves: Arc<AtomicUsize>,
}

impl Counted {
    pub(super) fn new(clock: &ManualClock) -> Self {
        Self {
            store: MemoryStore::with_clock(clock.clone()),
            reserves: Arc::default(),
        }
    }

    pub(super) fn reserves(&self) -> usize {
        self.reserves.load(Ordering::SeqCst)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for Counted {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.reserves.fetch_add(1, Ordering::SeqCst);
        self.store.reserve(request).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.store.complete(holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.store.renew(holder, terms, progress).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.store.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.store.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failing {
    Not,
    Down,
    Slow,
}

/// A cache that all nodes share. Clones are the same cache.
#[derive(Clone)]
pub(super) struct SharedCache {
    clock: ManualClock,
    entries: Arc<Mutex<HashMap<CacheKey, (Bytes, Timestamp)>>>,
    failing: Arc<Mutex<Failing>>,
}

impl SharedCache {
    pub(super) fn new(clock: &ManualClock) -> Self {
        let failing = Arc::new(Mutex::new(Failing::Not));
        Self {
            clock: clock.clone(),
            entries: Arc::default(),
            failing,
        }
    }

    pub(super) fn fail(&self, how: Failing) {
        *self.failing.lock().unwrap() = how;
    }

    pub(super) fn flush(&self) {
        self.entries.lock().unwrap().clear();
    }

    pub(super) fn damage(&self) {
        for (value, _) in self.entries.lock().unwrap().values_mut() {
            *value = Bytes::from_static(b"not an entry");
        }
    }

    async fn reach(&self) -> Result<(), Error> {
        let failing = *self.failing.lock().unwrap();
        match failing {
            Failing::Not => Ok(()),
            Failing::Down => Err(Error::unavailable("cache is down", "planted")),
            Failing::Slow => {
                sleep(60 * SECOND).await;
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Cache for SharedCache {
    fn is_shared(&self) -> bool {
        true
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        self.reach().await?;
        let found = self.entries.lock().unwrap().get(key).cloned();
        Ok(found.and_then(|(value, end)| {
            let expires_in = end.saturating_since(self.clock.now());
            (!expires_in.is_zero()).then_some(CacheValue { value, expires_in })
        }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        self.reach().await?;
        let end = self.clock.now().saturating_add(time_to_live);
        self.entries.lock().unwrap().insert(*key, (value, end));
        Ok(())
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        self.reach().await?;
        self.entries.lock().unwrap().remove(key);
        Ok(())
    }
}

/// Two nodes before one store, with one cache between them.
pub(super) struct Nodes {
    pub(super) clock: ManualClock,
    pub(super) store: Counted,
    pub(super) cache: SharedCache,
    pub(super) a: Cached<Counted, SharedCache>,
    pub(super) b: Cached<Counted, SharedCache>,
}

pub(super) fn nodes() -> Nodes {
    let clock = ManualClock::new();
    let store = Counted::new(&clock);
    let cache = SharedCache::new(&clock);
    let a = Cached::new(store.clone(), cache.clone());
    let b = Cached::new(store.clone(), cache.clone());
    Nodes {
        clock,
        store,
        cache,
        a,
        b,
    }
}
