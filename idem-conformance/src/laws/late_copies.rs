//! An earlier call that arrives once more, when everything has gone on: R10, C3, C5.

use idem_core::{Completion, Update};

use crate::Harness;
use crate::check::{
    assert_already_completed, assert_completed, assert_conflict, assert_replay, assert_reserved,
    assert_unchanged, assert_update_finds_it_completed,
};
use crate::fixture::{
    HOUR, a_try, abandon, answer, ask, complete, holder, lease, look, progress, release, renew,
    reserve, save, shown,
};

/// R10
pub async fn r10_a_late_reserve_finds_what_was_completed(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    let first_holder = reserve(store, &first).await;
    complete(store, &first_holder, "paid").await;
    let before = shown(store, &first_holder.record).await;
    harness.advance(HOUR).await;
    assert_replay(&ask(store, &first).await, &answer("paid"));
    assert_replay(&ask(store, &first.resent()).await, &answer("paid"));
    assert_unchanged(&before, &shown(store, &first_holder.record).await, HOUR);
}

/// R10
pub async fn r10_a_late_reserve_takes_nothing_back(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = a_try("k");
    reserve(store, &first).await;
    harness.advance(2 * HOUR).await;
    let second = reserve(store, &a_try("k")).await;
    let before = shown(store, &second.record).await;
    harness.advance(HOUR).await;
    assert_conflict(&ask(store, &first).await, lease(0));
    assert_conflict(&ask(store, &first.clone().resent()).await, lease(0));
    assert_unchanged(&before, &shown(store, &second.record).await, HOUR);
    complete(store, &second, "by the second").await;
    assert_replay(&ask(store, &first.resent()).await, &answer("by the second"));
}

/// C3
pub async fn c3_a_late_renewal_brings_nothing_back(harness: &dyn Harness) {
    let store = &*harness.store();
    let released = reserve(store, &a_try("released")).await;
    renew(store, &released).await;
    release(store, &released).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    let taken_over = reserve(store, &a_try("taken over")).await;
    abandon(store, &taken_over).await;
    reserve(store, &a_try("taken over")).await;
    for holder in [&released, &abandoned, &taken_over] {
        assert_eq!(renew(store, holder).await, Update::Superseded);
        let saved = save(store, holder, &progress("late")).await;
        assert_eq!(saved, Update::Superseded);
    }
    assert_eq!(look(store, &released.record).await, None);
    assert_reserved(&ask(store, &a_try("released")).await, 1);
    assert_reserved(&ask(store, &a_try("abandoned")).await, 2);
    harness.advance(HOUR).await;
    assert_conflict(&ask(store, &a_try("taken over")).await, lease(0));
}

/// C3
pub async fn c3_a_late_completion_brings_nothing_back(harness: &dyn Harness) {
    let store = &*harness.store();
    let released = reserve(store, &a_try("released")).await;
    release(store, &released).await;
    let expired = reserve(store, &a_try("expired")).await;
    harness.advance(9 * HOUR).await;
    for holder in [&released, &expired] {
        let late = complete(store, holder, "late").await;
        assert_eq!(late, Completion::Superseded);
        assert_eq!(look(store, &holder.record).await, None);
    }
    assert_reserved(&ask(store, &a_try("released")).await, 1);
    assert_reserved(&ask(store, &a_try("expired")).await, 1);
}

/// C3
pub async fn c3_a_late_abandonment_or_release_frees_nobody_else_s(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    assert_eq!(abandon(store, &first).await, Update::Done);
    let second = a_try("k");
    reserve(store, &second).await;
    assert_eq!(abandon(store, &first).await, Update::Superseded);
    assert_eq!(release(store, &first).await, Update::Superseded);
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
    let second = holder(&second, 2);
    assert_completed(&complete(store, &second, "by the second").await);
}

/// C5
pub async fn c5_every_late_write_of_who_completed_is_told_so(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    save(store, &holder, &progress("half way")).await;
    complete(store, &holder, "paid").await;
    for _ in 0..3 {
        harness.advance(HOUR).await;
        let paid = answer("paid");
        assert_already_completed(&complete(store, &holder, "paid").await, &paid);
        assert_update_finds_it_completed(&renew(store, &holder).await, &paid);
        assert_update_finds_it_completed(&abandon(store, &holder).await, &paid);
        assert_update_finds_it_completed(&release(store, &holder).await, &paid);
    }
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}
