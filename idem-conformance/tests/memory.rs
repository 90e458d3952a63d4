//! The in-memory store keeps every law.

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Store, async_trait, conformance};
use idem_core::{ManualClock, MemoryStore};

struct Memory {
    clock: ManualClock,
    store: MemoryStore,
}

#[async_trait]
impl Harness for Memory {
    async fn open() -> Self {
        let clock = ManualClock::new();
        Self {
            store: MemoryStore::with_clock(clock.clone()),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

conformance!(Memory, exact_time);
