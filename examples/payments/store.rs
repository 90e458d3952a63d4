//! The stores that `--store` knows: one arm each.

use std::error::Error as _;
use std::str::FromStr;
use std::sync::Arc;

use idem_postgres::sqlx::PgPool;
use idem_postgres::{PostgresStore, Table};
use idempotency::{Error, IdempotencyStore, MemoryStore};

use crate::transfer::Transfers;

/// Which store to open, as `--store` names it.
#[derive(Clone, Debug)]
pub(crate) enum StoreUrl {
    Memory,
    /// The database's address. The table of records is made if it is not there.
    Postgres(String),
}

/// An open store, and what else its database is good for.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn IdempotencyStore>,
    /// Payments whose effect is in the database of the store.
    pub(crate) transfers: Option<Transfers>,
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(Self::Memory),
            _ if text.starts_with("postgres://") => Ok(Self::Postgres(text.to_owned())),
            _ => Err("the stores are: memory, postgres://USER@HOST/DATABASE".into()),
        }
    }
}

impl StoreUrl {
    /// Opens the store, or says in one line why that failed.
    pub(crate) async fn open(self) -> Result<Opened, String> {
        match self {
            Self::Memory => Ok(Opened {
                store: Arc::new(MemoryStore::new()),
                transfers: None,
            }),
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
                    store: Arc::new(store),
                    transfers: Some(transfers),
                })
            }
        }
    }
}
