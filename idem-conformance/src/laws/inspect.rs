//! What operators see: P2.

use std::collections::BTreeSet;
use std::time::Duration;

use idem_core::{Condition, Fingerprint, OnLapse, Operation, RecordId, RecordInfo};

use crate::check::{assert_ago, assert_answer, assert_left, assert_unchanged};
use crate::fixture::{
    HOUR, JUST_NOW, a_try, a_try_on_hold, a_try_under, abandon, answer, complete, lease, look,
    progress, record, release, renew, reserve, retention, save, shown, terms_of, try_at,
};
use crate::{Harness, Store};

/// P2
pub async fn p2_get_shows_a_reservation(harness: &dyn Harness) {
    let store = &*harness.store();
    let request = try_at(Operation {
        record: record("scope", "k"),
        fingerprint: Fingerprint::from_parts(7, [9; 32]),
    });
    let holder = reserve(store, &request).await;
    harness.advance(HOUR).await;
    let seen = shown(store, &holder.record).await;
    match seen.condition {
        Condition::Live { lease_left } => assert_left(lease_left, lease(0)),
        ref other => panic!("it is shown as {other:?}"),
    }
    assert_eq!(seen.operation, request.operation);
    assert_eq!(seen.holder, holder);
    assert_eq!((seen.on_lapse, seen.started), (OnLapse::RunAgain, false));
    assert_eq!(seen.progress, None);
    assert_ago(seen.first_reserved_ago, HOUR);
    assert_ago(seen.last_reserved_ago, HOUR);
    assert_left(seen.remembered_for.unwrap_or_default(), retention(7));
}

/// P2
pub async fn p2_get_shows_what_lapsed(harness: &dyn Harness) {
    let store = &*harness.store();
    let lapsed = reserve(store, &a_try("lapsed")).await;
    save(store, &lapsed, &progress("half way")).await;
    let never_started = reserve(store, &a_try_on_hold("never started")).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    harness.advance(2 * HOUR).await;
    let ago = 2 * HOUR - lease(1);

    let seen = shown(store, &lapsed.record).await;
    assert_lapsed(&seen, ago);
    assert_eq!((seen.on_lapse, seen.started), (OnLapse::RunAgain, true));
    assert_eq!(seen.progress, Some(progress("half way")));
    let seen = shown(store, &never_started.record).await;
    assert_lapsed(&seen, ago);
    assert_eq!((seen.on_lapse, seen.started), (OnLapse::Hold, false));
    assert_left(seen.remembered_for.unwrap_or_default(), retention(6));

    let seen = shown(store, &unresolved.record).await;
    match seen.condition {
        Condition::Unresolved { ago: seen } => assert_ago(seen, ago),
        ref other => panic!("it is shown as {other:?}"),
    }
    assert_eq!((seen.on_lapse, seen.started), (OnLapse::Hold, true));
    assert_eq!(seen.remembered_for, None, "it stays until it is settled");
}

#[track_caller]
fn assert_lapsed(seen: &RecordInfo, expected: Duration) {
    match seen.condition {
        Condition::Lapsed { ago } => assert_ago(ago, expected),
        ref other => panic!("it is shown as {other:?}"),
    }
}

/// P2
pub async fn p2_get_shows_a_takeover(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    save(store, &first, &progress("half way")).await;
    harness.advance(2 * HOUR).await;
    let second = reserve(store, &a_try_under("k", terms_of(2, 20))).await;
    harness.advance(HOUR).await;
    let seen = shown(store, &second.record).await;
    match seen.condition {
        Condition::Live { lease_left } => assert_left(lease_left, lease(1)),
        ref other => panic!("it is shown as {other:?}"),
    }
    assert_eq!(seen.holder, second);
    assert_eq!(seen.holder.attempt, 2);
    assert!(!seen.started);
    assert_eq!(seen.progress, Some(progress("half way")));
    assert_ago(seen.first_reserved_ago, 3 * HOUR);
    assert_ago(seen.last_reserved_ago, HOUR);
}

/// P2
pub async fn p2_get_shows_an_answer(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try_on_hold("k")).await;
    save(store, &first, &progress("half way")).await;
    abandon(store, &first).await;
    harness.advance(HOUR).await;
    let second = reserve(store, &a_try("k")).await;
    complete(store, &second, "paid").await;
    harness.advance(HOUR).await;
    let seen = shown(store, &second.record).await;
    match &seen.condition {
        Condition::Completed(seen) => assert_answer(seen, &answer("paid")),
        other => panic!("it is shown as {other:?}"),
    }
    assert_eq!(seen.operation, a_try("k").operation);
    assert_eq!(seen.holder, second);
    assert_eq!((seen.on_lapse, seen.started), (OnLapse::RunAgain, true));
    assert_eq!(seen.progress, None, "there is no next attempt");
    assert_ago(seen.first_reserved_ago, 2 * HOUR);
    assert_ago(seen.last_reserved_ago, HOUR);
    assert_left(seen.remembered_for.unwrap_or_default(), retention(6));
}

/// P2
pub async fn p2_get_changes_nothing(harness: &dyn Harness) {
    let store = &*harness.store();
    let live = reserve(store, &a_try_under("live", terms_of(5, 20))).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    harness.advance(2 * HOUR).await;
    for holder in [&live, &unresolved, &abandoned, &completed] {
        let before = shown(store, &holder.record).await;
        for _ in 0..5 {
            shown(store, &holder.record).await;
        }
        assert_unchanged(&before, &shown(store, &holder.record).await, JUST_NOW);
    }
    harness.advance(HOUR).await;
    let seen = shown(store, &live.record).await;
    match seen.condition {
        Condition::Live { lease_left } => assert_left(lease_left, lease(2)),
        other => panic!("it is shown as {other:?}"),
    }
}

/// P2
pub async fn p2_get_shows_nothing_where_nothing_is(harness: &dyn Harness) {
    let store = &*harness.store();
    let released = reserve(store, &a_try("released")).await;
    release(store, &released).await;
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try("lapsed")).await;
    reserve(store, &a_try_on_hold("never started")).await;
    for key in ["never reserved", "released"] {
        assert_eq!(look(store, &record("scope", key)).await, None, "of {key}");
    }
    harness.advance(9 * HOUR).await;
    for key in ["completed", "abandoned", "lapsed", "never started"] {
        assert_eq!(look(store, &record("scope", key)).await, None, "of {key}");
    }
}

/// Every page of at most `limit` records, one after the other.
async fn walk(store: &dyn Store, limit: usize) -> Vec<RecordInfo> {
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page = store.lapsed(after.as_ref(), limit).await.expect("lapsed");
        let length = page.records.len();
        assert!(length <= limit, "{length} on a page of {limit}");
        listed.extend(page.records);
        assert!(listed.len() <= 1000, "the walk does not end");
        match page.next {
            None => return listed,
            next => after = next,
        }
        assert!(length > 0, "an empty page that is not the last");
    }
}

fn keys(listed: &[RecordInfo]) -> Vec<&str> {
    listed
        .iter()
        .map(|record| record.operation.record.key.as_str())
        .collect()
}

/// P2
pub async fn p2_lapsed_lists_what_nobody_attends(harness: &dyn Harness) {
    let store = &*harness.store();
    assert_eq!(walk(store, 10).await, []);
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    let released = reserve(store, &a_try("released")).await;
    release(store, &released).await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    harness.advance(HOUR).await;
    reserve(store, &a_try("lapsed")).await;
    harness.advance(2 * HOUR).await;
    reserve(store, &a_try("live")).await;

    let listed = walk(store, 10).await;
    assert_eq!(keys(&listed), ["abandoned", "unresolved", "lapsed"]);
    let abandoned = matches!(listed[0].condition, Condition::Abandoned { .. });
    let unresolved = matches!(listed[1].condition, Condition::Unresolved { .. });
    let lapsed = matches!(listed[2].condition, Condition::Lapsed { .. });
    assert!(abandoned && unresolved && lapsed, "{listed:?}");
}

/// P2
pub async fn p2_lapsed_shows_what_get_shows(harness: &dyn Harness) {
    let store = &*harness.store();
    let abandoned = reserve(store, &a_try("abandoned")).await;
    save(store, &abandoned, &progress("half way")).await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try_on_hold("never started")).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    harness.advance(2 * HOUR).await;
    reserve(store, &a_try("abandoned")).await;
    harness.advance(2 * HOUR).await;
    let listed = walk(store, 10).await;
    assert_eq!(listed.len(), 3, "{listed:?}");
    for listed in listed {
        let shown = shown(store, &listed.operation.record).await;
        assert_unchanged(&listed, &shown, JUST_NOW);
    }
}

/// P2
pub async fn p2_lapsed_forgets_what_expired(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("lapsed")).await;
    let abandoned = reserve(store, &a_try_on_hold("abandoned")).await;
    renew(store, &abandoned).await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try_on_hold("never started")).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    harness.advance(8 * HOUR).await;
    assert_eq!(walk(store, 10).await.len(), 4);
    harness.advance(HOUR).await;
    assert_eq!(keys(&walk(store, 10).await), ["unresolved"]);
}

/// P2
pub async fn p2_lapsed_gives_the_longest_lapsed_first(harness: &dyn Harness) {
    let store = &*harness.store();
    // Neither in the order of keys nor in that of reservations.
    let keys_and_leases = [("d", 3), ("a", 5), ("e", 1), ("b", 4), ("c", 2)];
    for (key, hours) in keys_and_leases {
        reserve(store, &a_try_under(key, terms_of(hours, 50))).await;
    }
    harness.advance(6 * HOUR).await;
    for limit in [1, 2, 3, 5, 100] {
        let listed = walk(store, limit).await;
        assert_eq!(keys(&listed), ["e", "c", "d", "b", "a"], "by {limit}");
    }
}

/// P2
pub async fn p2_lapsed_lists_each_record_once(harness: &dyn Harness) {
    let store = &*harness.store();
    let ids: Vec<RecordId> = (0..40)
        .map(|n| record(format!("scope {}", n % 4), format!("key {}", n / 4)))
        .collect();
    for id in &ids {
        let operation = Operation {
            record: id.clone(),
            ..a_try("k").operation
        };
        reserve(store, &try_at(operation)).await;
    }
    harness.advance(2 * HOUR).await;
    for limit in [1, 3, 7, 39, 40, 41, usize::MAX] {
        let listed = walk(store, limit).await;
        let listed: Vec<_> = listed.iter().map(|info| &info.operation.record).collect();
        let once: BTreeSet<_> = listed.iter().copied().collect();
        assert_eq!(listed.len(), 40, "by {limit}");
        assert_eq!(once, ids.iter().collect(), "by {limit}");
    }
}

/// P2
pub async fn p2_a_walk_goes_on_when_records_are_settled(harness: &dyn Harness) {
    let store = &*harness.store();
    for n in 0..10 {
        reserve(store, &a_try(&format!("{n}"))).await;
    }
    harness.advance(2 * HOUR).await;
    let mut seen = BTreeSet::new();
    let mut after = None;
    loop {
        let page = store.lapsed(after.as_ref(), 3).await.expect("lapsed");
        for record in &page.records {
            let key = record.operation.record.key.as_str().to_owned();
            assert!(seen.insert(key), "{record:?} is listed twice");
            // Even the one that the next page begins after.
            release(store, &record.holder).await;
        }
        match page.next {
            None => break,
            next => after = next,
        }
    }
    assert_eq!(seen.len(), 10, "{seen:?}");
    assert_eq!(walk(store, 10).await, []);
}
