//! The stores that `--store` knows: one arm each.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use idem_postgres::sqlx::PgPool;
use idem_postgres::{PostgresStore, Table, Transactions};
use idem_redis::{Connection, RedisStore};
use idem_sled::SledStore;
use idempotency::{Cache, Cached, Error, IdempotencyStore, Inspect, MemoryStore};

use crate::cache::CacheUrl;
use crate::temporary::TemporaryFolder;
use crate::transfer::Transfers;

/// Which store to open, as `--store` names it.
#[derive(Clone, Debug)]
pub(crate) enum StoreUrl {
    Memory,
    /// Durable, in this folder.
    Sled(PathBuf),
    /// The same in a folder that is removed when the server ends.
    SledForNow,
    /// The database's address. The table of records is made if it is not there.
    Postgres(String),
    Redis(String),
    /// The addresses of some of its nodes.
    RedisCluster(Vec<String>),
}

/// An open store, and what else its database is good for.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn IdempotencyStore>,
    /// The same, if what expired stays in it until somebody purges it. Redis does so by itself.
    pub(crate) to_purge: Option<Arc<dyn Inspect>>,
    /// Payments whose effect is in the database of the store.
    pub(crate) transfers: Option<Transfers>,
    /// Dropped after the store.
    pub(crate) _folder: Option<TemporaryFolder>,
}

impl Opened {
    /// A store that is good for nothing else.
    fn of(store: impl IdempotencyStore + 'static) -> Self {
        Self {
            store: Arc::new(store),
            to_purge: None,
            transfers: None,
            _folder: None,
        }
    }

    fn purged(self, store: impl Inspect + 'static) -> Self {
        Self {
            to_purge: Some(Arc::new(store)),
            ..self
        }
    }
}

const STORES: &str = "the stores are: memory, sled, sled:FOLDER, postgres://USER@HOST/DATABASE, \
    redis://HOST:PORT, redis-cluster://HOST:PORT,HOST:PORT";

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(Self::Memory),
            "sled" => Ok(Self::SledForNow),
            _ => match text.split_once(':') {
                Some(("sled", folder)) if !folder.is_empty() => Ok(Self::Sled(folder.into())),
                Some(("postgres", _)) => Ok(Self::Postgres(text.to_owned())),
                Some(("redis", _)) => Ok(Self::Redis(text.to_owned())),
                Some(("redis-cluster", nodes)) => {
                    let nodes = nodes.strip_prefix("//").unwrap_or_default().split(',');
                    Ok(Self::RedisCluster(
                        nodes.map(|node| format!("redis://{node}")).collect(),
                    ))
                }
                _ => Err(STORES.into()),
            },
        }
    }
}

impl StoreUrl {
    /// Whether several servers can be on it at once.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(
            self,
            Self::Postgres(_) | Self::Redis(_) | Self::RedisCluster(_)
        )
    }

    /// Opens the store, behind the cache if there is one, or says in one line why that failed.
    pub(crate) async fn open(self, cache: Option<CacheUrl>) -> Result<Opened, String> {
        let cache = match cache {
            Some(cache) => Some(cache.open(&self).await?),
            None => None,
        };
        match self {
            Self::Memory => {
                let store = MemoryStore::new();
                Ok(Opened::of(store.clone()).purged(store))
            }
            Self::Sled(folder) => {
                let store = open_sled(&folder).await?;
                Ok(Opened::of(store.clone()).purged(store))
            }
            Self::SledForNow => {
                let folder = TemporaryFolder::new()?;
                let store = open_sled(folder.path()).await?;
                Ok(Opened {
                    _folder: Some(folder),
                    ..Opened::of(store.clone()).purged(store)
                })
            }
            Self::Postgres(url) => open_postgres(&url, cache).await,
            Self::Redis(url) => Ok(open_redis(Connection::open(&url).await, cache)?),
            Self::RedisCluster(nodes) => {
                Ok(open_redis(Connection::open_cluster(nodes).await, cache)?)
            }
        }
    }
}

async fn open_sled(folder: &Path) -> Result<SledStore, String> {
    SledStore::open(folder).await.map_err(said)
}

async fn open_postgres(url: &str, cache: Option<Arc<dyn Cache>>) -> Result<Opened, String> {
    let table = Table::default();
    let pool = PgPool::connect(url).await;
    let pool = pool.map_err(|error| format!("--store: no connection to Postgres ({error})"))?;
    PostgresStore::migrate(&pool, &table).await.map_err(said)?;
    let store = PostgresStore::open(pool, table).await.map_err(said)?;
    let (opened, transactions) = match cache {
        None => (Opened::of(store.clone()), store.transactions()),
        Some(cache) => {
            let cached = Cached::new(store.clone(), cache);
            let transactions = Transactions::behind(&cached);
            (Opened::of(cached), transactions)
        }
    };
    let transfers = Transfers::open(store.clone(), transactions).await;
    let transfers = transfers.map_err(|error| format!("--store: {error}"))?;
    Ok(Opened {
        transfers: Some(transfers),
        ..opened.purged(store)
    })
}

fn open_redis(
    connection: Result<Connection, Error>,
    cache: Option<Arc<dyn Cache>>,
) -> Result<Opened, String> {
    let store = RedisStore::new(connection.map_err(said)?);
    Ok(match cache {
        None => Opened::of(store),
        Some(cache) => Opened::of(Cached::new(store, cache)),
    })
}

fn said(error: impl StdError) -> String {
    in_one_line("--store", error)
}

/// What is wrong with what a flag names.
pub(crate) fn in_one_line(flag: &str, error: impl StdError) -> String {
    match error.source() {
        Some(source) => format!("{flag}: {error} ({source})"),
        None => format!("{flag}: {error}"),
    }
}
