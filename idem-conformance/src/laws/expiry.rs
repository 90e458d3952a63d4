//! When a record is forgotten: R8.

use idem_core::{Condition, Outcome, Update};

use crate::check::{
    assert_ago, assert_completed, assert_conflict, assert_left, assert_replay, assert_reserved,
    assert_unresolved,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, abandon, answer, ask, complete, lease, look,
    progress, record, renew, renew_under, reserve, retention, save, shown, terms_of,
};
use crate::{Harness, Store};

/// It is there until ten to nine, and vacant at nine: for any fingerprint, as attempt 1.
async fn assert_expires(harness: &dyn Harness, keys: &[&str]) {
    let store = &*harness.store();
    harness.advance(8 * HOUR).await;
    for key in keys {
        let seen = ask(store, &a_mismatch(key)).await;
        assert_eq!(seen, Outcome::Mismatch, "of {key}, before it expires");
    }
    harness.advance(HOUR).await;
    for key in keys {
        assert_vacant(store, key).await;
    }
}

async fn assert_vacant(store: &dyn Store, key: &str) {
    let seen = look(store, &record("scope", key)).await;
    assert!(seen.is_none(), "{key} has expired, and there is {seen:?}");
    let other = a_mismatch(key);
    let vacant = Outcome::Reserved {
        attempt: 1,
        progress: None,
    };
    assert_eq!(ask(store, &other).await, vacant, "of {key}");
    // Nothing of the old record is left in the new one.
    let shown = shown(store, &other.operation.record).await;
    assert_eq!(shown.operation, other.operation, "of {key}");
    assert_eq!((shown.progress, shown.started), (None, false), "of {key}");
    assert_ago(shown.first_reserved_ago, JUST_NOW);
    assert_left(shown.remembered_for.unwrap_or_default(), retention(8));
}

/// R8
pub async fn r8_a_completed_record_expires(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    let held = reserve(store, &a_try_on_hold("held")).await;
    renew(store, &held).await;
    complete(store, &held, "paid").await;
    assert_expires(harness, &["k", "held"]).await;
}

/// R8
pub async fn r8_a_completed_record_is_replayed_until_it_expires(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    for _ in 0..=8 {
        assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
        harness.advance(HOUR).await;
    }
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

/// R8
pub async fn r8_an_abandoned_record_expires(harness: &dyn Harness) {
    let store = &*harness.store();
    for request in [a_try("run again"), a_try_on_hold("hold")] {
        let holder = reserve(store, &request).await;
        save(store, &holder, &progress("half way")).await;
        abandon(store, &holder).await;
    }
    assert_expires(harness, &["run again", "hold"]).await;
}

/// R8
pub async fn r8_a_lapsed_record_expires_unless_it_is_held(harness: &dyn Harness) {
    let store = &*harness.store();
    let started = reserve(store, &a_try("started")).await;
    save(store, &started, &progress("half way")).await;
    reserve(store, &a_try("not renewed")).await;
    reserve(store, &a_try_on_hold("never started")).await;
    assert_expires(harness, &["started", "not renewed", "never started"]).await;
}

/// R8
pub async fn r8_held_and_started_it_never_expires(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_on_hold("k")).await;
    save(store, &holder, &progress("half way")).await;
    for _ in 0..4 {
        harness.advance(100 * HOUR).await;
        let shown = shown(store, &holder.record).await;
        let unresolved = matches!(shown.condition, Condition::Unresolved { .. });
        assert!(unresolved, "it is shown as {:?}", shown.condition);
        assert_eq!(shown.remembered_for, None);
        assert_eq!(shown.progress, Some(progress("half way")));
        assert_unresolved(&ask(store, &a_try("k")).await);
        assert_eq!(ask(store, &a_mismatch("k")).await, Outcome::Mismatch);
    }
}

/// R8
pub async fn r8_what_was_held_expires_once_it_is_settled(harness: &dyn Harness) {
    let store = &*harness.store();
    for key in ["completed", "abandoned"] {
        let holder = reserve(store, &a_try_on_hold(key)).await;
        renew(store, &holder).await;
    }
    harness.advance(100 * HOUR).await;
    let holder = shown(store, &record("scope", "completed")).await.holder;
    assert_left(
        assert_completed(&complete(store, &holder, "paid").await),
        retention(8),
    );
    let holder = shown(store, &record("scope", "abandoned")).await.holder;
    assert_eq!(abandon(store, &holder).await, Update::Done);
    assert_expires(harness, &["completed", "abandoned"]).await;
}

/// R8
pub async fn r8_a_live_lease_does_not_expire(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    for _ in 0..30 {
        harness.advance(HOUR).await;
        assert_eq!(renew(store, &holder).await, Update::Done);
        assert_conflict(&ask(store, &a_try("k")).await, lease(1));
    }
    assert_completed(&complete(store, &holder, "at last").await);
    assert_replay(&ask(store, &a_try("k")).await, &answer("at last"));
}

/// R8
pub async fn r8_a_lease_longer_than_the_retention_left_is_kept(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(8 * HOUR).await;
    assert_eq!(
        renew_under(store, &holder, terms_of(4, 9)).await,
        Update::Done
    );
    harness.advance(4 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    let shown = shown(store, &holder.record).await;
    let live = matches!(shown.condition, Condition::Live { .. });
    assert!(live, "it is shown as {:?}", shown.condition);
    assert_completed(&complete(store, &holder, "paid").await);
}
