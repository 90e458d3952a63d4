//! The stores that `--store` knows: one arm each.

use std::str::FromStr;
use std::sync::Arc;

use idempotency::{IdempotencyStore, MemoryStore};

/// Which store to open, as `--store` names it.
#[derive(Clone, Debug)]
pub(crate) enum StoreUrl {
    Memory,
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(Self::Memory),
            _ => Err("the stores are: memory".into()),
        }
    }
}

impl StoreUrl {
    /// Opens the store, or says in one line why that failed.
    #[expect(clippy::unused_async, reason = "stores on a server are connected to")]
    pub(crate) async fn open(self) -> Result<Arc<dyn IdempotencyStore>, String> {
        match self {
            Self::Memory => Ok(Arc::new(MemoryStore::new())),
        }
    }
}
