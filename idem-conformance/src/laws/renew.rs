//! Renewing: C6.

use idem_core::{Condition, OnLapse, Outcome, Progress, RecordInfo, Update};

use crate::Harness;
use crate::check::{assert_ago, assert_conflict, assert_left, assert_reserved, assert_unresolved};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, a_try_on_hold, a_try_under, abandon, ask, lease, progress, renew,
    renew_under, reserve, save, shown, terms_of,
};

#[track_caller]
fn assert_lease_left(shown: &RecordInfo, hours: u32) {
    match &shown.condition {
        Condition::Live { lease_left } => assert_left(*lease_left, lease(hours)),
        other => panic!("expected a live lease, got {other:?}"),
    }
}

/// C6
pub async fn c6_a_renewal_extends_the_lease_from_now(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_under("k", terms_of(2, 20))).await;
    harness.advance(HOUR).await;
    let renewed = renew_under(store, &holder, terms_of(2, 20)).await;
    assert_eq!(renewed, Update::Done);
    assert_lease_left(&shown(store, &holder.record).await, 2);
    harness.advance(2 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    // From now, not from the end that the lease had: at 3:20, not at 4:40.
    harness.advance(HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// C6
pub async fn c6_a_renewal_may_ask_for_another_lease(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    renew_under(store, &holder, terms_of(5, 20)).await;
    assert_lease_left(&shown(store, &holder.record).await, 5);
    harness.advance(5 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
}

/// C6
pub async fn c6_a_renewal_never_shortens_a_lease(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_under("k", terms_of(5, 20))).await;
    harness.advance(HOUR).await;
    renew_under(store, &holder, terms_of(1, 20)).await;
    assert_lease_left(&shown(store, &holder.record).await, 4);
    harness.advance(4 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
}

/// C6
pub async fn c6_a_renewal_says_that_it_started(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try_on_hold("k")).await;
    assert!(!shown(store, &holder.record).await.started);
    renew(store, &holder).await;
    let started = shown(store, &holder.record).await;
    assert!(started.started);
    assert_eq!(
        (started.on_lapse, &started.holder),
        (OnLapse::Hold, &holder)
    );
    assert_ago(started.first_reserved_ago, JUST_NOW);
    // So it may have run.
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &a_try("k")).await);
}

/// C6
pub async fn c6_a_renewal_is_no_reservation(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(HOUR).await;
    renew(store, &holder).await;
    let shown = shown(store, &holder.record).await;
    assert_eq!(shown.holder, holder);
    assert_ago(shown.first_reserved_ago, HOUR);
    assert_ago(shown.last_reserved_ago, HOUR);
}

/// C6
pub async fn c6_progress_is_kept_until_it_is_replaced(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    assert_eq!(shown(store, &holder.record).await.progress, None);
    for saved in ["validated", "charged", ""] {
        let saved = progress(saved);
        assert_eq!(save(store, &holder, &saved).await, Update::Done);
        for _ in 0..2 {
            let shown = shown(store, &holder.record).await;
            assert_eq!(shown.progress.as_ref(), Some(&saved));
            renew(store, &holder).await;
        }
    }
    save(store, &holder, &progress("mailed")).await;
    abandon(store, &holder).await;
    let expected = Outcome::Reserved {
        attempt: 2,
        progress: Some(progress("mailed")),
    };
    assert_eq!(ask(store, &a_try("k")).await, expected);
}

/// C6
pub async fn c6_progress_is_bytes(harness: &dyn Harness) {
    let store = &*harness.store();
    let all_bytes: Vec<u8> = (0..=255).cycle().take(Progress::MAX_LEN).collect();
    for (n, bytes) in [
        Vec::new(),
        vec![0],
        vec![0xff, 0xfe, 0],
        b"null".to_vec(),
        all_bytes,
    ]
    .into_iter()
    .enumerate()
    {
        let (key, saved) = (n.to_string(), progress(bytes));
        let holder = reserve(store, &a_try(&key)).await;
        save(store, &holder, &saved).await;
        assert_eq!(
            shown(store, &holder.record).await.progress.as_ref(),
            Some(&saved)
        );
        abandon(store, &holder).await;
        let expected = Outcome::Reserved {
            attempt: 2,
            progress: Some(saved),
        };
        assert_eq!(ask(store, &a_try(&key)).await, expected, "progress {n}");
    }
}
