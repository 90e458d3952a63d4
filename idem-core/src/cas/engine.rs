//! What an engine has to offer.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Error;

/// An engine that holds bytes under keys and writes only if nobody wrote in between: three functions,
/// of which [`CasStore`](crate::CasStore) makes a complete store.
///
/// # What each function is, engine by engine
/// | engine | `load` | `swap` | `scan` | `Version` |
/// | --- | --- | --- | --- | --- |
/// | sled | `get`, then wait for the flush that covers it | `compare_and_swap`, then wait for the flush | `range` | the value |
/// | etcd | a linearizable `Range` of one key | `Txn`: if `mod_revision` is as expected (0: absent), `Put` or `DeleteRange` | `Range` from the key, with a limit | `mod_revision` |
/// | FoundationDB | `get` | one transaction: `get`, compare, `set` or `clear`; `commit_unknown_result` is an [unknown outcome](Error::unknown_outcome) | `get_range` | the value |
/// | DynamoDB | `GetItem` with `ConsistentRead` | `PutItem` or `DeleteItem` on the condition `version = :expected` or `attribute_not_exists(k)` | `Scan` from `ExclusiveStartKey`; not ordered | an attribute, random at each write |
/// | object store | `GET` | `PUT` with `If-None-Match: *` or `If-Match`; `DELETE` with `If-Match` | `LIST` after the name, `GET` each | the `ETag` or generation |
///
/// An engine without a condition on writes, or with one on each node alone, cannot keep the laws.
///
/// # The contract
/// - **One key, one order.** The swaps of a key take effect one after the other; `load` shows what
///   stands after all that were acknowledged before it began.
/// - **Durable first** (law D1). What `load` gives and what `swap` acknowledges survives to the degree
///   that the engine declares. A value that is visible before it is durable is given by `load` only after
///   the flush that covers it.
/// - **Honest errors.** A `swap` whose answer was lost is an
///   [unknown outcome](Error::unknown_outcome): it may take effect later, or never. Everything else that
///   cannot be carried out is [unavailable](Error::unavailable) or [failed](Error::failed), and is certain
///   not to take effect.
/// - **Bytes.** Keys have 1 to [`MAX_ENGINE_KEY_LEN`](crate::MAX_ENGINE_KEY_LEN) bytes and values any,
///   compared byte for byte. An engine whose names are text encodes keys in a way that keeps their
///   order, such as base32hex. A table, prefix or bucket is the store's alone: `scan` sees nothing else.
///
/// A dropped future may have done what its function does, or may do it later.
///
/// Implemented for `&T`, `Box<T>` and `Arc<T>`.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::ops::Bound;
/// use std::sync::Mutex;
///
/// use async_trait::async_trait;
/// use idem_core::{CasStore, CompareAndSwap, Error, MonotonicClock, Stored, Swapped};
///
/// /// The value itself is the version: a map cannot do better, and need not.
/// #[derive(Default)]
/// struct Map(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);
///
/// #[async_trait]
/// impl CompareAndSwap for Map {
///     type Version = Vec<u8>;
///     const ORDERED: bool = true;
///
///     async fn load(&self, key: &[u8]) -> Result<Option<Stored<Vec<u8>>>, Error> {
///         let value = self.0.lock().unwrap().get(key).cloned();
///         Ok(value.map(|value| Stored { version: value.clone(), value }))
///     }
///
///     async fn swap(
///         &self,
///         key: &[u8],
///         expected: Option<&Vec<u8>>,
///         value: Option<&[u8]>,
///     ) -> Result<Swapped, Error> {
///         let mut map = self.0.lock().unwrap();
///         if map.get(key) != expected {
///             return Ok(Swapped::Lost);
///         }
///         match value {
///             Some(value) => drop(map.insert(key.to_vec(), value.to_vec())),
///             None => drop(map.remove(key)),
///         }
///         Ok(Swapped::Done)
///     }
///
///     async fn scan(
///         &self,
///         after: &[u8],
///         limit: usize,
///     ) -> Result<Vec<(Vec<u8>, Stored<Vec<u8>>)>, Error> {
///         let map = self.0.lock().unwrap();
///         let rest = map.range::<[u8], _>((Bound::Excluded(after), Bound::Unbounded));
///         let stored = |value: &Vec<u8>| Stored { value: value.clone(), version: value.clone() };
///         Ok(rest.take(limit).map(|(key, value)| (key.clone(), stored(value))).collect())
///     }
/// }
///
/// let store = CasStore::new(Map::default(), MonotonicClock::new());
/// # let _ = store;
/// ```
#[async_trait]
pub trait CompareAndSwap: Send + Sync {
    /// What the engine compares by: the value itself, a revision, an entity tag.
    ///
    /// Two values that stood under one key at different times never have equal versions, unless they
    /// are equal themselves: **also if the key was removed in between**. A counter that starts anew with
    /// its key lets a stale write through.
    type Version: Send + Sync;

    /// Whether `scan` gives keys in ascending order of their bytes, and starts within them at no cost.
    ///
    /// If so, the store keeps an index of what is due in keys of its own, and purging costs what is due.
    /// If not, it costs a scan of everything.
    const ORDERED: bool;

    /// What stands under the key, and its version; `None` if nothing does.
    ///
    /// **MUST** give only what is durable to the engine's declared degree (law D1), and everything that
    /// was acknowledged before the call.
    async fn load(&self, key: &[u8]) -> Result<Option<Stored<Self::Version>>, Error>;

    /// Puts `value` under the key, or removes the key if it is `None`, provided that the version there
    /// is still `expected`; `None` expects that nothing stands there. Never both `None`.
    ///
    /// **MUST** compare and write in one atomic step, and answer [`Swapped::Lost`] only if it wrote
    /// nothing and never will. **MUST NOT** answer [`Swapped::Done`] before the write is durable, save for
    /// [index entries](crate::CasStore::is_index_entry) where writes become durable in their order.
    async fn swap(
        &self,
        key: &[u8],
        expected: Option<&Self::Version>,
        value: Option<&[u8]>,
    ) -> Result<Swapped, Error>;

    /// Some keys after `after`, with what stands under them: from 1 to `limit`, none only at the end.
    ///
    /// `after` is empty at first, and later the last key of a page before. An
    /// [ordered](Self::ORDERED) engine takes any bytes: it begins at the first key that is greater. One
    /// that is not ordered goes on in an order of its own; such a key may have been removed since.
    ///
    /// It **MUST** show every key that stands there all the while, and **MAY** show what is not durable
    /// yet, or stale: nothing is decided on it without a swap on the version shown.
    async fn scan(
        &self,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Stored<Self::Version>)>, Error>;
}

/// What stands under a key of an engine. `Debug` shows the value's size only.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored<V> {
    /// The value.
    pub value: Vec<u8>,
    /// What a swap has to expect to replace just this value.
    pub version: V,
}

impl<V> fmt::Debug for Stored<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("bytes", &self.value.len())
            .finish_non_exhaustive()
    }
}

/// What became of a [`swap`](CompareAndSwap::swap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swapped {
    /// Written, and durable.
    Done,
    /// Another version stands there. Nothing was written, nor will be.
    Lost,
}

macro_rules! forward_to_inner {
    ($($pointer:ty),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: CompareAndSwap + ?Sized> CompareAndSwap for $pointer {
            type Version = T::Version;
            const ORDERED: bool = T::ORDERED;

            async fn load(&self, key: &[u8]) -> Result<Option<Stored<Self::Version>>, Error> {
                (**self).load(key).await
            }

            async fn swap(
                &self,
                key: &[u8],
                expected: Option<&Self::Version>,
                value: Option<&[u8]>,
            ) -> Result<Swapped, Error> {
                (**self).swap(key, expected, value).await
            }

            async fn scan(
                &self,
                after: &[u8],
                limit: usize,
            ) -> Result<Vec<(Vec<u8>, Stored<Self::Version>)>, Error> {
                (**self).scan(after, limit).await
            }
        }
    )*};
}

forward_to_inner!(&T, Box<T>, Arc<T>);
