//! The instants at which something changes, to the millisecond.

use std::time::Duration;

use idem_core::{Condition, Outcome, Terms, Update};

use crate::check::{
    assert_completed, assert_conflict, assert_replay, assert_reserved, assert_unresolved,
};
use crate::fixture::{
    HOUR, a_mismatch, a_try, a_try_on_hold, a_try_under, abandon, age, answer, ask, complete, look,
    renew, renew_under, reserve, shown, terms,
};
use crate::{Harness, Store};

const MS: Duration = Duration::from_millis(1);

async fn remembered_for(store: &dyn Store, key: &str) -> Duration {
    let shown = shown(store, &a_try(key).operation.record).await;
    shown.remembered_for.unwrap_or_default()
}

/// T2
pub async fn t2_no_time_passes_by_itself(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    let before = shown(store, &holder.record).await;
    tokio::time::sleep(20 * MS).await;
    let after = shown(store, &holder.record).await;
    assert_eq!(after, before, "is `exact_time` true of this store?");
    harness.advance(20 * MS).await;
    let after = shown(store, &holder.record).await;
    assert_eq!(after.first_reserved_ago, 20 * MS);
}

/// R3
pub async fn r3_a_lease_is_live_until_its_last_millisecond(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    harness.advance(terms().lease() - MS).await;
    assert_conflict(&ask(store, &a_try("k")).await, MS);
    harness.advance(MS).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// R5
pub async fn r5_what_is_as_old_as_the_longest_age_is_too_old(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    abandon(store, &first).await;
    harness.advance(age(1)).await;
    assert_unresolved(&ask(store, &a_try("k").longest_age(Some(age(1)))).await);
    let a_millisecond_more = a_try("k").longest_age(Some(age(1) + MS));
    assert_reserved(&ask(store, &a_millisecond_more).await, 2);
}

/// R8
pub async fn r8_a_record_is_there_until_its_last_millisecond(harness: &dyn Harness) {
    let store = &*harness.store();
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    let abandoned = reserve(store, &a_try("abandoned")).await;
    abandon(store, &abandoned).await;
    reserve(store, &a_try("lapsed")).await;
    reserve(store, &a_try_on_hold("never started")).await;
    harness.advance(terms().retention() - MS).await;
    let keys = ["completed", "abandoned", "lapsed", "never started"];
    for key in keys {
        assert_eq!(ask(store, &a_mismatch(key)).await, Outcome::Mismatch);
        assert_eq!(remembered_for(store, key).await, MS, "of {key}");
    }
    assert_eq!(
        store.lapsed(None, 10).await.expect("lapsed").records.len(),
        3
    );
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
    harness.advance(MS).await;
    assert_eq!(store.lapsed(None, 10).await.expect("lapsed").records, []);
    for key in keys {
        let seen = look(store, &a_try(key).operation.record).await;
        assert_eq!(seen, None, "{key} is over");
        assert_reserved(&ask(store, &a_mismatch(key)).await, 1);
    }
}

/// T3
pub async fn t3_half_is_enough_and_a_millisecond_less_is_not(harness: &dyn Harness) {
    let store = &*harness.store();
    let terms = Terms::new(HOUR, 10 * HOUR).expect("they fit");
    let mut holders = Vec::new();
    for key in ["renewed", "completed", "abandoned", "other"] {
        holders.push(reserve(store, &a_try_under(key, terms)).await);
    }
    let [renewed, completed, abandoned, other] = &holders[..] else {
        unreachable!("four were pushed")
    };
    // At four hours half of the retention would be left after a lease that is set.
    harness.advance(4 * HOUR).await;
    renew_under(store, renewed, terms).await;
    assert_eq!(remembered_for(store, "renewed").await, 6 * HOUR);
    harness.advance(MS).await;
    renew_under(store, renewed, terms).await;
    assert_eq!(remembered_for(store, "renewed").await, 10 * HOUR);
    // At five hours half of it is left.
    harness.advance(HOUR - MS).await;
    let remembered = assert_completed(&complete(store, completed, "paid").await);
    assert_eq!(remembered, 5 * HOUR);
    abandon(store, abandoned).await;
    assert_eq!(remembered_for(store, "abandoned").await, 5 * HOUR);
    harness.advance(MS).await;
    let remembered = assert_completed(&complete(store, other, "paid").await);
    assert_eq!(remembered, 10 * HOUR);
}

/// C6
pub async fn c6_a_renewed_lease_counts_from_now(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    harness.advance(HOUR + 7 * MS).await;
    assert_eq!(renew(store, &holder).await, Update::Done);
    let seen = shown(store, &holder.record).await;
    let lease_left = terms().lease();
    assert_eq!(seen.condition, Condition::Live { lease_left });
    harness.advance(terms().lease() - MS).await;
    assert_conflict(&ask(store, &a_try("k")).await, MS);
    harness.advance(MS).await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// P2
pub async fn p2_every_duration_counts_from_the_call(harness: &dyn Harness) {
    let store = &*harness.store();
    let first = reserve(store, &a_try("k")).await;
    harness.advance(HOUR + MS).await;
    abandon(store, &first).await;
    harness.advance(3 * MS).await;
    let seen = shown(store, &first.record).await;
    assert_eq!(seen.condition, Condition::Abandoned { ago: 3 * MS });
    let second = reserve(store, &a_try("k")).await;
    harness.advance(terms().lease() + 5 * MS).await;
    let seen = shown(store, &second.record).await;
    assert_eq!(seen.condition, Condition::Lapsed { ago: 5 * MS });
    assert_eq!(seen.last_reserved_ago, terms().lease() + 5 * MS);
    let first_reserved_ago = HOUR + 4 * MS + terms().lease() + 5 * MS;
    assert_eq!(seen.first_reserved_ago, first_reserved_ago);
    let left = terms().retention() - first_reserved_ago;
    assert_eq!(seen.remembered_for, Some(left));
}

/// P2
pub async fn p2_lapsed_lists_a_lease_from_its_end_on(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    harness.advance(terms().lease() - MS).await;
    assert_eq!(store.lapsed(None, 10).await.expect("lapsed").records, []);
    harness.advance(MS).await;
    let listed = store.lapsed(None, 10).await.expect("lapsed").records;
    assert_eq!(listed.len(), 1);
    let ago = Duration::ZERO;
    assert_eq!(listed[0].condition, Condition::Lapsed { ago });
}

/// P1
pub async fn p1_what_has_a_millisecond_left_stays(harness: &dyn Harness) {
    let store = &*harness.store();
    let completed = reserve(store, &a_try("completed")).await;
    complete(store, &completed, "paid").await;
    harness.advance(terms().retention() - MS).await;
    let purged = store.purge_expired(10).await.expect("purge");
    assert_eq!((purged.removed, purged.more), (0, false));
    assert_replay(&ask(store, &a_try("completed")).await, &answer("paid"));
}

/// T1
pub async fn t1_a_millisecond_is_a_millisecond(harness: &dyn Harness) {
    let store = &*harness.store();
    let shortest = Terms::new(MS, 2 * MS).expect("they fit");
    let holder = reserve(store, &a_try_under("k", shortest)).await;
    assert_conflict(&ask(store, &a_try("k")).await, MS);
    assert_eq!(remembered_for(store, "k").await, 2 * MS);
    harness.advance(MS).await;
    let remembered = assert_completed(&complete(store, &holder, "paid").await);
    assert_eq!(remembered, MS);
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
    harness.advance(MS).await;
    assert_reserved(&ask(store, &a_try("k")).await, 1);
}
