//! Taking over what lapsed or was abandoned: R5.

use idem_core::{OnLapse, Outcome};

use crate::Harness;
use crate::check::{
    assert_ago, assert_completed, assert_conflict, assert_replay, assert_reserved,
    assert_unresolved,
};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, a_try_on_hold, a_try_under, abandon, answer, ask, complete, lease,
    progress, renew, reserve, save, shown, terms_of,
};

/// R5
pub async fn r5_a_lapsed_lease_is_taken_over(harness: &dyn Harness) {
    let store = &*harness.store();
    // Only the holder's lease counts, whatever the taker asks for.
    let takers = [("shorter", 1), ("equal", 2), ("longer", 3)];
    for (key, _) in takers {
        reserve(store, &a_try_under(key, terms_of(2, 8))).await;
    }
    harness.advance(2 * HOUR).await;
    for (key, hours) in takers {
        let outcome = ask(store, &a_try_under(key, terms_of(hours, 8))).await;
        assert_conflict(&outcome, lease(0));
    }
    harness.advance(HOUR).await;
    for (key, hours) in takers {
        let outcome = ask(store, &a_try_under(key, terms_of(hours, 8))).await;
        let expected = Outcome::Reserved {
            attempt: 2,
            progress: None,
        };
        assert_eq!(outcome, expected, "by a {key} lease");
        assert_conflict(&ask(store, &a_try(key)).await, lease(hours));
    }
}

/// R5
pub async fn r5_an_abandoned_one_is_taken_over_at_once(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    abandon(store, &holder).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
    assert_conflict(&ask(store, &a_try("k")).await, lease(1));
}

/// R5
pub async fn r5_the_new_token_holds_the_record(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    harness.advance(2 * HOUR).await;
    let taker = a_try("k");
    let second = reserve(store, &taker).await;
    let shown = shown(store, &second.record).await;
    assert_eq!(shown.holder, second);
    assert_reserved(&ask(store, &taker.resent()).await, 2);
    assert_completed(&complete(store, &second, "by the second").await);
    assert_replay(&ask(store, &a_try("k")).await, &answer("by the second"));
}

/// R5
pub async fn r5_every_takeover_counts_one_more(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    for attempt in 2..=6 {
        harness.advance(2 * HOUR).await;
        let taker = a_try("k");
        assert_reserved(&ask(store, &taker).await, attempt);
        assert_reserved(&ask(store, &taker.resent()).await, attempt);
    }
}

/// R5
pub async fn r5_progress_goes_to_the_next_attempt(harness: &dyn Harness) {
    let store = &*harness.store();
    let saved = progress("card charged");
    let with_progress = |attempt| Outcome::Reserved {
        attempt,
        progress: Some(saved.clone()),
    };
    let first = reserve(store, &a_try("k")).await;
    save(store, &first, &saved).await;
    harness.advance(2 * HOUR).await;
    let second = a_try("k");
    assert_eq!(ask(store, &second).await, with_progress(2));
    // The second saved nothing of its own, and neither did a resend lose it.
    assert_eq!(ask(store, &second.resent()).await, with_progress(2));
    harness.advance(2 * HOUR).await;
    assert_eq!(ask(store, &a_try("k")).await, with_progress(3));
}

/// R5
pub async fn r5_a_takeover_begins_anew(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    renew(store, &first).await;
    harness.advance(2 * HOUR).await;
    let taker = a_try_under("k", terms_of(3, 20));
    let second = reserve(store, &taker).await;
    let shown = shown(store, &second.record).await;
    assert!(!shown.started, "the first was started, the second is not");
    assert_eq!(shown.on_lapse, OnLapse::RunAgain);
    assert_ago(shown.first_reserved_ago, 2 * HOUR);
    assert_ago(shown.last_reserved_ago, JUST_NOW);
    harness.advance(3 * HOUR).await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
    harness.advance(HOUR).await;
    assert_reserved(&ask(store, &a_try("k")).await, 3);
}

/// R5
pub async fn r5_the_taker_decides_what_happens_on_lapse(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try_on_hold("k")).await;
    abandon(store, &first).await;
    let second = reserve(store, &a_try("k")).await;
    assert_eq!(
        shown(store, &second.record).await.on_lapse,
        OnLapse::RunAgain
    );
    renew(store, &second).await;
    harness.advance(2 * HOUR).await;
    let third = reserve(store, &a_try("k")).await;
    abandon(store, &third).await;
    let fourth = reserve(store, &a_try_on_hold("k")).await;
    let shown = shown(store, &fourth.record).await;
    assert_eq!(shown.on_lapse, OnLapse::Hold);
    renew(store, &fourth).await;
    harness.advance(2 * HOUR).await;
    assert_unresolved(&ask(store, &a_try("k")).await);
}
