//! The same try again, after a lost answer: R10.

use idem_core::{Condition, OnLapse, Outcome, RecordInfo};

use crate::Harness;
use crate::check::{
    assert_ago, assert_conflict, assert_left, assert_reserved, assert_smallest_conflict,
    assert_unchanged, assert_unresolved,
};
use crate::fixture::{
    HOUR, a_try, a_try_on_hold, a_try_under, abandon, age, ask, holder, lease, progress, renew,
    reserve, retention, save, shown, terms, terms_of, try_at,
};

/// R10
pub async fn r10_a_resent_reserve_gets_its_reservation_again(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    reserve(store, &first).await;
    let again = Outcome::Reserved {
        attempt: 1,
        progress: None,
    };
    // Marked as a resend or not, live or lapsed: nobody is in conflict with himself.
    assert_eq!(ask(store, &first).await, again);
    assert_eq!(ask(store, &first.clone().resent()).await, again);
    harness.advance(2 * HOUR).await;
    assert_eq!(ask(store, &first).await, again);
    harness.advance(2 * HOUR).await;
    assert_eq!(ask(store, &first.clone().resent()).await, again);
    let held = a_try_on_hold("held");
    reserve(store, &held).await;
    harness.advance(2 * HOUR).await;
    assert_eq!(ask(store, &held.resent()).await, again);
}

/// R10
pub async fn r10_a_resent_takeover_gets_attempt_and_progress_again(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    save(store, &first, &progress("half way")).await;
    harness.advance(2 * HOUR).await;
    let second = a_try("k");
    let reserved = ask(store, &second).await;
    assert_eq!(
        reserved,
        Outcome::Reserved {
            attempt: 2,
            progress: Some(progress("half way")),
        }
    );
    harness.advance(HOUR).await;
    assert_eq!(ask(store, &second.clone().resent()).await, reserved);
    harness.advance(2 * HOUR).await;
    assert_eq!(ask(store, &second.resent()).await, reserved);
}

/// R10
pub async fn r10_a_resend_counts_its_own_lease_from_now(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try_under("k", terms_of(3, 20));
    reserve(store, &first).await;
    harness.advance(HOUR).await;
    reserve(store, &first.clone().resent()).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(3));
    let shown_again = shown(store, &first.operation.record).await;
    assert_left_of_lease(&shown_again.condition, 3);
    assert_ago(shown_again.first_reserved_ago, HOUR);
    assert_ago(shown_again.last_reserved_ago, HOUR);

    // Also when the repeat asks for less.
    let mut shorter = first.clone().resent();
    shorter.terms = terms_of(1, 20);
    reserve(store, &shorter).await;
    assert_left_of_lease(&shown(store, &first.operation.record).await.condition, 1);
    harness.advance(2 * HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

#[track_caller]
fn assert_left_of_lease(condition: &Condition, hours: u32) {
    match condition {
        Condition::Live { lease_left } => assert_left(*lease_left, lease(hours)),
        other => panic!("expected a live lease, got {other:?}"),
    }
}

/// R10
pub async fn r10_a_resend_keeps_what_happens_on_lapse(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try_on_hold("k");
    let first_holder = reserve(store, &first).await;
    harness.advance(HOUR).await;
    reserve(store, &first.clone().resent()).await;
    let shown = shown(store, &first.operation.record).await;
    assert_eq!(shown.holder, first_holder);
    assert_eq!(shown.on_lapse, OnLapse::Hold);
    assert!(!shown.started);
    assert_left(
        shown.remembered_for.unwrap_or_default(),
        retention(8) - HOUR,
    );
}

/// R10
pub async fn r10_a_started_reservation_is_not_given_again(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    let first_holder = reserve(store, &first).await;
    renew(store, &first_holder).await;
    let before = shown(store, &first_holder.record).await;
    harness.advance(HOUR).await;
    assert_smallest_conflict(&ask(store, &first).await);
    assert_smallest_conflict(&ask(store, &first.clone().resent()).await);
    assert_unchanged(&before, &shown(store, &first_holder.record).await, HOUR);
    // Lapsed: another may run, this token may not.
    harness.advance(HOUR).await;
    assert_smallest_conflict(&ask(store, &first.clone().resent()).await);
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// R10
pub async fn r10_a_started_one_that_is_unresolved_says_so(harness: &dyn Harness) {
    let store = &*harness.store();
    let held = a_try_on_hold("held");
    let first_holder = reserve(store, &held).await;
    renew(store, &first_holder).await;
    let aged = a_try("aged").longest_age(Some(age(1)));
    reserve(store, &aged).await;
    renew(store, &holder(&aged, 1)).await;
    assert_smallest_conflict(&ask(store, &held.clone().resent()).await);
    assert_smallest_conflict(&ask(store, &aged.clone().resent()).await);
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &held.resent()).await);
    assert_unresolved(&ask(store, &aged.resent()).await);
}

/// R10
pub async fn r10_an_abandoned_reservation_is_not_given_again(harness: &dyn Harness) {
    let store = &*harness.store();
    for first in [a_try("run again"), a_try_on_hold("hold")] {
        let first_holder = reserve(store, &first).await;
        abandon(store, &first_holder).await;
        let before = shown(store, &first_holder.record).await;
        assert_smallest_conflict(&ask(store, &first).await);
        harness.advance(HOUR).await;
        assert_smallest_conflict(&ask(store, &first.clone().resent()).await);
        assert_unchanged(&before, &shown(store, &first_holder.record).await, HOUR);
        let too_old = first.clone().longest_age(Some(age(0)));
        assert_unresolved(&ask(store, &too_old.resent()).await);
        // Any other token takes over.
        assert_reserved(&ask(store, &try_at(first.operation)).await, 2);
    }
}

/// R10
pub async fn r10_a_resend_may_ask_for_another_retention(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    reserve(store, &first).await;
    harness.advance(HOUR).await;
    let mut longer = first.clone().resent();
    longer.terms = terms_of(1, 30);
    reserve(store, &longer).await;
    let left = |shown: RecordInfo| shown.remembered_for.unwrap_or_default();
    assert_left(
        left(shown(store, &first.operation.record).await),
        retention(30),
    );
    let mut shorter = first.resent();
    shorter.terms = terms();
    reserve(store, &shorter).await;
    assert_left(
        left(shown(store, &shorter.operation.record).await),
        retention(30),
    );
}
