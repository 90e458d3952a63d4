//! `CasStore`, over the engine of `examples/custom_store.rs`.

#[allow(dead_code, reason = "an example also has a story to tell")]
#[path = "../../../examples/custom_store.rs"]
mod example;

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Store, async_trait, conformance};
use idem_core::{CasStore, ManualClock};

struct Custom {
    clock: ManualClock,
    store: Arc<CasStore<example::Engine>>,
}

#[async_trait]
impl Harness for Custom {
    async fn open() -> Self {
        let clock = ManualClock::new();
        let store = CasStore::new(example::Engine::default(), clock.clone());
        Self {
            store: Arc::new(store),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

conformance!(Custom, exact_time);
