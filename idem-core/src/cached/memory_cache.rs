//! A cache in this process's memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache as Bounded;

use super::{Cache, CacheKey, CacheValue};
use crate::Error;
use crate::time::{Clock, MonotonicClock, Timestamp};

/// A cache in this process's memory, bounded in bytes. Clones are handles on the same cache.
///
/// It is a node's own, so [`Cached`](super::Cached) keeps completed answers in it and no marks. What it
/// evicts costs speed only. The end of each entry is compared with the clock: nothing is given after
/// its time. A machine that was suspended has not counted that: an entry lasts longer by so much.
///
/// One for each store: see [`Cached::new`](super::Cached::new).
///
/// Needs the feature `memory-cache`.
#[derive(Clone)]
pub struct MemoryCache {
    entries: Arc<Bounded<CacheKey, Kept, Weight>>,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
struct Kept {
    value: Bytes,
    end: Timestamp,
}

#[derive(Clone)]
struct Weight;

impl Weighter<CacheKey, Kept> for Weight {
    /// The value, its key, and about what the cache itself needs for an entry.
    fn weight(&self, _: &CacheKey, kept: &Kept) -> u64 {
        kept.value.len() as u64 + 128
    }
}

/// For the cache's tables: about an answer of a payments API.
const TYPICAL_ENTRY: u64 = 512;

impl MemoryCache {
    /// A cache of at most about so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self::with_clock(bytes, MonotonicClock::new())
    }

    /// The same with a clock of one's own, such as a [`ManualClock`](crate::ManualClock) in tests.
    pub fn with_clock(bytes: u64, clock: impl Clock + 'static) -> Self {
        let items = usize::try_from(bytes / TYPICAL_ENTRY)
            .unwrap_or(usize::MAX)
            .clamp(16, 1 << 20);
        let entries = Bounded::with_weighter(items, bytes, Weight);
        Self {
            entries: Arc::new(entries),
            clock: Arc::new(clock),
        }
    }
}

#[async_trait]
impl Cache for MemoryCache {
    fn is_shared(&self) -> bool {
        false
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        let Some(Kept { value, end }) = self.entries.get(key) else {
            return Ok(None);
        };
        let expires_in = end.saturating_since(self.clock.now());
        if expires_in.is_zero() {
            // Only the one that was looked at: another may have been put meanwhile.
            self.entries.remove_if(key, |kept| kept.end == end);
            return Ok(None);
        }
        Ok(Some(CacheValue { value, expires_in }))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        let end = self.clock.now().saturating_add(time_to_live);
        self.entries.insert(*key, Kept { value, end });
        Ok(())
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        self.entries.remove(key);
        Ok(())
    }
}

#[cfg(test)]
impl MemoryCache {
    pub(super) fn weight(&self) -> u64 {
        self.entries.weight()
    }
}

impl fmt::Debug for MemoryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCache")
            .field("bytes", &self.entries.weight())
            .field("capacity", &self.entries.capacity())
            .finish_non_exhaustive()
    }
}
