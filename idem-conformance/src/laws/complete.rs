//! Completing, and what is completed: C1, C2, C5.

use std::time::Duration;

use idem_core::{Answer, Condition, Holder};

use crate::check::{
    assert_already_completed, assert_answer, assert_completed, assert_left, assert_replay,
    assert_unchanged, assert_update_finds_it_completed,
};
use crate::fixture::{
    HOUR, a_mismatch, a_try, a_try_on_hold, abandon, answer, ask, complete, complete_with,
    progress, release, renew, renew_under, reserve, retention, save, shown, terms_of, try_at,
};
use crate::{Harness, Store};

/// C1
pub async fn c1_the_holder_completes_and_the_next_replays(harness: &dyn Harness) {
    let store = &*harness.store();
    for (n, request) in [a_try("run again"), a_try_on_hold("hold")]
        .iter()
        .enumerate()
    {
        let holder = reserve(store, request).await;
        renew(store, &holder).await;
        let body = format!("paid {n}");
        assert_completed(&complete(store, &holder, &body).await);
        let repeat = try_at(request.operation.clone());
        assert_replay(&ask(store, &repeat).await, &answer(&body));
        let shown = shown(store, &holder.record).await;
        match &shown.condition {
            Condition::Completed(seen) => assert_answer(seen, &answer(&body)),
            other => panic!("it is shown as {other:?}"),
        }
        assert_eq!(shown.holder, holder);
    }
}

/// C1
pub async fn c1_every_attempt_may_complete(harness: &dyn Harness) {
    let store = &*harness.store();
    for attempts in 1..=4 {
        let key = attempts.to_string();
        let mut holder = reserve(store, &a_try(&key)).await;
        for _ in 1..attempts {
            abandon(store, &holder).await;
            holder = reserve(store, &a_try(&key)).await;
        }
        assert_eq!(holder.attempt, attempts);
        assert_completed(&complete(store, &holder, &key).await);
        assert_replay(&ask(store, &a_try(&key)).await, &answer(&key));
    }
}

/// C1
pub async fn c1_the_answer_says_for_how_long_it_is_remembered(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    let late = reserve(store, &a_try("late")).await;
    harness.advance(2 * HOUR).await;
    let remembered_for = assert_completed(&complete(store, &holder, "paid").await);
    assert_left(remembered_for, retention(6));
    // Of the whole retention, if it was counted anew.
    harness.advance(4 * HOUR).await;
    let remembered_for = assert_completed(&complete(store, &late, "paid").await);
    assert_left(remembered_for, retention(8));
}

/// C2
pub async fn c2_a_repeat_is_told_what_stands(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "the first").await;
    for left in [8, 6, 4, 2] {
        for body in ["the first", "the second"] {
            let again = complete(store, &holder, body).await;
            let remembered_for = assert_already_completed(&again, &answer("the first"));
            assert_left(remembered_for, retention(left));
        }
        harness.advance(2 * HOUR).await;
    }
}

/// C2
pub async fn c2_a_second_answer_changes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "the first").await;
    let before = shown(store, &holder.record).await;
    harness.advance(5 * HOUR).await;
    let not_retained = Answer::NotRetained {
        status: 500,
        body_length: 1,
    };
    for second in [answer("the second"), answer(""), not_retained] {
        complete_with(store, &holder, &second).await;
    }
    assert_unchanged(&before, &shown(store, &holder.record).await, 5 * HOUR);
    assert_replay(&ask(store, &a_try("k")).await, &answer("the first"));
}

/// C5
pub async fn c5_a_renewal_leaves_a_completed_record_alone(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = completed(store).await;
    let before = shown(store, &holder.record).await;
    harness.advance(5 * HOUR).await;
    for terms in [terms_of(1, 8), terms_of(5, 50)] {
        let renewed = renew_under(store, &holder, terms).await;
        assert_told(assert_update_finds_it_completed(&renewed, &answer("paid")));
    }
    let saved = save(store, &holder, &progress("too late")).await;
    assert_told(assert_update_finds_it_completed(&saved, &answer("paid")));
    assert_unchanged(&before, &shown(store, &holder.record).await, 5 * HOUR);
}

/// C5
pub async fn c5_an_abandonment_leaves_a_completed_record_alone(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = completed(store).await;
    let before = shown(store, &holder.record).await;
    harness.advance(5 * HOUR).await;
    let abandoned = abandon(store, &holder).await;
    assert_told(assert_update_finds_it_completed(
        &abandoned,
        &answer("paid"),
    ));
    assert_unchanged(&before, &shown(store, &holder.record).await, 5 * HOUR);
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}

/// C5
pub async fn c5_a_release_leaves_a_completed_record_alone(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = completed(store).await;
    let before = shown(store, &holder.record).await;
    harness.advance(5 * HOUR).await;
    let released = release(store, &holder).await;
    assert_told(assert_update_finds_it_completed(&released, &answer("paid")));
    assert_unchanged(&before, &shown(store, &holder.record).await, 5 * HOUR);
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}

async fn completed(store: &dyn Store) -> Holder {
    let holder = reserve(store, &a_try("k")).await;
    assert_completed(&complete(store, &holder, "paid").await);
    holder
}

/// Five hours after the completion.
#[track_caller]
fn assert_told(remembered_for: Duration) {
    assert_left(remembered_for, retention(3));
}

/// C5
pub async fn c5_no_request_changes_a_completed_record(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    abandon(store, &first).await;
    let second = reserve(store, &a_try("k")).await;
    save(store, &second, &progress("half way")).await;
    complete(store, &second, "paid").await;
    let before = shown(store, &second.record).await;
    harness.advance(5 * HOUR).await;
    for request in [a_try("k"), a_try_on_hold("k"), a_mismatch("k")] {
        ask(store, &request).await;
    }
    // Nor a token that is dead.
    complete(store, &first, "late").await;
    renew(store, &first).await;
    abandon(store, &first).await;
    release(store, &first).await;
    assert_unchanged(&before, &shown(store, &second.record).await, 5 * HOUR);
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}
