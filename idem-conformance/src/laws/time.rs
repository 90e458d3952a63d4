//! Durations and clocks: T1, T2.

use std::time::Duration;

use idem_core::{Terms, Update};

use crate::Harness;
use crate::check::{
    assert_completed, assert_conflict, assert_left, assert_replay, assert_reserved,
    assert_unchanged, assert_unresolved,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, a_try_on_hold, a_try_under, age, answer, ask, complete, lease, look,
    renew, renew_under, reserve, retention, shown,
};

const YEAR: Duration = HOUR.saturating_mul(24 * 365);

fn the_longest() -> Terms {
    Terms::new(Duration::MAX, Duration::MAX).expect("they saturate")
}

/// T1
pub async fn t1_the_longest_lease_neither_panics_nor_wraps(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try_under("k", the_longest());
    let holder = reserve(store, &first).await;
    for _ in 0..2 {
        assert_conflict(&ask(store, &a_try("k")).await, Terms::MAX_LEASE);
        reserve(store, &first.clone().resent()).await;
        harness.advance(YEAR).await;
    }
    assert!(look(store, &holder.record).await.is_some());
    let renewed = renew_under(store, &holder, the_longest()).await;
    assert_eq!(renewed, Update::Done);
    harness.advance(YEAR).await;
    assert_conflict(&ask(store, &a_try("k")).await, Terms::MAX_LEASE);
    let remembered_for = assert_completed(&complete(store, &holder, "paid").await);
    assert!(
        remembered_for > YEAR,
        "it is remembered for {remembered_for:?}"
    );
}

/// T1
pub async fn t1_the_longest_retention_neither_panics_nor_wraps(harness: &dyn Harness) {
    let store = &*harness.store();
    let terms = Terms::new(lease(1), Duration::MAX).expect("it saturates");
    let first = reserve(store, &a_try_under("k", terms)).await;
    renew_under(store, &first, terms).await;
    harness.advance(YEAR).await;
    // Taken over, and completed by who asks for less.
    let second = reserve(store, &a_try("k")).await;
    assert_eq!(second.attempt, 2);
    let remembered_for = assert_completed(&complete(store, &second, "paid").await);
    assert!(
        remembered_for > YEAR,
        "it is remembered for {remembered_for:?}"
    );
    harness.advance(YEAR).await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    store.purge_expired(100).await.expect("purge");
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}

/// T1
pub async fn t1_a_month_and_more_is_not_cut(harness: &dyn Harness) {
    let store = &*harness.store();
    // More milliseconds than 31 or 32 bits hold.
    for (key, days) in [("31 bits", 26), ("32 bits", 51), ("half a year", 180)] {
        let terms = Terms::new(24 * HOUR * days, 24 * HOUR * 400).expect("they fit");
        reserve(store, &a_try_under(key, terms)).await;
    }
    harness.advance(24 * HOUR * 25).await;
    for key in ["31 bits", "32 bits", "half a year"] {
        assert_conflict(&ask(store, &a_try(key)).await, 24 * HOUR * 155);
    }
    harness.advance(24 * HOUR * 25).await;
    assert_reserved(&ask(store, &a_try("31 bits")).await, 2);
    assert_conflict(&ask(store, &a_try("32 bits")).await, 24 * HOUR);
    harness.advance(24 * HOUR * 129).await;
    assert_reserved(&ask(store, &a_try("32 bits")).await, 2);
    assert_conflict(&ask(store, &a_try("half a year")).await, 24 * HOUR);
}

/// T1
pub async fn t1_one_millisecond_is_not_none(harness: &dyn Harness) {
    let store = &*harness.store();
    let shortest = Terms::new(Duration::from_nanos(1), Duration::from_millis(2)).expect("they fit");
    reserve(store, &a_try_under("expires", shortest)).await;
    let renewed = reserve(store, &a_try("renewed")).await;
    assert_eq!(renew_under(store, &renewed, shortest).await, Update::Done);
    harness.advance(HOUR).await;
    assert_eq!(
        look(store, &a_try("expires").operation.record).await,
        None,
        "a lease or a retention of a millisecond became one without an end"
    );
    assert_reserved(&ask(store, &a_try("expires")).await, 1);
    assert_conflict(&ask(store, &a_try("renewed")).await, lease(0));
}

/// T1
pub async fn t1_the_longest_age_is_never_reached(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    let at_any_age = a_try("k").longest_age(Some(Duration::MAX));
    assert_reserved(&ask(store, &at_any_age).await, 2);
    harness.advance(2 * HOUR).await;
    for shortest in [Duration::ZERO, Duration::from_nanos(1)] {
        let at_no_age = a_try("k").longest_age(Some(shortest));
        assert_unresolved(&ask(store, &at_no_age).await);
    }
}

/// T1
pub async fn t1_the_longest_wait_neither_panics_nor_ends_early_for_good(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    let wait = store.changed(&holder.record, Duration::MAX);
    let moment = Duration::from_millis(1);
    // Whether it still waits or ended early: the store goes on.
    let _ = tokio::time::timeout(moment, wait).await;
    assert_completed(&complete(store, &holder, "paid").await);
}

/// T2
pub async fn t2_all_handles_see_one_time(harness: &dyn Harness) {
    let (ana, bob) = (harness.store(), harness.store());
    let holder = reserve(&*ana, &a_try("k")).await;
    assert_conflict(&ask(&*bob, &a_try("k")).await, lease(1));
    let (by_ana, by_bob) = (
        shown(&*ana, &holder.record).await,
        shown(&*bob, &holder.record).await,
    );
    assert_unchanged(&by_ana, &by_bob, JUST_NOW);
    harness.advance(HOUR).await;
    renew(&*bob, &holder).await;
    harness.advance(HOUR).await;
    assert_conflict(&ask(&*ana, &a_try("k")).await, lease(0));
    harness.advance(HOUR).await;
    assert_reserved(&ask(&*bob, &a_try("k")).await, 2);
    let by_ana = shown(&*ana, &holder.record).await;
    assert_eq!(by_ana.holder.attempt, 2);
    assert_left(by_ana.remembered_for.unwrap_or_default(), retention(5));
}

/// T2
pub async fn t2_a_request_counts_from_when_it_arrives(harness: &dyn Harness) {
    let store = &*harness.store();
    // Made long before they are sent, as by a caller whose clock is hours off.
    let first = a_try("k");
    let second = a_try("k");
    let third = a_try_on_hold("k").longest_age(Some(age(3)));
    harness.advance(5 * HOUR).await;
    let holder = reserve(store, &first).await;
    assert_conflict(&ask(store, &second).await, lease(1));
    harness.advance(HOUR).await;
    assert_conflict(&ask(store, &second).await, lease(0));
    let seen = shown(store, &holder.record).await;
    assert_left(seen.remembered_for.unwrap_or_default(), retention(7));
    harness.advance(HOUR).await;
    reserve(store, &first.resent()).await;
    assert_conflict(&ask(store, &second).await, lease(1));
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &third).await);
    assert_reserved(&ask(store, &second).await, 2);
}
