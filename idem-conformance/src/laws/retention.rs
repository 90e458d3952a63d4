//! For how long a record is remembered: T3.
//!
//! With a lease of 1 h 20 and a retention of 8 h 50, less than half would be left after a lease that is
//! set in the fourth hour or later, and after an answer or an abandonment in the fifth or later. The
//! laws look at the second hour and at the fifth.

use std::time::Duration;

use crate::check::{assert_completed, assert_left, assert_replay, assert_reserved};
use crate::fixture::{
    HOUR, a_mismatch, a_try, a_try_under, abandon, answer, ask, complete, record, release, renew,
    renew_under, reserve, retention, shown, terms_of,
};
use crate::{Harness, Store};

async fn remembered_for(store: &dyn Store, key: &str) -> Duration {
    let shown = shown(store, &record("scope", key)).await;
    shown.remembered_for.unwrap_or_default()
}

/// T3
pub async fn t3_reads_do_not_restart_it(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("completed")).await;
    complete(store, &holder, "paid").await;
    reserve(store, &a_try("lapsed")).await;
    for passed in 0..=8 {
        for key in ["completed", "lapsed"] {
            for _ in 0..3 {
                let expected = retention(8) - passed * HOUR;
                assert_left(remembered_for(store, key).await, expected);
            }
        }
        store.lapsed(None, 100).await.expect("lapsed");
        store.purge_expired(100).await.expect("purge");
        harness.advance(HOUR).await;
    }
    assert_reserved(&ask(store, &a_mismatch("completed")).await, 1);
    assert_reserved(&ask(store, &a_mismatch("lapsed")).await, 1);
}

/// T3
pub async fn t3_replays_do_not_restart_it(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    for passed in 0..=8 {
        assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
        complete(store, &holder, "again").await;
        renew_under(store, &holder, terms_of(5, 50)).await;
        abandon(store, &holder).await;
        release(store, &holder).await;
        let expected = retention(8) - passed * HOUR;
        assert_left(remembered_for(store, "k").await, expected);
        harness.advance(HOUR).await;
    }
    assert_reserved(&ask(store, &a_mismatch("k")).await, 1);
}

/// T3
pub async fn t3_conflicts_and_mismatches_do_not_restart_it(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try_under("live", terms_of(10, 30))).await;
    let holder = reserve(store, &a_try("completed")).await;
    complete(store, &holder, "paid").await;
    for passed in 0..=8 {
        ask(store, &a_try_under("live", terms_of(20, 90))).await;
        ask(store, &a_mismatch("live")).await;
        ask(store, &a_mismatch("completed")).await;
        let live = retention(30) - passed * HOUR;
        assert_left(remembered_for(store, "live").await, live);
        let completed = retention(8) - passed * HOUR;
        assert_left(remembered_for(store, "completed").await, completed);
        harness.advance(HOUR).await;
    }
    assert_reserved(&ask(store, &a_mismatch("completed")).await, 1);
}

/// T3
pub async fn t3_a_renewal_counts_it_anew_when_half_would_not_be_left(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    renew(store, &holder).await;
    assert_left(remembered_for(store, "k").await, retention(6));
    harness.advance(3 * HOUR).await;
    renew(store, &holder).await;
    assert_left(remembered_for(store, "k").await, retention(8));
}

/// T3
pub async fn t3_a_takeover_counts_it_anew_when_half_would_not_be_left(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    reserve(store, &a_try("k")).await;
    assert_left(remembered_for(store, "k").await, retention(6));
    harness.advance(3 * HOUR).await;
    reserve(store, &a_try("k")).await;
    assert_left(remembered_for(store, "k").await, retention(8));
}

/// T3
pub async fn t3_a_resend_counts_it_anew_when_half_would_not_be_left(harness: &dyn Harness) {
    let store = &*harness.store();
    let request = a_try("k");
    reserve(store, &request).await;
    harness.advance(2 * HOUR).await;
    reserve(store, &request.clone().resent()).await;
    assert_left(remembered_for(store, "k").await, retention(6));
    harness.advance(3 * HOUR).await;
    reserve(store, &request.resent()).await;
    assert_left(remembered_for(store, "k").await, retention(8));
}

/// T3
pub async fn t3_a_completion_counts_it_anew_when_half_would_not_be_left(harness: &dyn Harness) {
    let store = &*harness.store();
    let early = reserve(store, &a_try("early")).await;
    let late = reserve(store, &a_try("late")).await;
    harness.advance(2 * HOUR).await;
    assert_left(
        assert_completed(&complete(store, &early, "paid").await),
        retention(6),
    );
    assert_left(remembered_for(store, "early").await, retention(6));
    harness.advance(3 * HOUR).await;
    assert_left(
        assert_completed(&complete(store, &late, "paid").await),
        retention(8),
    );
    assert_left(remembered_for(store, "late").await, retention(8));
    assert_left(remembered_for(store, "early").await, retention(3));
}

/// T3
pub async fn t3_an_abandonment_counts_it_anew_when_half_would_not_be_left(harness: &dyn Harness) {
    let store = &*harness.store();
    let early = reserve(store, &a_try("early")).await;
    let late = reserve(store, &a_try("late")).await;
    harness.advance(2 * HOUR).await;
    abandon(store, &early).await;
    assert_left(remembered_for(store, "early").await, retention(6));
    harness.advance(3 * HOUR).await;
    abandon(store, &late).await;
    assert_left(remembered_for(store, "late").await, retention(8));
    // Abandoning again ends no lease.
    abandon(store, &early).await;
    assert_left(remembered_for(store, "early").await, retention(3));
}

/// T3
pub async fn t3_at_least_half_is_left_after_the_answer(harness: &dyn Harness) {
    let store = &*harness.store();
    let keys: Vec<String> = (0..=8).map(|hour| format!("completed at {hour}")).collect();
    let mut holders = Vec::new();
    for key in &keys {
        holders.push(reserve(store, &a_try(key)).await);
    }
    for hour in 0..=12 {
        if let Some(holder) = holders.get(hour) {
            assert_completed(&complete(store, holder, "paid").await);
        }
        if let Some(key) = hour
            .checked_sub(4)
            .and_then(|completed| keys.get(completed))
        {
            assert_replay(&ask(store, &a_try(key)).await, &answer("paid"));
        }
        harness.advance(HOUR).await;
    }
}

/// T3
pub async fn t3_it_never_gets_shorter(harness: &dyn Harness) {
    let store = &*harness.store();
    let short = terms_of(1, 3);
    let first = reserve(store, &a_try_under("k", terms_of(1, 20))).await;
    harness.advance(HOUR).await;
    renew_under(store, &first, short).await;
    assert_left(remembered_for(store, "k").await, retention(19));
    harness.advance(2 * HOUR).await;
    let second = reserve(store, &a_try_under("k", short)).await;
    assert_left(remembered_for(store, "k").await, retention(17));
    abandon(store, &second).await;
    assert_left(remembered_for(store, "k").await, retention(17));
    let third = reserve(store, &a_try_under("k", short)).await;
    let remembered = assert_completed(&complete(store, &third, "paid").await);
    assert_left(remembered, retention(17));
}

/// T3
pub async fn t3_who_asks_for_more_gets_more(harness: &dyn Harness) {
    let store = &*harness.store();
    let renewed = reserve(store, &a_try("renewed")).await;
    reserve(store, &a_try("taken over")).await;
    harness.advance(2 * HOUR).await;
    renew_under(store, &renewed, terms_of(1, 40)).await;
    reserve(store, &a_try_under("taken over", terms_of(1, 40))).await;
    for key in ["renewed", "taken over"] {
        assert_left(remembered_for(store, key).await, retention(40));
    }
    // What was asked last decides how much half of it is.
    harness.advance(22 * HOUR).await;
    assert_left(
        assert_completed(&complete(store, &renewed, "paid").await),
        retention(40),
    );
}
