//! What survives: D1.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use idem_core::{Completion, Condition, Holder, Outcome, Update};

use crate::check::{
    assert_already_completed, assert_completed, assert_conflict, assert_replay, assert_reserved,
    assert_unchanged, assert_unresolved,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, a_try_under, abandon, answer, ask, complete,
    complete_with, holder, lease, look, progress, release, renew, reserve, save, shown, terms_of,
};
use crate::{Harness, Reopen, Store};

/// D1
pub async fn d1_what_one_handle_was_told_every_handle_knows(harness: &dyn Harness) {
    let holder = {
        let gone = harness.store();
        let completed = reserve(&*gone, &a_try("completed")).await;
        complete(&*gone, &completed, "paid").await;
        let released = reserve(&*gone, &a_try("released")).await;
        release(&*gone, &released).await;
        reserve(&*gone, &a_try("live")).await
    };
    let store = &*harness.store();
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
    assert_reserved(&ask(store, &a_try("released")).await, 1);
    assert_conflict(&ask(store, &a_try("live")).await, lease(1));
    assert_eq!(renew(store, &holder).await, Update::Done);
}

/// D1
pub async fn d1_a_reservation_survives(harness: impl Reopen) {
    let request = a_try("k");
    let first = reserve(&*harness.store(), &request).await;
    harness.advance(HOUR).await;
    let before = shown(&*harness.store(), &first.record).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    assert_unchanged(&before, &shown(store, &first.record).await, JUST_NOW);
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    assert_eq!(ask(store, &a_mismatch("k")).await, Outcome::Mismatch);
    assert_reserved(&ask(store, &request.resent()).await, 1);
    assert_completed(&complete(store, &first, "paid").await);
}

/// D1
pub async fn d1_an_answer_survives(harness: impl Reopen) {
    let first = reserve(&*harness.store(), &a_try("k")).await;
    complete(&*harness.store(), &first, "paid").await;
    harness.advance(HOUR).await;
    let before = shown(&*harness.store(), &first.record).await;
    let harness = harness.reopen().await.reopen().await;
    let store = &*harness.store();
    assert_unchanged(&before, &shown(store, &first.record).await, JUST_NOW);
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    let again = complete(store, &first, "another").await;
    assert_already_completed(&again, &answer("paid"));
    // It is forgotten when it would have been.
    harness.advance(7 * HOUR).await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    harness.advance(HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

/// D1
pub async fn d1_a_renewal_survives(harness: impl Reopen) {
    let request = a_try_on_hold("k");
    let first = reserve(&*harness.store(), &request).await;
    harness.advance(HOUR).await;
    save(&*harness.store(), &first, &progress("half way")).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
    let seen = shown(store, &first.record).await;
    assert!(seen.started);
    assert_eq!(seen.progress, Some(progress("half way")));
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &a_try("k")).await);
}

/// D1
pub async fn d1_an_abandonment_survives(harness: impl Reopen) {
    let first = reserve(&*harness.store(), &a_try("k")).await;
    save(&*harness.store(), &first, &progress("half way")).await;
    abandon(&*harness.store(), &first).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    let seen = shown(store, &first.record).await;
    let abandoned = matches!(seen.condition, Condition::Abandoned { .. });
    assert!(abandoned, "it is shown as {:?}", seen.condition);
    assert_eq!(renew(store, &first).await, Update::Superseded);
    let expected = Outcome::Reserved {
        attempt: 2,
        progress: Some(progress("half way")),
    };
    assert_eq!(ask(store, &a_try("k")).await, expected);
}

/// D1
pub async fn d1_a_release_survives(harness: impl Reopen) {
    let first = reserve(&*harness.store(), &a_try("k")).await;
    release(&*harness.store(), &first).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    assert_eq!(look(store, &first.record).await, None);
    assert_reserved(&ask(store, &a_mismatch("k")).await, 1);
}

/// D1
pub async fn d1_a_takeover_survives(harness: impl Reopen) {
    let first = reserve(&*harness.store(), &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    let second = reserve(&*harness.store(), &a_try_under("k", terms_of(3, 20))).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    assert_eq!(renew(store, &first).await, Update::Superseded);
    let late = complete(store, &first, "late").await;
    assert_eq!(late, Completion::Superseded);
    assert_conflict(&ask(store, &a_try("k")).await, lease(3));
    assert_completed(&complete(store, &second, "by the second").await);
    assert_replay(&ask(store, &a_try("k")).await, &answer("by the second"));
}

/// D1
pub async fn d1_what_is_unresolved_survives(harness: impl Reopen) {
    let first = reserve(&*harness.store(), &a_try_on_hold("k")).await;
    renew(&*harness.store(), &first).await;
    harness.advance(100 * HOUR).await;
    let harness = harness.reopen().await;
    let store = &*harness.store();
    assert_unresolved(&ask(store, &a_try("k")).await);
    let listed = store.lapsed(None, 10).await.expect("lapsed").records;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].holder, first);
    assert_completed(&complete(store, &listed[0].holder, "found").await);
}

/// Lets a call begin, and drops it before it was answered: after so many steps.
async fn begin_and_drop<T>(call: impl Future<Output = T>, steps: usize) {
    let mut call = pin!(call);
    for _ in 0..steps {
        if step(call.as_mut()).await {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn step<T>(mut call: Pin<&mut impl Future<Output = T>>) -> bool {
    poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await
}

/// After how many steps a call is dropped.
const STEPS: [usize; 5] = [1, 2, 3, 10, 100];

async fn drop_a_completion(store: &dyn Store, key: &str, steps: usize) -> Holder {
    let first = reserve(store, &a_try(key)).await;
    let answer = answer("paid");
    begin_and_drop(store.complete(&first, &answer), steps).await;
    first
}

/// D1
pub async fn d1_no_replay_is_given_before_it_is_durable(mut harness: impl Reopen) {
    for steps in STEPS {
        let key = format!("{steps}");
        let store = harness.store();
        drop_a_completion(&*store, &key, steps).await;
        let seen = ask(&*store, &a_try(&key)).await;
        drop(store);
        harness = harness.reopen().await;
        if let Outcome::Replay(replay) = seen {
            // Whoever was given it will find it again.
            let again = ask(&*harness.store(), &a_try(&key)).await;
            assert_replay(&again, &replay.answer);
        }
    }
}

/// D1
pub async fn d1_nobody_is_told_what_stands_before_it_is_durable(mut harness: impl Reopen) {
    for steps in STEPS {
        let key = format!("{steps}");
        let store = harness.store();
        let first = drop_a_completion(&*store, &key, steps).await;
        let seen = complete_with(&*store, &first, &answer("paid")).await;
        drop(store);
        harness = harness.reopen().await;
        // Completed now or already: it was acknowledged.
        assert!(seen != Completion::Superseded, "{seen:?}");
        let again = ask(&*harness.store(), &a_try(&key)).await;
        assert_replay(&again, &answer("paid"));
    }
}

/// D1
pub async fn d1_no_reservation_is_repeated_before_it_is_durable(mut harness: impl Reopen) {
    for steps in STEPS {
        let request = a_try(&format!("{steps}"));
        let store = harness.store();
        begin_and_drop(store.reserve(&request), steps).await;
        reserve(&*store, &request.clone().resent()).await;
        drop(store);
        harness = harness.reopen().await;
        let store = &*harness.store();
        let seen = shown(store, &request.operation.record).await;
        assert_eq!(seen.holder, holder(&request, 1));
        assert_completed(&complete(store, &seen.holder, "paid").await);
    }
}
