//! What a store behind a cache may do besides: the words `copies` and `marks`.
//!
//! All other laws are as exact for such a store as for any: whatever is written through the cache is
//! seen through it. What it may cost is stated here, and no more than that is allowed.

use std::time::Duration;

use idem_core::Outcome;

use crate::Harness;
use crate::check::{assert_conflict, assert_replay, assert_reserved};
use crate::fixture::{
    HOUR, a_mismatch, a_try, abandon, answer, ask, complete, release, renew, reserve, retention,
};

/// How long a mark lasts at most.
pub const LONGEST_MARK: Duration = Duration::from_secs(1);

/// R6, for stores behind a cache
pub async fn r6_a_copy_is_given_for_half_of_the_retention_at_most(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    let remembered_for = assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    assert!(
        remembered_for <= retention(8) / 2,
        "a copy is said to last for {remembered_for:?}: is `copies` true of this store?"
    );
    // The record goes on without its copy.
    harness.advance(5 * HOUR).await;
    let remembered_for = assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    assert!(remembered_for <= retention(3), "{remembered_for:?}");
    assert_eq!(ask(store, &a_mismatch("k")).await, Outcome::Mismatch);
    harness.advance(4 * HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

/// R3, for stores behind marks
pub async fn r3_a_mark_refuses_for_a_second_at_most(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    assert_marked(&ask(store, &a_try("k")).await);
    renew(store, &first).await;
    assert_marked(&ask(store, &a_try("k")).await);
    abandon(store, &first).await;
    // It is gone with what it marked.
    let second = reserve(store, &a_try("k")).await;
    assert_marked(&ask(store, &a_try("k")).await);
    release(store, &second).await;
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

#[track_caller]
fn assert_marked(seen: &Outcome) {
    match seen {
        Outcome::Conflict {
            retry_after: Some(hint),
        } if *hint > LONGEST_MARK => {
            panic!("a hint of {hint:?} is of no mark: is `marks` true of this store?")
        }
        other => assert_conflict(other, LONGEST_MARK),
    }
}
