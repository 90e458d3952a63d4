//! The whole suite: killed and opened again, and closed and opened again.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

#[path = "support/one_moment.rs"]
mod one_moment;
mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Reopen, Store, async_trait};
use idem_core::ManualClock;
use idem_sled::{Durability, SledStore};
use one_moment::OneMoment;
use support::copy;
use testkit::Folder;

/// What a process that is killed now would leave behind: a copy of the files as they are.
async fn killed(store: SledStore, folder: Folder) -> Folder {
    let left = Folder::new();
    copy(folder.path(), left.path());
    // Only then may it write what it still has in memory.
    store.close().await.unwrap();
    left
}

async fn closed(store: SledStore, folder: Folder) -> Folder {
    store.close().await.unwrap();
    folder
}

/// A harness that opens stores in one way, and ends them in one way.
macro_rules! suite {
    ($name:ident, $durability:expr, $end:path) => {
        mod $name {
            use super::*;

            struct Opened {
                store: OneMoment,
                clock: ManualClock,
                folder: Folder,
            }

            impl Opened {
                async fn over(folder: Folder, clock: ManualClock) -> Self {
                    let options = SledStore::options(folder.path())
                        .clock(clock.clone())
                        .durability($durability);
                    let store = OneMoment::of(options.open().await.unwrap());
                    Self {
                        store,
                        clock,
                        folder,
                    }
                }
            }

            #[async_trait]
            impl Harness for Opened {
                async fn open() -> Self {
                    Self::over(Folder::new(), ManualClock::new()).await
                }

                fn store(&self) -> Arc<dyn Store> {
                    Arc::new(self.store.clone())
                }

                async fn advance(&self, by: Duration) {
                    self.store.between(|| self.clock.advance(by)).await;
                }
            }

            #[async_trait]
            impl Reopen for Opened {
                async fn reopen(self) -> Self {
                    let left = $end(self.store.store, self.folder).await;
                    Self::over(left, self.clock).await
                }
            }

            idem_conformance::conformance!(Opened, exact_time, reopen);
        }
    };
}

suite!(killed_when_immediate, Durability::Immediate, killed);

/// Killed, it would have lost what it acknowledged: that is what it says.
const EVENTUAL: Durability = Durability::Eventual {
    within: Duration::from_millis(200),
};
suite!(closed_when_eventual, EVENTUAL, closed);
