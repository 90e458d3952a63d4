//! Reserving what is vacant, live or completed: R1, R3, R6.

use idem_core::Outcome;

use crate::Harness;
use crate::check::{
    assert_completed, assert_conflict, assert_left, assert_replay, assert_reserved,
    assert_unchanged,
};
use crate::fixture::{
    HOUR, a_try, a_try_on_hold, a_try_under, age, answer, ask, complete, lease, record, renew,
    reserve, retention, shown, terms, terms_of,
};

/// R1
pub async fn r1_a_vacant_operation_is_reserved(harness: &dyn Harness) {
    let store = &*harness.store();
    let first_attempt = Outcome::Reserved {
        attempt: 1,
        progress: None,
    };
    assert_eq!(ask(store, &a_try("run again")).await, first_attempt);
    assert_eq!(ask(store, &a_try_on_hold("hold")).await, first_attempt);
    let not_too_old = a_try("age").longest_age(Some(age(0)));
    assert_eq!(ask(store, &not_too_old).await, first_attempt);
}

/// R1
pub async fn r1_stores_share_nothing<H: Harness>(harness: &H) {
    let other = H::open().await;
    reserve(&*other.store(), &a_try("k")).await;
    let store = &*harness.store();
    assert_reserved(&ask(store, &a_try("k")).await, 1);
    other.advance(2 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
}

/// R3
pub async fn r3_a_live_lease_is_in_conflict(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
    assert_conflict(&ask(store, &a_try_on_hold("k")).await, lease(1));
    // An age is asked of what lapsed, not of what is attended.
    harness.advance(HOUR).await;
    let too_old = a_try("k").longest_age(Some(age(0)));
    assert_conflict(&ask(store, &too_old).await, lease(0));
}

/// R3
pub async fn r3_the_hint_is_at_most_what_is_left_of_the_lease(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_under("k", terms_of(3, 20))).await;
    for left in [3, 2, 1, 0] {
        let by_a_longer_one = a_try_under("k", terms_of(5, 40));
        assert_conflict(&ask(store, &by_a_longer_one).await, lease(left));
        harness.advance(HOUR).await;
    }
    renew(store, &holder).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
}

/// R3
pub async fn r3_a_conflict_changes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    let before = shown(store, &holder.record).await;
    harness.advance(HOUR).await;
    for other in [
        a_try("k"),
        a_try_on_hold("k"),
        a_try_under("k", terms_of(9, 90)),
    ] {
        assert_conflict(&ask(store, &other).await, lease(0));
        assert_conflict(&ask(store, &other.resent()).await, lease(0));
    }
    assert_unchanged(&before, &shown(store, &holder.record).await, HOUR);
    // The lease that was refused so often ends when it would have ended.
    harness.advance(HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// R6
pub async fn r6_a_completed_operation_is_replayed(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    let holder = reserve(store, &first).await;
    assert_completed(&complete(store, &holder, "paid").await);
    let before = shown(store, &holder.record).await;
    for passed in 0..8 {
        for repeat in [
            a_try("k"),
            a_try_on_hold("k"),
            a_try_under("k", terms_of(9, 90)),
            a_try("k").longest_age(Some(age(0))),
            first.clone(),
            first.clone().resent(),
        ] {
            let remembered_for = assert_replay(&ask(store, &repeat).await, &answer("paid"));
            assert!(
                !remembered_for.is_zero() && remembered_for <= retention(8) - passed * HOUR,
                "after {passed} h it is said to be remembered for {remembered_for:?}"
            );
        }
        let after = shown(store, &holder.record).await;
        assert_unchanged(&before, &after, passed * HOUR);
        harness.advance(HOUR).await;
    }
}

/// R6
pub async fn r6_a_replay_says_for_how_long_it_is_remembered(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    for left in (2..=8).rev().step_by(2) {
        let remembered_for = assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
        assert_left(remembered_for, retention(left));
        harness.advance(2 * HOUR).await;
    }
}

/// R6
pub async fn r6_each_operation_has_its_own_answer(harness: &dyn Harness) {
    let store = &*harness.store();
    let keys: Vec<String> = (0..50).map(|n| format!("order-{n}")).collect();
    for key in &keys {
        let holder = reserve(store, &a_try(key)).await;
        assert_completed(&complete(store, &holder, key).await);
    }
    for key in &keys {
        assert_replay(&ask(store, &a_try(key)).await, &answer(key));
        let shown = shown(store, &record("scope", key)).await;
        assert_eq!(shown.operation, a_try(key).operation);
        assert_left(
            shown.remembered_for.unwrap_or_default(),
            terms().retention(),
        );
    }
}
