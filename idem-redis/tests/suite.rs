//! The whole suite, on a throwaway server and, with the feature `cluster`, on a throwaway cluster.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Reopen, Store, async_trait};
use support::{Isolated, Way};

/// A harness that opens stores in one way.
macro_rules! suite {
    ($name:ident, $way:expr) => {
        mod $name {
            use super::*;

            struct Opened(Isolated);

            #[async_trait]
            impl Harness for Opened {
                async fn open() -> Self {
                    Self(Isolated::open($way).await)
                }

                fn store(&self) -> Arc<dyn Store> {
                    Arc::new(self.0.store.clone())
                }

                async fn advance(&self, by: Duration) {
                    self.0.advance(by);
                }
            }

            #[async_trait]
            impl Reopen for Opened {
                async fn reopen(self) -> Self {
                    Self(self.0.reopen().await)
                }
            }

            idem_conformance::conformance!(Opened, reopen);
        }
    };
}

// To a single server the feature `cluster` means nothing: its ways are judged without.
#[cfg(not(feature = "cluster"))]
suite!(multiplexed, Way::Multiplexed);
#[cfg(not(feature = "cluster"))]
suite!(multiplexed_by_scripts, Way::Scripts);
#[cfg(not(feature = "cluster"))]
suite!(manager, Way::Manager);
#[cfg(feature = "cluster")]
suite!(cluster, Way::Cluster);
#[cfg(feature = "cluster")]
suite!(cluster_that_waits, Way::ClusterWaiting);
