//! The instants at which something changes, to the millisecond.

use std::time::Duration;

use idem_core::{IdempotencyStore, Outcome};

use crate::Harness;
use crate::fixture::{a_try, reserve, terms};

/// R3
pub async fn r3_a_lease_is_live_until_its_last_millisecond(harness: impl Harness) {
    let store = harness.store();
    reserve(&*store, &a_try("k")).await;
    let millisecond = Duration::from_millis(1);
    harness.advance(terms().lease() - millisecond).await;
    let outcome = store.reserve(&a_try("k")).await.expect("reserve");
    assert_eq!(
        outcome,
        Outcome::Conflict {
            retry_after: Some(millisecond)
        }
    );
    harness.advance(millisecond).await;
    let outcome = store.reserve(&a_try("k")).await.expect("reserve");
    assert!(
        matches!(outcome, Outcome::Reserved { attempt: 2, .. }),
        "{outcome:?}"
    );
}
