//! Many callers at once.

use std::sync::Arc;

use idem_core::{IdempotencyStore, Outcome};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Harness;
use crate::fixture::a_try;

/// R2
pub async fn r2_of_many_at_once_exactly_one_wins(harness: impl Harness) {
    for (callers, round) in [(20, "a"), (100, "b")] {
        let barrier = Arc::new(Barrier::new(callers));
        let mut tries = JoinSet::new();
        for _ in 0..callers {
            let (store, barrier) = (harness.store(), Arc::clone(&barrier));
            tries.spawn(async move {
                barrier.wait().await;
                store.reserve(&a_try(round)).await.expect("reserve")
            });
        }
        let outcomes = tries.join_all().await;
        let won = |outcome: &&Outcome| matches!(outcome, Outcome::Reserved { attempt: 1, .. });
        let lost = |outcome: &&Outcome| {
            matches!(
                outcome,
                Outcome::Conflict {
                    retry_after: Some(_)
                }
            )
        };
        assert_eq!(
            outcomes.iter().filter(won).count(),
            1,
            "of {callers} callers"
        );
        assert_eq!(
            outcomes.iter().filter(lost).count(),
            callers - 1,
            "of {callers} callers"
        );
    }
}
