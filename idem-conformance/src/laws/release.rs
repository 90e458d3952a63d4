//! Releasing: C8.

use idem_core::{Outcome, Update};

use crate::Harness;
use crate::check::{assert_ago, assert_completed, assert_conflict, assert_left, assert_reserved};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, ask, complete, lease, look, progress,
    release, reserve, retention, save, shown,
};

/// C8
pub async fn c8_a_release_makes_the_key_vacant(harness: &dyn Harness) {
    let store = &*harness.store();
    for request in [a_try("k"), a_try_on_hold("k")] {
        let holder = reserve(store, &request).await;
        save(store, &holder, &progress("half way")).await;
        assert_eq!(release(store, &holder).await, Update::Done);
        assert_eq!(look(store, &holder.record).await, None);
    }
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

/// C8
pub async fn c8_a_release_forgets_everything(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try_on_hold("k")).await;
    save(store, &first, &progress("half way")).await;
    harness.advance(2 * HOUR).await;
    release(store, &first).await;
    // Another fingerprint, no progress, counted from now.
    let expected = Outcome::Reserved {
        attempt: 1,
        progress: None,
    };
    let next = a_mismatch("k");
    assert_eq!(ask(store, &next).await, expected);
    let shown = shown(store, &next.operation.record).await;
    assert_eq!(shown.operation, next.operation);
    assert_eq!((shown.progress, shown.started), (None, false));
    assert_ago(shown.first_reserved_ago, JUST_NOW);
    assert_left(shown.remembered_for.unwrap_or_default(), retention(8));
}

/// C8
pub async fn c8_a_second_release_touches_nobody_else(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    release(store, &first).await;
    assert_eq!(release(store, &first).await, Update::Superseded);
    let second = reserve(store, &a_try("k")).await;
    assert_eq!(release(store, &first).await, Update::Superseded);
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
    assert_completed(&complete(store, &second, "by the second").await);
    assert_eq!(release(store, &first).await, Update::Superseded);
    assert!(look(store, &second.record).await.is_some());
}
