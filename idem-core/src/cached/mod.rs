//! A cache in front of an authoritative store.

mod entry;
mod front;
mod granted;
#[cfg(feature = "memory-cache")]
mod memory_cache;
#[cfg(test)]
mod model;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::{Instant, timeout};

#[cfg(feature = "memory-cache")]
pub use self::memory_cache::MemoryCache;

pub use self::front::CacheFront;

use self::entry::Entry;
use self::granted::Granted;
use self::rules::Keep;
use crate::digest::Framed;
use crate::{
    Answer, Completion, Cursor, Error, Holder, IdempotencyStore, Inspect, LapsedPage, Operation,
    Outcome, Progress, Purged, RecordId, RecordInfo, ReserveRequest, Terms, Update,
};

/// A cache of [`Cached`]: three functions, none of which must be reliable.
///
/// Whatever a cache forgets, loses or answers late costs speed only; see [`Cached`] for the one thing
/// that it can cost besides. It must not alter a value, nor give one after its time.
#[async_trait]
pub trait Cache: Send + Sync {
    /// Whether all nodes share it. Only a shared cache keeps [marks](Cached): in a node's own memory
    /// nobody else could remove them.
    fn is_shared(&self) -> bool;

    /// The value kept under `key` and for how long it still is, unless its time is over.
    ///
    /// Dropped: nothing happened.
    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error>;

    /// Keeps `value` under `key` in the place of what is there, for at most `time_to_live`.
    ///
    /// **MUST NOT** be repeated by the cache's own driver after a lost answer: a put that lands late is
    /// a put of something old. Nor **MUST** it take effect later than `time_to_live` after it was asked
    /// for: a copy lasts for half of what the store remembers, and has no more time than that to spare.
    ///
    /// Dropped: it may be kept, or may be within that time.
    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error>;

    /// Removes what is kept under `key`, if anything.
    ///
    /// Dropped: it may be removed, or may be later.
    async fn remove(&self, key: &CacheKey) -> Result<(), Error>;
}

/// What a cache keeps a value under: 32 bytes, derived from scope and key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    fn of(record: &RecordId) -> Self {
        let mut framed = Framed::new("idem.cache-key");
        framed.part(record.scope.as_bytes());
        framed.part(record.key.as_str().as_bytes());
        Self(framed.finish())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey(..)")
    }
}

/// A value that a cache gives. `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheValue {
    /// The bytes that were put.
    pub value: Bytes,
    /// How much of its time to live is left; never more than there is.
    pub expires_in: Duration,
}

impl fmt::Debug for CacheValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheValue")
            .field("bytes", &self.value.len())
            .field("expires_in", &self.expires_in)
            .finish()
    }
}

/// A cache in front of an authoritative store: it replays completed answers and refuses rapid repeats
/// without asking the store. Only the store grants, and a cache never says mismatch.
///
/// # The rules that keep it right
/// - It answers from a *completed copy* with the same fingerprint (replay), or from a live *mark* of
///   another token with the same fingerprint (conflict). **Everything else goes to the store, and so does
///   every resend.**
/// - A **mark** is put only after the store granted, for at most the lease, measured from before the
///   call; put again only after the store renewed; removed before complete, abandon or release.
/// - A **copy** is put only after the store's answer, with the response that stands, for at most half of
///   what the store says it is still remembered, measured from before the call; and never put again
///   because a put failed.
///
/// # What a cache can cost besides speed
/// A false conflict, until a mark ends: when the cache fails while a mark is being removed, when a
/// mark's put lands late, or when the record was changed past this cache (by an operator, by a process
/// without it). Marks last one second at most by [default](Self::marks). A cache that is not
/// [shared](Cache::is_shared) keeps none.
///
/// A copy outlives what the database loses: after a failover or a restore that lost a committed completion,
/// repeats that find the copy are answered by it, and others run again. After a restore, begin with an
/// empty cache.
///
/// A replay from a copy says that it is remembered for less time than it is, never for more.
///
/// A store that loses what it had acknowledged (restored from a backup, failed over to a replica that lagged) loses it
/// without the cache: **flush a shared cache then**, or it replays for half a retention what is not there any more.
///
/// # Before transactions
/// A store that reserves, runs and completes in one transaction is asked by its transactional mode, not through
/// [`IdempotencyStore`]: `idem_postgres::Transactions::behind` puts the cache before it, and a repeat opens no
/// transaction. For a mode of one's own there is [`front`](Self::front).
///
/// Calls of the cache that fail or take longer than [50 ms](Self::cache_timeout) are passed over.
/// `changed`, and all of [`Inspect`], go to the store.
///
/// Dropped futures: as with the store behind it.
///
/// ```
/// # #[cfg(feature = "memory-cache")] {
/// use idem_core::{Cached, Idempotency, MemoryCache, MemoryStore};
///
/// // In real life, a store in a database.
/// let cached = Cached::new(MemoryStore::new(), MemoryCache::new(64 << 20));
/// let idempotency = Idempotency::new(cached);
/// # let _ = idempotency;
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cached<S, C> {
    store: S,
    cache: C,
    longest_mark: Duration,
    cache_timeout: Duration,
    granted: Arc<Granted>,
}

impl<S, C: Cache> Cached<S, C> {
    /// `cache` in front of `store`.
    ///
    /// **One cache is for one store.** Entries go by scope and key, and do not name the store: two stores, or a
    /// database that was made anew, behind one cache would replay each other's answers. Give a shared cache another
    /// prefix for each store, and flush it with its database.
    pub fn new(store: S, cache: C) -> Self {
        Self {
            store,
            cache,
            longest_mark: Duration::from_secs(1),
            cache_timeout: Duration::from_millis(50),
            granted: Arc::default(),
        }
    }

    /// For how long a mark lasts at most, and with it a false conflict. Default 1 s; zero: no marks.
    /// Without effect on a cache that is not [shared](Cache::is_shared).
    #[must_use]
    pub fn marks(mut self, last_at_most: Duration) -> Self {
        self.longest_mark = last_at_most;
        self
    }

    /// How long a call of the cache may take before it is passed over. Default 50 ms; a cache that usually takes
    /// longer is of no use.
    #[must_use]
    pub fn cache_timeout(mut self, one_call: Duration) -> Self {
        self.cache_timeout = one_call;
        self
    }

    /// The store behind the cache.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// What the cache knows of an operation, without asking the store: a replay, a conflict, or
    /// `None`. To look before a transaction is opened; [`front`](Self::front) is for the steps after that.
    ///
    /// Dropped: nothing happened.
    pub async fn look_up(&self, operation: &Operation) -> Option<Outcome> {
        self.answer(operation, None).await
    }

    async fn answer(
        &self,
        operation: &Operation,
        request: Option<&ReserveRequest>,
    ) -> Option<Outcome> {
        let key = CacheKey::of(&operation.record);
        let found = self.ask("get", self.cache.get(&key)).await??;
        // What cannot be read is passed over like what is not there.
        let entry = Entry::decode(&found.value)?;
        let token = request.map(|request| request.token);
        rules::answer(&entry, found.expires_in, &operation.fingerprint, token)
    }

    /// The longest that a mark may last here; zero for none.
    fn longest_mark(&self) -> Duration {
        if self.cache.is_shared() {
            self.longest_mark
        } else {
            Duration::ZERO
        }
    }

    async fn keep(&self, record: &RecordId, keep: Keep) {
        let Some((entry, time_to_live)) = keep.entry() else {
            return;
        };
        let key = CacheKey::of(record);
        self.ask(
            "put",
            self.cache.put(&key, entry.encode().into(), time_to_live),
        )
        .await;
    }

    async fn remove_mark(&self, record: &RecordId) {
        if !self.longest_mark().is_zero() {
            self.ask("remove", self.cache.remove(&CacheKey::of(record)))
                .await;
        }
    }

    /// A call of the cache: what it gives, unless it fails or takes too long.
    async fn ask<T>(
        &self,
        call: &'static str,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Option<T> {
        match timeout(self.cache_timeout, asked).await {
            Ok(Ok(given)) => Some(given),
            Ok(Err(error)) => {
                tracing::debug!(call, %error, "cache failed");
                None
            }
            Err(_) => {
                tracing::debug!(call, "cache was too slow");
                None
            }
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: IdempotencyStore, C: Cache> IdempotencyStore for Cached<S, C> {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        if rules::may_answer(request)
            && let Some(outcome) = self.answer(&request.operation, Some(request)).await
        {
            return Ok(outcome);
        }
        let asked = Instant::now();
        let outcome = self.store.reserve(request).await?;
        if let Outcome::Reserved { .. } = outcome {
            let Operation {
                record,
                fingerprint,
            } = &request.operation;
            self.granted.insert(record, request.token, *fingerprint);
        }
        let keep = rules::after_reserve(request, &outcome, self.longest_mark(), asked.elapsed());
        self.keep(&request.operation.record, keep).await;
        Ok(outcome)
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.remove_mark(&holder.record).await;
        let asked = Instant::now();
        let completion = self.store.complete(holder, answer).await?;
        if let Some(fingerprint) = self.granted.remove(holder) {
            let keep = rules::after_complete(fingerprint, answer, &completion, asked.elapsed());
            self.keep(&holder.record, keep).await;
        }
        Ok(completion)
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        let asked = Instant::now();
        let update = self.store.renew(holder, terms, progress).await?;
        if let Some(fingerprint) = self.granted.get(holder) {
            let elapsed = asked.elapsed();
            let longest = self.longest_mark();
            let keep = rules::after_renew(fingerprint, holder, terms, &update, longest, elapsed);
            self.keep(&holder.record, keep).await;
        }
        Ok(update)
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.granted.remove(holder);
        self.remove_mark(&holder.record).await;
        self.store.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.granted.remove(holder);
        self.remove_mark(&holder.record).await;
        self.store.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: Inspect, C: Cache> Inspect for Cached<S, C> {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        self.store.get(record).await
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        self.store.lapsed(after, limit).await
    }

    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error> {
        self.store.purge_expired(limit).await
    }
}
