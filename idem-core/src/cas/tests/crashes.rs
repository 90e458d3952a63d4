//! An ordered engine whose process dies between any two of its calls: no record is lost to the indexes.

use super::{LEASE, MS, RETENTION, World, all_lapsed, request, reserve, terms};
use crate::cas::index::Index;
use crate::machine::{expires_at, lapsed_since};
use crate::{
    Clock, Error, Holder, IdempotencyStore, Inspect, ManualClock, OnLapse, Outcome, Response,
};

/// A life with every kind of step in it; ends early when the process dies.
async fn live<S: IdempotencyStore + Inspect>(store: &S, clock: &ManualClock) -> Result<(), Error> {
    let reserve = async |key: &str, on_lapse| {
        let request = request(key).on_lapse(on_lapse);
        match store.reserve(&request).await? {
            Outcome::Reserved { attempt, .. } => {
                let record = request.operation.record;
                Ok(Holder::new(record, request.token, attempt))
            }
            other => panic!("not reserved: {other:?}"),
        }
    };
    let answer = Response::new(201).into();

    let renewed = reserve("renewed", OnLapse::RunAgain).await?;
    let abandoned = reserve("abandoned", OnLapse::RunAgain).await?;
    let held = reserve("held", OnLapse::Hold).await?;
    store.renew(&held, terms(), None).await?;
    let unresolved = reserve("unresolved", OnLapse::Hold).await?;
    store.renew(&unresolved, terms(), None).await?;
    clock.advance(LEASE / 2);
    store.renew(&renewed, terms(), None).await?;
    store.abandon(&abandoned).await?;
    clock.advance(LEASE / 2);
    store.lapsed(None, 2).await?;
    clock.advance(LEASE / 2);
    store.purge_expired(1).await?;
    store.complete(&renewed, &answer).await?;
    let taken = reserve("abandoned", OnLapse::RunAgain).await?;
    store.release(&taken).await?;
    reserve("abandoned", OnLapse::RunAgain).await?;
    clock.advance(RETENTION);
    // Its entry goes while it is held, and comes back when it is completed.
    store.purge_expired(10).await?;
    store.complete(&held, &answer).await?;
    reserve("renewed", OnLapse::RunAgain).await?;
    store.purge_expired(10).await?;
    clock.advance(RETENTION / 2);
    reserve("late", OnLapse::RunAgain).await?;
    store.lapsed(None, 10).await?;
    Ok(())
}

async fn dies_after(calls: usize) -> bool {
    let world = World::<true>::default();
    let ended = live(
        &world.store_in(world.engine().dying_in(calls)),
        &world.clock,
    )
    .await;
    let store = world.store();

    // An abandonment may be listed late, but no later than its lease would have ended.
    world.clock.advance(LEASE);
    let now = world.clock.now();
    let mut lapsed: Vec<_> = world
        .data
        .records()
        .into_iter()
        .filter_map(|(id, record)| Some((lapsed_since(&record, now)?, id)))
        .collect();
    lapsed.sort();
    let listed = all_lapsed(&store, 2).await;
    let mut ids: Vec<_> = listed
        .into_iter()
        .map(|info| info.operation.record)
        .collect();
    let mut expected: Vec<_> = lapsed.into_iter().map(|(_, id)| id).collect();
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected, "after {calls} calls");
    world.data.check();

    // Without the patrol: the index alone has to find everything.
    world.clock.advance(RETENTION * 2);
    let now = world.clock.now();
    assert!(!store.purge_due(now, 100).await.unwrap().more);
    store.tidy_lapse(now, 100).await.unwrap();
    let left = world.data.records();
    assert!(
        left.iter().all(|(_, record)| expires_at(record).is_none()),
        "after {calls} calls: {left:?}"
    );
    // One entry for each record left, and nothing for those that are gone.
    assert_eq!(world.data.entries(Index::Due), []);
    let mut entries = world.data.entries(Index::Lapse);
    entries.sort();
    let mut of_left: Vec<_> = left
        .iter()
        .map(|(id, record)| (Index::Lapse.time_of(record).unwrap(), id.clone()))
        .collect();
    of_left.sort();
    assert_eq!(entries, of_left, "after {calls} calls");
    ended.is_err()
}

#[tokio::test]
async fn a_process_that_dies_anywhere_leaves_nothing_for_ever_and_loses_nothing() {
    let mut calls = 0;
    while dies_after(calls).await {
        calls += 1;
    }
    assert!(calls > 60, "a life of {calls} calls only");
}

#[tokio::test]
async fn a_walk_that_dies_anywhere_is_taken_up_by_the_next() {
    for calls in 0.. {
        let world = World::<true>::default();
        let store = world.store();
        for n in 0..4 {
            let holder = reserve(&store, format!("renewed-{n}"), OnLapse::Hold).await;
            store.renew(&holder, terms(), None).await.unwrap();
            let holder = reserve(&store, format!("done-{n}"), OnLapse::RunAgain).await;
            let answer = Response::new(201).into();
            store.complete(&holder, &answer).await.unwrap();
            reserve(&store, format!("lapsed-{n}"), OnLapse::RunAgain).await;
            world.clock.advance(MS);
        }
        world.clock.advance(RETENTION);
        let dying = world.store_in(world.engine().dying_in(calls));
        let ended = async {
            dying.purge_expired(3).await?;
            dying.lapsed(None, 2).await
        };
        let died = ended.await.is_err();
        world.data.check();
        let now = world.clock.now();
        store.purge_due(now, 100).await.unwrap();
        assert_eq!(world.data.records().len(), 4);
        assert_eq!(all_lapsed(&store, 3).await.len(), 4);
        if !died {
            break;
        }
    }
}

#[tokio::test]
async fn what_has_no_entry_is_found_by_the_patrol() {
    let world = World::<true>::default();
    let store = world.store();
    for n in 0..100 {
        let holder = reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
        let answer = Response::new(201).into();
        store.complete(&holder, &answer).await.unwrap();
        let holder = reserve(&store, format!("held-{n}"), OnLapse::Hold).await;
        store.renew(&holder, terms(), None).await.unwrap();
    }
    world.data.forget(Index::Due);
    world.data.forget(Index::Lapse);
    world.clock.advance(RETENTION);
    assert_eq!(all_lapsed(&store, 10).await, []);
    let mut removed = 0;
    // Once round: 200 records, five in each page of this engine.
    for _ in 0..41 {
        let purged = store.purge_expired(5).await.unwrap();
        assert!(purged.removed <= 5);
        removed += purged.removed;
    }
    assert_eq!(removed, 100);
    assert_eq!(all_lapsed(&store, 10).await.len(), 100);
    // And round again.
    let holder = reserve(&store, "a", OnLapse::RunAgain).await;
    world.data.forget(Index::Due);
    world.clock.advance(RETENTION);
    for _ in 0..41 {
        removed += store.purge_expired(1).await.unwrap().removed;
    }
    assert_eq!(removed, 101);
    assert_eq!(world.data.value(&holder.record), None);
}
