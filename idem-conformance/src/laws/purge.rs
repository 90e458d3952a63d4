//! Purging: P1.

use idem_core::Update;

use crate::check::{assert_conflict, assert_replay, assert_reserved, assert_unresolved};
use crate::fixture::{
    HOUR, a_try, a_try_on_hold, a_try_under, abandon, answer, ask, complete, lease, look, record,
    renew, reserve, shown, terms_of,
};
use crate::{Harness, Store};

/// Purges until nothing is left of what is due: thirty records at most.
async fn purge(store: &dyn Store, limit: usize) {
    for _ in 0..100 {
        let purged = store.purge_expired(limit).await.expect("purge");
        assert!(
            purged.removed <= limit,
            "{} removed, of {limit} at most",
            purged.removed
        );
        if !purged.more {
            let again = store.purge_expired(limit).await.expect("purge");
            assert_eq!((again.removed, again.more), (0, false), "nothing was left");
            return;
        }
    }
    panic!("a hundred calls with a limit of {limit} did not end it");
}

/// P1
pub async fn p1_only_what_is_expired_is_removed(harness: &dyn Harness) {
    let store = &*harness.store();
    for key in ["expired completed", "expired lapsed", "expired abandoned"] {
        let holder = reserve(store, &a_try(key)).await;
        match key {
            "expired completed" => drop(complete(store, &holder, "old").await),
            "expired abandoned" => drop(abandon(store, &holder).await),
            _ => {}
        }
    }
    reserve(store, &a_try_under("live", terms_of(20, 50))).await;
    harness.advance(2 * HOUR).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try("lapsed")).await;
    harness.advance(7 * HOUR).await;
    purge(store, 100).await;
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
    assert_conflict(&ask(store, &a_try("live")).await, lease(11));
    assert_reserved(&ask(store, &a_try("abandoned")).await, 2);
    assert_reserved(&ask(store, &a_try("lapsed")).await, 2);
    for key in ["expired completed", "expired lapsed", "expired abandoned"] {
        assert_eq!(look(store, &record("scope", key)).await, None, "of {key}");
    }
}

/// P1
pub async fn p1_what_is_unresolved_is_never_removed(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_on_hold("k")).await;
    renew(store, &holder).await;
    for _ in 0..3 {
        harness.advance(100 * HOUR).await;
        purge(store, 100).await;
        assert_unresolved(&ask(store, &a_try("k")).await);
    }
    assert_eq!(shown(store, &holder.record).await.holder, holder);
    // Once it is settled and its time is over, it goes like any other.
    complete(store, &holder, "found").await;
    purge(store, 100).await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("found"));
    harness.advance(9 * HOUR).await;
    purge(store, 100).await;
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}

/// P1
pub async fn p1_a_call_removes_at_most_its_limit(harness: &dyn Harness) {
    let store = &*harness.store();
    for n in 0..30 {
        reserve(store, &a_try(&format!("{n}"))).await;
    }
    harness.advance(9 * HOUR).await;
    let nothing = store.purge_expired(0).await.expect("purge");
    assert_eq!(nothing.removed, 0, "of none at most");
    purge(store, 1).await;
    for n in 0..30 {
        reserve(store, &a_try(&format!("{n}"))).await;
    }
    harness.advance(9 * HOUR).await;
    purge(store, 7).await;
    purge(store, usize::MAX).await;
}

/// P1
pub async fn p1_what_was_given_more_time_stays(harness: &dyn Harness) {
    let store = &*harness.store();
    let renewed = reserve(store, &a_try("renewed")).await;
    let completed = reserve(store, &a_try("completed")).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    reserve(store, &a_try("taken over")).await;
    harness.advance(6 * HOUR).await;
    assert_eq!(renew(store, &renewed).await, Update::Done);
    complete(store, &completed, "paid").await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try("taken over")).await;
    // Past the retention that they had at first.
    harness.advance(6 * HOUR).await;
    purge(store, 100).await;
    assert_reserved(&ask(store, &a_try("renewed")).await, 2);
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
    assert_reserved(&ask(store, &a_try("abandoned")).await, 2);
    assert_reserved(&ask(store, &a_try("taken over")).await, 3);
}

/// P1
pub async fn p1_what_was_reserved_anew_stays(harness: &dyn Harness) {
    let store = &*harness.store();
    for key in ["live", "completed", "held"] {
        reserve(store, &a_try(key)).await;
    }
    harness.advance(9 * HOUR).await;
    reserve(store, &a_try("live")).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    let held = reserve(store, &a_try_on_hold("held")).await;
    renew(store, &held).await;
    purge(store, 100).await;
    assert_conflict(&ask(store, &a_try("live")).await, lease(1));
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
    assert_conflict(&ask(store, &a_try("held")).await, lease(1));
}
