//! Reserving: R1 to R10.

use idem_core::{IdempotencyStore, Outcome};

use crate::Harness;
use crate::fixture::a_try;

/// R1
pub async fn r1_a_vacant_operation_is_reserved(harness: impl Harness) {
    let outcome = harness.store().reserve(&a_try("k")).await.expect("reserve");
    assert_eq!(
        outcome,
        Outcome::Reserved {
            attempt: 1,
            progress: None
        }
    );
}
