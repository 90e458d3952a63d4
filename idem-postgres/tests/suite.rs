//! The whole suite, on a throwaway server: with small and larger pools, under a stricter isolation level,
//! without prepared statements, and through a PgBouncer in transaction mode. With a pool of one, and behind
//! caches: in `cached`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Reopen, Store, async_trait};
use idem_postgres::Statements;
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
                    self.0.advance(by).await;
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

suite!(
    a_pool_of_2_serializable,
    Way::pool(2).isolation("serializable")
);
suite!(a_pool_of_8, Way::pool(8));
suite!(text, Way::pool(4).statements(Statements::Text));
suite!(pgbouncer, Way::behind_pgbouncer(4));
