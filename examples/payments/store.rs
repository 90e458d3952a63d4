//! The stores that `--store` knows: one arm each.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use idem_postgres::sqlx::PgPool;
use idem_postgres::{PostgresStore, Table};
use idem_sled::SledStore;
use idempotency::{Error, IdempotencyStore, MemoryStore};

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
}

/// An open store, and what else its database is good for.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn IdempotencyStore>,
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
            transfers: None,
            _folder: None,
        }
    }
}

const STORES: &str = "the stores are: memory, sled, sled:FOLDER, postgres://USER@HOST/DATABASE";

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(Self::Memory),
            "sled" => Ok(Self::SledForNow),
            _ if text.starts_with("postgres://") => Ok(Self::Postgres(text.to_owned())),
            _ => match text.strip_prefix("sled:") {
                Some(folder) if !folder.is_empty() => Ok(Self::Sled(folder.into())),
                _ => Err(STORES.into()),
            },
        }
    }
}

impl StoreUrl {
    /// Opens the store, or says in one line why that failed.
    pub(crate) async fn open(self) -> Result<Opened, String> {
        match self {
            Self::Memory => Ok(Opened::of(MemoryStore::new())),
            Self::Sled(folder) => Ok(Opened::of(open_sled(&folder).await?)),
            Self::SledForNow => {
                let folder = TemporaryFolder::new()?;
                let store = open_sled(folder.path()).await?;
                Ok(Opened {
                    _folder: Some(folder),
                    ..Opened::of(store)
                })
            }
            Self::Postgres(url) => {
                let table = Table::default();
                let said = |error: Error| match error.source() {
                    Some(source) => format!("--store: {error} ({source})"),
                    None => format!("--store: {error}"),
                };
                let pool = PgPool::connect(&url).await;
                let pool =
                    pool.map_err(|error| format!("--store: no connection to Postgres ({error})"))?;
                PostgresStore::migrate(&pool, &table).await.map_err(said)?;
                let store = PostgresStore::open(pool, table).await.map_err(said)?;
                let transfers = Transfers::open(store.clone()).await;
                let transfers = transfers.map_err(|error| format!("--store: {error}"))?;
                Ok(Opened {
                    transfers: Some(transfers),
                    ..Opened::of(store)
                })
            }
        }
    }
}

async fn open_sled(folder: &Path) -> Result<SledStore, String> {
    let opened = SledStore::open(folder).await;
    opened.map_err(|error| match error.source() {
        Some(source) => format!("--store: {error} ({source})"),
        None => format!("--store: {error}"),
    })
}
