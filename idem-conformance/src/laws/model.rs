//! Random scripts, compared with the state machine step by step: L1 for one caller.

use crate::Harness;
use crate::agree::Precision;
use crate::model::{in_milliseconds, on_the_hour, search};

/// L1
pub async fn l1_random_scripts_agree_with_the_machine<H: Harness>(_: &H) {
    search::<H>(on_the_hour(50), Precision::WithinSlack).await;
}

/// L1
pub async fn l1_random_scripts_agree_to_the_millisecond<H: Harness>(_: &H) {
    search::<H>(in_milliseconds(50), Precision::Exact).await;
}
