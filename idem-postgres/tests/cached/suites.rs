//! The whole suite. Every handle is a node of its own, as in real life.

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Store, async_trait, conformance};
use idem_core::{Cached, ManualClock, MemoryCache};

use crate::nodes::Nodes;
use crate::support::{Isolated, Way};

#[async_trait]
impl Harness for Nodes {
    async fn open() -> Self {
        Nodes::open().await
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.node())
    }

    async fn advance(&self, by: Duration) {
        Nodes::advance(self, by).await;
    }
}

mod behind_redis {
    use super::*;

    conformance!(Nodes, marks);
}

/// Each node has memory of its own, and all have one connection.
struct OwnMemory(Isolated, ManualClock);

#[async_trait]
impl Harness for OwnMemory {
    async fn open() -> Self {
        Self(Isolated::open(Way::pool(1)).await, ManualClock::new())
    }

    fn store(&self) -> Arc<dyn Store> {
        let memory = MemoryCache::with_clock(16 << 20, self.1.clone());
        Arc::new(Cached::new(self.0.store.clone(), memory))
    }

    async fn advance(&self, by: Duration) {
        self.0.advance(by).await;
        self.1.advance(by);
    }
}

mod behind_own_memory {
    use super::*;

    conformance!(OwnMemory, copies);
}
