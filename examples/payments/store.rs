//! The stores that `--store` knows: one arm each.

use std::error::Error as _;
use std::str::FromStr;
use std::sync::Arc;

use idem_postgres::sqlx::PgPool;
use idem_postgres::{PostgresStore, Table};
use idempotency::{Error, IdempotencyStore, MemoryStore};

/// Which store to open, as `--store` names it.
#[derive(Clone, Debug)]
pub(crate) enum StoreUrl {
    Memory,
    /// The database's address. The table of records is made if it is not there.
    Postgres(String),
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
    pub(crate) async fn open(self) -> Result<Arc<dyn IdempotencyStore>, String> {
        match self {
            Self::Memory => Ok(Arc::new(MemoryStore::new())),
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
                Ok(Arc::new(store))
            }
        }
    }
}
