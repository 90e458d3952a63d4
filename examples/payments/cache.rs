//! The caches that `--cache` knows, and the stores that they are of use to.

use std::str::FromStr;
use std::sync::Arc;

use idem_redis::{Connection, RedisCache};
use idempotency::{Cache, MemoryCache};

use crate::store::{StoreUrl, in_one_line};

const BYTES: u64 = 64 << 20;

/// Which cache to put before the store, as `--cache` names it.
#[derive(Clone, Debug)]
pub(crate) enum CacheUrl {
    /// This server's own: it replays.
    Memory,
    /// One that all servers share: it refuses rapid repeats, too.
    Redis(String),
}

impl FromStr for CacheUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(Self::Memory),
            _ if text.starts_with("redis://") => Ok(Self::Redis(text.to_owned())),
            _ => Err("the caches are: memory, redis://HOST:PORT".into()),
        }
    }
}

impl CacheUrl {
    /// Opens it, or says in one line why that failed, or why it is of no use to the store.
    pub(crate) async fn open(self, store: &StoreUrl) -> Result<Arc<dyn Cache>, String> {
        match (self, store) {
            (_, StoreUrl::Memory | StoreUrl::Sled(_) | StoreUrl::SledForNow) => Err(
                "--cache spares a store that is in this process nothing: give it with --store \
                 postgres:// or redis://"
                    .into(),
            ),
            (Self::Redis(_), StoreUrl::Redis(_) | StoreUrl::RedisCluster(_)) => Err(
                "--cache redis:// spares a store that is in Redis nothing: give --cache memory"
                    .into(),
            ),
            (Self::Memory, _) => Ok(Arc::new(MemoryCache::new(BYTES))),
            (Self::Redis(url), StoreUrl::Postgres(_)) => match Connection::open(&url).await {
                Ok(connection) => Ok(Arc::new(RedisCache::new(connection))),
                Err(error) => Err(in_one_line("--cache", error)),
            },
        }
    }
}
