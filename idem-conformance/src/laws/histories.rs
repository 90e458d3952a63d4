//! Recorded concurrent histories, checked for linearizability: L1 for many callers.

use crate::Harness;
use crate::agree::Precision;
use crate::history::workload::{Time, check_histories};

/// L1
pub async fn l1_concurrent_histories_are_linearizable<H: Harness>(harness: &H) {
    check_histories(harness, Precision::WithinSlack, Time::Moves).await;
}

/// L1
pub async fn l1_concurrent_histories_are_linearizable_at_one_moment<H: Harness>(harness: &H) {
    check_histories(harness, Precision::WithinSlack, Time::StandsStill).await;
}

/// L1
pub async fn l1_concurrent_histories_are_linearizable_to_the_millisecond<H: Harness>(harness: &H) {
    check_histories(harness, Precision::Exact, Time::Moves).await;
}
