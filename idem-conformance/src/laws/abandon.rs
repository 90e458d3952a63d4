//! Abandoning: C7.

use idem_core::{Condition, OnLapse, Outcome, Update};

use crate::Harness;
use crate::check::{
    assert_ago, assert_completed, assert_replay, assert_reserved, assert_unchanged,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, abandon, answer, ask, complete, look,
    progress, release, renew, renew_under, reserve, save, shown, terms_of, try_at,
};

/// C7
pub async fn c7_an_abandonment_ends_the_lease_now(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    save(store, &holder, &progress("half way")).await;
    assert_eq!(abandon(store, &holder).await, Update::Done);
    let expected = Outcome::Reserved {
        attempt: 2,
        progress: Some(progress("half way")),
    };
    assert_eq!(ask(store, &a_try("k")).await, expected);
}

/// C7
pub async fn c7_an_abandonment_keeps_the_record(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_on_hold("k")).await;
    save(store, &holder, &progress("half way")).await;
    harness.advance(HOUR).await;
    abandon(store, &holder).await;
    let shown = shown(store, &holder.record).await;
    match shown.condition {
        Condition::Abandoned { ago } => assert_ago(ago, JUST_NOW),
        other => panic!("it is shown as {other:?}"),
    }
    assert_eq!(shown.operation, a_try("k").operation);
    assert_eq!(shown.holder, holder);
    assert_eq!((shown.on_lapse, shown.started), (OnLapse::Hold, true));
    assert_eq!(shown.progress, Some(progress("half way")));
    assert_ago(shown.first_reserved_ago, HOUR);
    assert_eq!(ask(store, &a_mismatch("k")).await, Outcome::Mismatch);
}

/// C7
pub async fn c7_an_abandoned_record_takes_no_renewal(harness: &dyn Harness) {
    let store = &*harness.store();
    for request in [a_try("run again"), a_try_on_hold("hold")] {
        let holder = reserve(store, &request).await;
        renew(store, &holder).await;
        abandon(store, &holder).await;
        let before = shown(store, &holder.record).await;
        harness.advance(HOUR).await;
        assert_eq!(renew(store, &holder).await, Update::Superseded);
        let longer = renew_under(store, &holder, terms_of(5, 50)).await;
        assert_eq!(longer, Update::Superseded);
        let saved = save(store, &holder, &progress("too late")).await;
        assert_eq!(saved, Update::Superseded);
        assert_unchanged(&before, &shown(store, &holder.record).await, HOUR);
        let other = try_at(request.operation);
        assert_reserved(&ask(store, &other).await, 2);
    }
}

/// C7
pub async fn c7_abandoning_again_changes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    assert_eq!(abandon(store, &holder).await, Update::Done);
    let before = shown(store, &holder.record).await;
    for passed in [1, 2, 5] {
        harness.advance(HOUR * passed).await;
        assert_eq!(abandon(store, &holder).await, Update::Done);
    }
    assert_unchanged(&before, &shown(store, &holder.record).await, 8 * HOUR);
}

/// C7
pub async fn c7_who_abandoned_may_still_complete_or_release(harness: &dyn Harness) {
    let store = &*harness.store();
    let completing = reserve(store, &a_try("completed")).await;
    let releasing = reserve(store, &a_try_on_hold("released")).await;
    for holder in [&completing, &releasing] {
        renew(store, holder).await;
        abandon(store, holder).await;
    }
    harness.advance(2 * HOUR).await;
    assert_completed(&complete(store, &completing, "found out").await);
    assert_replay(&ask(store, &a_try("completed")).await, &answer("found out"));
    assert_eq!(release(store, &releasing).await, Update::Done);
    assert_eq!(look(store, &releasing.record).await, None);
    assert_reserved(&ask(store, &a_try("released")).await, 1);
}
