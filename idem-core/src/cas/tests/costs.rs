//! What purging, listing and heartbeats cost, in calls of an ordered engine.

use std::time::Duration;

use super::{LEASE, MS, RETENTION, World, completed, record, reserve, terms};
use crate::cas::index::Index;
use crate::{IdempotencyStore, Inspect, OnLapse, Response};

#[tokio::test]
async fn the_cost_follows_what_is_due_and_not_what_is_stored() {
    let world = World::<true>::default();
    let store = world.store();
    for n in 0..5 {
        completed(&store, format!("old-{n}")).await;
    }
    world.clock.advance(RETENTION / 2);
    for n in 0..500 {
        completed(&store, format!("{n}")).await;
        let holder = reserve(&store, format!("busy-{n}"), OnLapse::RunAgain).await;
        store.renew(&holder, terms(), None).await.unwrap();
    }
    // The first purge after a lease puts the entries of what was completed away.
    world.clock.advance(LEASE / 2);
    for n in 0..500 {
        let key = format!("busy-{n}");
        let info = store.get(&record(key)).await.unwrap().unwrap();
        store.renew(&info.holder, terms(), None).await.unwrap();
    }
    world.clock.advance(LEASE / 2);
    store.purge_expired(0).await.unwrap();
    assert_eq!(world.data.entries(Index::Lapse).len(), 500, "the busy ones");
    for n in 0..3 {
        let lapsing = reserve(&store, format!("lapsing-{n}"), OnLapse::RunAgain).await;
        store.abandon(&lapsing).await.unwrap();
    }

    store.engine().taken_calls();
    assert_eq!(store.lapsed(None, 10).await.unwrap().records.len(), 3);
    let calls = store.engine().taken_calls();
    assert!(
        calls <= 6,
        "{calls} calls to list three records of a thousand"
    );

    store.purge_expired(10).await.unwrap();
    let calls = store.engine().taken_calls();
    assert!(calls <= 10, "{calls} calls to purge nothing");

    world.clock.advance(RETENTION / 2 - LEASE);
    for n in 0..500 {
        // Attended all the while.
        let key = format!("busy-{n}");
        let info = store.get(&record(key)).await.unwrap().unwrap();
        store.renew(&info.holder, terms(), None).await.unwrap();
    }
    store
        .tidy_lapse(crate::Clock::now(&world.clock), 0)
        .await
        .unwrap();
    store.engine().taken_calls();
    assert_eq!(store.purge_expired(10).await.unwrap().removed, 5);
    let calls = store.engine().taken_calls();
    assert!(
        calls <= 40,
        "{calls} calls to purge five records of a thousand"
    );
}

#[tokio::test]
async fn entries_behind_many_lapsed_records_are_put_right_by_the_next_purges() {
    let world = World::<true>::default();
    let store = world.store();
    for n in 0..1_100 {
        reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
    }
    world.clock.advance(MS);
    completed(&store, "done".into()).await;
    world.clock.advance(LEASE);
    store.purge_expired(0).await.unwrap();
    assert_eq!(world.data.entries(Index::Lapse).len(), 1_101);
    store.purge_expired(0).await.unwrap();
    assert_eq!(world.data.entries(Index::Lapse).len(), 1_100);
    // And round again.
    completed(&store, "done too".into()).await;
    world.clock.advance(LEASE);
    for _ in 0..2 {
        store.purge_expired(0).await.unwrap();
    }
    assert_eq!(world.data.entries(Index::Lapse).len(), 1_100);
}

#[tokio::test]
async fn a_heartbeat_writes_its_record_only() {
    let world = World::<true>::default();
    let store = world.store();
    let holder = reserve(&store, "k", OnLapse::RunAgain).await;
    assert_eq!(
        store.engine().taken_calls(),
        4,
        "a load, two entries, the record"
    );
    for _ in 0..3 {
        world.clock.advance(Duration::from_secs(3));
        store.renew(&holder, terms(), None).await.unwrap();
        assert_eq!(store.engine().taken_calls(), 2);
    }
    let answer = Response::new(201).into();
    store.complete(&holder, &answer).await.unwrap();
    assert_eq!(store.engine().taken_calls(), 2);
}
