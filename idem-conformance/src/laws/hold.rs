//! What is not run again without a person: R5 under `Hold`, and the longest age.

use crate::Harness;
use crate::check::{
    assert_completed, assert_conflict, assert_replay, assert_reserved, assert_unchanged,
    assert_unresolved,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, a_try_on_hold, abandon, age, answer, ask, complete, lease, release,
    renew, reserve, shown,
};

/// R5
pub async fn r5_hold_asked_by_the_holder_leaves_it_unresolved(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_on_hold("k")).await;
    renew(store, &holder).await;
    harness.advance(2 * HOUR).await;
    let before = shown(store, &holder.record).await;
    harness.advance(HOUR).await;
    for other in [a_try("k"), a_try_on_hold("k")] {
        assert_unresolved(&ask(store, &other).await);
        assert_unresolved(&ask(store, &other.resent()).await);
    }
    assert_unchanged(&before, &shown(store, &holder.record).await, HOUR);
}

/// R5
pub async fn r5_hold_asked_by_the_caller_leaves_it_alone(harness: &dyn Harness) {
    let store = &*harness.store();
    let started = reserve(store, &a_try("started")).await;
    renew(store, &started).await;
    reserve(store, &a_try("not renewed")).await;
    harness.advance(2 * HOUR).await;
    for key in ["started", "not renewed"] {
        let record = a_try(key).operation.record;
        let before = shown(store, &record).await;
        assert_unresolved(&ask(store, &a_try_on_hold(key)).await);
        assert_unchanged(&before, &shown(store, &record).await, JUST_NOW);
        // Who does not ask for it takes over.
        assert_reserved(&ask(store, &a_try(key)).await, 2);
    }
}

/// R5
pub async fn r5_a_held_one_that_never_started_is_taken_over(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try_on_hold("run again")).await;
    reserve(store, &a_try_on_hold("hold")).await;
    harness.advance(2 * HOUR).await;
    assert_reserved(&ask(store, &a_try("run again")).await, 2);
    assert_reserved(&ask(store, &a_try_on_hold("hold")).await, 2);
}

/// R5
pub async fn r5_an_abandoned_one_is_taken_over_under_hold(harness: &dyn Harness) {
    let store = &*harness.store();
    for key in ["run again", "hold"] {
        let holder = reserve(store, &a_try_on_hold(key)).await;
        renew(store, &holder).await;
        abandon(store, &holder).await;
    }
    let lapsed = reserve(store, &a_try_on_hold("lapsed before")).await;
    renew(store, &lapsed).await;
    harness.advance(2 * HOUR).await;
    abandon(store, &lapsed).await;
    assert_reserved(&ask(store, &a_try("run again")).await, 2);
    assert_reserved(&ask(store, &a_try_on_hold("hold")).await, 2);
    assert_reserved(&ask(store, &a_try_on_hold("lapsed before")).await, 2);
}

/// R5
pub async fn r5_an_unresolved_one_is_settled_by_a_person(harness: &dyn Harness) {
    let store = &*harness.store();
    let mut holders = Vec::new();
    for key in ["completed", "run again", "forgotten"] {
        let holder = reserve(store, &a_try_on_hold(key)).await;
        renew(store, &holder).await;
        holders.push(holder);
    }
    harness.advance(2 * HOUR).await;
    assert_completed(&complete(store, &holders[0], "found at the provider").await);
    abandon(store, &holders[1]).await;
    release(store, &holders[2]).await;
    let completed = ask(store, &a_try_on_hold("completed")).await;
    assert_replay(&completed, &answer("found at the provider"));
    assert_reserved(&ask(store, &a_try_on_hold("run again")).await, 2);
    assert_reserved(&ask(store, &a_try_on_hold("forgotten")).await, 1);
}

/// R5
pub async fn r5_what_is_too_old_does_not_run_again(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("lapsed")).await;
    reserve(store, &a_try_on_hold("never started")).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    harness.advance(2 * HOUR).await;
    for key in ["lapsed", "never started", "abandoned"] {
        let record = a_try(key).operation.record;
        let before = shown(store, &record).await;
        assert_unresolved(&ask(store, &a_try(key).longest_age(Some(age(1)))).await);
        assert_unchanged(&before, &shown(store, &record).await, JUST_NOW);
        let young_enough = a_try(key).longest_age(Some(age(2)));
        assert_reserved(&ask(store, &young_enough).await, 2);
    }
}

/// R5
pub async fn r5_the_age_counts_from_the_first_reservation(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    renew(store, &first).await;
    harness.advance(2 * HOUR).await;
    let second = reserve(store, &a_try("k")).await;
    renew(store, &second).await;
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &a_try("k").longest_age(Some(age(3)))).await);
    assert_reserved(&ask(store, &a_try("k").longest_age(Some(age(4)))).await, 3);
}

/// R5
pub async fn r5_what_is_too_old_is_still_in_conflict_while_live(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    renew(store, &holder).await;
    let too_old = a_try("k").longest_age(Some(age(0)));
    assert_conflict(&ask(store, &too_old).await, lease(1));
    assert_completed(&complete(store, &holder, "paid").await);
    assert_replay(&ask(store, &too_old).await, &answer("paid"));
}
