//! Memory is bounded by what is live, and nothing live is ever dropped.

use super::{LEASE, RETENTION, request, reserve, store};
use crate::{Condition, IdempotencyStore, Inspect, OnLapse, Outcome, Response};

#[tokio::test]
async fn expired_records_leave_although_nobody_reads_them() {
    let (store, clock) = store();
    for n in 0..5_000 {
        let holder = reserve(&store, format!("old-{n}"), OnLapse::RunAgain).await;
        store
            .complete(&holder, &Response::new(201).into())
            .await
            .unwrap();
    }
    clock.advance(RETENTION);
    // Calls on other records only: each sweeps two of its own shard and two of another one.
    for n in 0..5_000 {
        reserve(&store, format!("new-{n}"), OnLapse::RunAgain).await;
    }
    assert_eq!(store.len(), 5_000);
    store.check();
}

#[tokio::test]
async fn a_busy_key_leaves_nothing_behind() {
    let (store, clock) = store();
    for _ in 0..1_000 {
        let holder = reserve(&store, "k", OnLapse::RunAgain).await;
        store.release(&holder).await.unwrap();
        clock.advance(LEASE / 1_000);
    }
    assert!(store.is_empty());
    store.check();
}

#[tokio::test]
async fn a_table_that_was_large_gives_its_memory_back() {
    let (store, clock) = store();
    for n in 0..20_000 {
        reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
    }
    let slots = |store: &super::MemoryStore| -> usize {
        store
            .0
            .shards
            .iter()
            .map(|shard| super::lock(shard).capacity())
            .sum()
    };
    let before = slots(&store);
    clock.advance(RETENTION);
    while store.purge_expired(100).await.unwrap().more {}
    assert!(store.is_empty());
    assert!(
        slots(&store) < before / 2,
        "{} of {before} slots",
        slots(&store)
    );
}

#[tokio::test]
async fn live_and_unresolved_records_stay_whatever_is_swept() {
    let (store, clock) = store();
    let unresolved = reserve(&store, "unresolved", OnLapse::Hold).await;
    store
        .renew(&unresolved, request("-").terms, None)
        .await
        .unwrap();
    clock.advance(RETENTION * 1_000);
    let live = reserve(&store, "live", OnLapse::RunAgain).await;
    while store.purge_expired(1).await.unwrap().more {}
    for n in 0..1_000 {
        reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
    }
    let condition = |info: Option<crate::RecordInfo>| info.unwrap().condition;
    let shown = condition(store.get(&unresolved.record).await.unwrap());
    assert!(matches!(shown, Condition::Unresolved { .. }));
    let shown = condition(store.get(&live.record).await.unwrap());
    assert!(matches!(shown, Condition::Live { .. }));
    let again = store.reserve(&request("unresolved")).await.unwrap();
    assert_eq!(again, Outcome::Conflict { retry_after: None });
    store.check();
}

#[tokio::test]
async fn an_unresolved_record_that_is_settled_can_leave_again() {
    let (store, clock) = store();
    let holder = reserve(&store, "k", OnLapse::Hold).await;
    store
        .renew(&holder, request("-").terms, None)
        .await
        .unwrap();
    clock.advance(RETENTION * 2);
    store
        .complete(&holder, &Response::new(201).into())
        .await
        .unwrap();
    store.check();
    clock.advance(RETENTION);
    let purged = store.purge_expired(10).await.unwrap();
    assert_eq!((purged.removed, purged.more), (1, false));
    assert!(store.is_empty());
}
