//! Nodes before one Postgres, with a Redis between them.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_core::Cached;
use idem_postgres::PostgresStore;
use idem_redis::{Connection, Limits, Prefix, RedisCache};
use testkit::Redis;

use crate::support::{Isolated, Way};

/// Never dropped: the rig ends it with the process.
pub(crate) static REDIS: LazyLock<Redis> =
    LazyLock::new(|| Redis::builder().setting("maxclients", "2000").start());

/// A busy machine must not turn the cache off.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A store in a schema of its own, and a cache under a prefix of its own.
pub(crate) struct Nodes {
    pub(crate) database: Isolated,
    pub(crate) cache: RedisCache,
    prefix: Prefix,
}

impl Nodes {
    pub(crate) async fn open() -> Self {
        let (cache, prefix) = a_cache().await;
        Self {
            database: Isolated::open(Way::pool(4)).await,
            cache,
            prefix,
        }
    }

    /// One more of them.
    pub(crate) fn node(&self) -> Cached<PostgresStore, RedisCache> {
        let cached = Cached::new(self.database.store.clone(), self.cache.clone());
        cached.cache_timeout(PATIENCE)
    }

    /// Moves the instants in the records and in the cache back.
    pub(crate) async fn advance(&self, by: Duration) {
        self.database.advance(by).await;
        let pattern = format!("{}::*", self.prefix.as_str());
        let script = include_str!("../../../idem-redis/tests/support/advance_cache.lua");
        let by = by.as_millis().to_string();
        REDIS.ask(&["EVAL", script, "0", &pattern, &by]);
    }
}

/// A cache under a prefix of its own.
pub(crate) async fn a_cache() -> (RedisCache, Prefix) {
    static PREFIXES: AtomicUsize = AtomicUsize::new(0);
    let number = PREFIXES.fetch_add(1, Ordering::Relaxed);
    let prefix = Prefix::new(format!("c{number}")).unwrap();
    let limits = Limits::default().answer(PATIENCE).connect(PATIENCE);
    let connection = Connection::open_within(&REDIS.url(), limits).await.unwrap();
    let cache = RedisCache::new(connection).with_prefix(prefix.clone());
    (cache, prefix)
}
