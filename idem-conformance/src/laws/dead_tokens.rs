//! Who does not hold the record, and who still does: C3, C4.

use idem_core::{Completion, Holder, Token, Update};

use crate::check::{
    assert_completed, assert_conflict, assert_replay, assert_reserved, assert_unchanged,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, abandon, answer, ask, complete, holder,
    lease, look, operation, progress, release, renew, renew_under, reserve, save, shown, terms_of,
    try_at,
};
use crate::{Harness, Store};

/// Every write of this holder is refused, and changes nothing.
async fn assert_dead(store: &dyn Store, dead: &Holder) {
    let before = look(store, &dead.record).await;
    let refused = complete(store, dead, "of the dead").await;
    assert_eq!(refused, Completion::Superseded, "told to complete");
    let renewed = renew_under(store, dead, terms_of(9, 90)).await;
    assert_eq!(renewed, Update::Superseded, "told to renew");
    let saved = save(store, dead, &progress("of the dead")).await;
    assert_eq!(saved, Update::Superseded, "told to save progress");
    let abandoned = abandon(store, dead).await;
    assert_eq!(abandoned, Update::Superseded, "told to abandon");
    let released = release(store, dead).await;
    assert_eq!(released, Update::Superseded, "told to release");
    match (before, look(store, &dead.record).await) {
        (Some(before), Some(after)) => assert_unchanged(&before, &after, JUST_NOW),
        (before, after) => assert_eq!(before, after),
    }
}

fn never_issued(holder: &Holder) -> Holder {
    Holder {
        token: Token::random(),
        ..holder.clone()
    }
}

/// C3
pub async fn c3_a_token_that_was_never_issued_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let nobody = holder(&a_try("vacant"), 1);
    assert_dead(store, &nobody).await;
    assert_reserved(&ask(store, &a_try("vacant")).await, 1);

    let live = reserve(store, &a_try("live")).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    harness.advance(HOUR).await;
    for holder in [&live, &abandoned, &completed] {
        assert_dead(store, &never_issued(holder)).await;
    }
    harness.advance(HOUR).await;
    assert_dead(store, &never_issued(&live)).await;
    assert_completed(&complete(store, &live, "paid").await);
}

/// C3
pub async fn c3_a_token_that_was_taken_over_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    save(store, &first, &progress("half way")).await;
    harness.advance(2 * HOUR).await;
    let second = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    assert_dead(store, &first).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    // Nor does it learn of an answer that is not its own.
    assert_completed(&complete(store, &second, "by the second").await);
    assert_dead(store, &first).await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("by the second"));
}

/// C3
pub async fn c3_a_token_that_was_released_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    assert_eq!(release(store, &first).await, Update::Done);
    assert_dead(store, &first).await;
    assert_eq!(look(store, &first.record).await, None);
    let second = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    assert_dead(store, &first).await;
    assert_completed(&complete(store, &second, "by the second").await);
}

/// C3
pub async fn c3_a_token_whose_record_expired_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let lapsed = reserve(store, &a_try("lapsed")).await;
    let abandoned = reserve(store, &a_try_on_hold("abandoned")).await;
    renew(store, &abandoned).await;
    abandon(store, &abandoned).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    harness.advance(9 * HOUR).await;
    for dead in [&lapsed, &abandoned, &completed] {
        assert_dead(store, dead).await;
        assert_eq!(look(store, &dead.record).await, None);
        // Nor into the record that follows.
        let next = try_at(operation(dead.record.key.as_str(), "another"));
        let next = reserve(store, &next).await;
        assert_dead(store, dead).await;
        assert_completed(&complete(store, &next, "new").await);
        assert_dead(store, dead).await;
    }
}

/// C3
pub async fn c3_an_earlier_attempt_of_the_same_token_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    let first_attempt = reserve(store, &first).await;
    harness.advance(2 * HOUR).await;
    reserve(store, &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    // A late copy of the first try comes in, when the second attempt has lapsed.
    assert_reserved(&ask(store, &first.resent()).await, 3);
    let third_attempt = Holder {
        attempt: 3,
        ..first_attempt.clone()
    };
    harness.advance(HOUR).await;
    assert_dead(store, &first_attempt).await;
    assert_eq!(
        shown(store, &third_attempt.record).await.holder,
        third_attempt
    );
    assert_completed(&complete(store, &third_attempt, "by the third").await);
    assert_dead(store, &first_attempt).await;
}

/// C3
pub async fn c3_the_token_alone_is_not_enough(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    for attempt in [0, 2, 1 << 31, u32::MAX] {
        let other = Holder {
            attempt,
            ..holder.clone()
        };
        assert_dead(store, &other).await;
    }
    assert_completed(&complete(store, &holder, "paid").await);
    let other = Holder {
        attempt: 2,
        ..holder
    };
    assert_dead(store, &other).await;
}

/// C3
pub async fn c3_who_was_refused_writes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    for loser in [a_try("k"), a_mismatch("k"), a_try_on_hold("k")] {
        ask(store, &loser).await;
        for attempt in [1, 2] {
            assert_dead(store, &holder(&loser, attempt)).await;
        }
        assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    }
    assert_completed(&complete(store, &first, "paid").await);
    let repeat = a_try("k");
    assert_replay(&ask(store, &repeat).await, &answer("paid"));
    assert_dead(store, &holder(&repeat, 1)).await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}

/// C4
pub async fn c4_a_lapsed_holder_still_completes(harness: &dyn Harness) {
    let store = &*harness.store();
    for request in [a_try("run again"), a_try_on_hold("hold")] {
        let holder = reserve(store, &request).await;
        renew(store, &holder).await;
        harness.advance(2 * HOUR).await;
        assert_completed(&complete(store, &holder, "late").await);
        let repeat = try_at(request.operation);
        assert_replay(&ask(store, &repeat).await, &answer("late"));
    }
}

/// C4
pub async fn c4_a_lapsed_holder_still_renews(harness: &dyn Harness) {
    let store = &*harness.store();
    for request in [a_try("run again"), a_try_on_hold("hold")] {
        let holder = reserve(store, &request).await;
        harness.advance(2 * HOUR).await;
        let saved = save(store, &holder, &progress("half way")).await;
        assert_eq!(saved, Update::Done);
        let other = try_at(request.operation);
        assert_conflict(&ask(store, &other).await, lease(1));
    }
}

/// C4
pub async fn c4_a_lapsed_holder_still_abandons_and_releases(harness: &dyn Harness) {
    let store = &*harness.store();
    let abandoning = reserve(store, &a_try_on_hold("abandoned")).await;
    renew(store, &abandoning).await;
    let releasing = reserve(store, &a_try_on_hold("released")).await;
    renew(store, &releasing).await;
    harness.advance(2 * HOUR).await;
    assert_eq!(abandon(store, &abandoning).await, Update::Done);
    assert_eq!(release(store, &releasing).await, Update::Done);
    assert_reserved(&ask(store, &a_try_on_hold("abandoned")).await, 2);
    assert_reserved(&ask(store, &a_try_on_hold("released")).await, 1);
}
