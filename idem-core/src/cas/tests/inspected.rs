//! Purging and listing: laws P1 and P2.

use super::{
    LEASE, MS, RETENTION, World, all_lapsed, completed, purge_all, record, reserve, terms,
};
use crate::cas::index::Index;
use crate::cas::keys::record_key;
use crate::{Condition, Cursor, IdempotencyStore, Inspect, OnLapse, Purged, RecordInfo, Response};

fn names(list: &[RecordInfo]) -> Vec<&str> {
    list.iter()
        .map(|info| info.operation.record.key.as_str())
        .collect()
}

async fn purged_in_pieces<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    for n in 0..25 {
        completed(&store, format!("{n}")).await;
    }
    let purge = async |limit| {
        let Purged { removed, more } = store.purge_expired(limit).await.unwrap();
        (removed, more)
    };
    assert_eq!(purge(10).await, (0, false));
    world.clock.advance(RETENTION - MS);
    assert_eq!(purge(10).await, (0, false));
    world.clock.advance(MS);
    assert_eq!(purge(0).await, (0, true));
    assert_eq!(purge(10).await, (10, true));
    assert_eq!(purge(10).await, (10, true));
    assert_eq!(purge(10).await, (5, false));
    assert_eq!(world.data.records(), []);
    for index in [Index::Due, Index::Lapse] {
        assert_eq!(world.data.entries(index), []);
    }
}

#[tokio::test]
async fn p1_purge_removes_at_most_its_limit_and_says_whether_more_are_left() {
    purged_in_pieces::<true>().await;
    purged_in_pieces::<false>().await;
}

async fn unresolved_stay<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let holder = reserve(&store, "k", OnLapse::Hold).await;
    store.renew(&holder, terms(), None).await.unwrap();
    world.clock.advance(RETENTION * 1_000);
    assert_eq!(purge_all(&store).await, 0);
    let info = store.get(&record("k")).await.unwrap().unwrap();
    assert!(matches!(info.condition, Condition::Unresolved { .. }));
    assert_eq!(all_lapsed(&store, 1).await, [info]);
    // Its entry is gone by now; once it is settled it must be able to leave.
    let answer = Response::new(201).into();
    store.complete(&holder, &answer).await.unwrap();
    if ORDERED {
        world.data.check();
    }
    world.clock.advance(RETENTION);
    assert_eq!(purge_all(&store).await, 1);
}

#[tokio::test]
async fn p1_an_unresolved_record_stays_until_it_is_settled() {
    unresolved_stay::<true>().await;
    unresolved_stay::<false>().await;
}

async fn listed_in_order<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let mut expected = Vec::new();
    // Named so that neither the order of names nor that of writing is the order of leases.
    let first = reserve(&store, "z", OnLapse::RunAgain).await;
    for n in 0..17 {
        reserve(&store, format!("{}", n * 7 % 17), OnLapse::RunAgain).await;
        expected.push(format!("{}", n * 7 % 17));
        world.clock.advance(MS);
    }
    store.renew(&first, terms(), None).await.unwrap();
    expected.push("z".into());
    world.clock.advance(LEASE + MS);
    let abandoned = reserve(&store, "abandoned", OnLapse::RunAgain).await;
    store.abandon(&abandoned).await.unwrap();
    expected.push("abandoned".into());
    reserve(&store, "live", OnLapse::RunAgain).await;
    completed(&store, "done".into()).await;

    for limit in [1, 2, 5, 18, 19, 100] {
        let found = all_lapsed(&store, limit).await;
        assert_eq!(names(&found), expected, "pages of {limit}");
        assert!(matches!(found[0].condition, Condition::Lapsed { .. }));
        assert!(matches!(found[18].condition, Condition::Abandoned { .. }));
    }
}

#[tokio::test]
async fn p2_lapsed_pages_through_all_that_lapsed_oldest_first() {
    listed_in_order::<true>().await;
    listed_in_order::<false>().await;
}

async fn renewed_during_a_walk<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let first = reserve(&store, "first", OnLapse::RunAgain).await;
    world.clock.advance(MS);
    reserve(&store, "second", OnLapse::RunAgain).await;
    world.clock.advance(MS);
    reserve(&store, "third", OnLapse::RunAgain).await;
    world.clock.advance(LEASE);

    let page = store.lapsed(None, 1).await.unwrap();
    assert_eq!(names(&page.records), ["first"]);
    store.renew(&first, terms(), None).await.unwrap();
    world.clock.advance(LEASE);
    store.purge_expired(1).await.unwrap();
    // It has lapsed again, later than the others, and is listed so; this walk has shown it.
    let page = store.lapsed(page.next.as_ref(), 1).await.unwrap();
    assert_eq!(names(&page.records), ["second"]);
    let page = store.lapsed(page.next.as_ref(), 10).await.unwrap();
    assert_eq!(names(&page.records), ["third"]);
    assert_eq!(page.next, None);
    let again = all_lapsed(&store, 10).await;
    assert_eq!(names(&again), ["second", "third", "first"]);
}

#[tokio::test]
async fn p2_no_record_is_listed_twice_in_a_walk() {
    renewed_during_a_walk::<true>().await;
    renewed_during_a_walk::<false>().await;
}

#[tokio::test]
async fn p2_what_lapsed_before_its_entry_is_listed_once() {
    let world = World::<true>::default();
    let store = world.store();
    // A shorter lease than its entry knows of, as after a crash of the abandoning process.
    let holder = reserve(&store, "k", OnLapse::RunAgain).await;
    world.clock.advance(MS);
    let before = world.data.entries(Index::Lapse);
    store.abandon(&holder).await.unwrap();
    let abandoned = world.data.value(&holder.record).unwrap();
    assert_eq!(names(&all_lapsed(&store, 1).await), ["k"], "at once");
    world.data.forget(Index::Lapse);
    for (at, id) in before {
        world.data.put(&Index::Lapse.entry_key(at, &id), b"");
    }
    assert_eq!(all_lapsed(&store, 1).await, []);
    world.clock.advance(LEASE);
    for _ in 0..2 {
        assert_eq!(names(&all_lapsed(&store, 1).await), ["k"]);
    }
    assert_eq!(world.data.value(&holder.record).unwrap(), abandoned);
    assert_eq!(world.data.entries(Index::Lapse).len(), 1);
}

async fn expired_is_absent<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let holder = reserve(&store, "k", OnLapse::RunAgain).await;
    world.clock.advance(RETENTION);
    assert_eq!(store.get(&holder.record).await.unwrap(), None);
    assert_eq!(store.lapsed(None, 10).await.unwrap().records, []);
    assert!(world.data.value(&holder.record).is_some(), "not purged yet");
}

#[tokio::test]
async fn p2_an_expired_record_is_absent() {
    expired_is_absent::<true>().await;
    expired_is_absent::<false>().await;
}

#[tokio::test]
async fn a_cursor_of_another_store_is_an_error_and_not_a_panic() {
    let world = World::<true>::default();
    let store = world.store();
    let mut of_due = vec![0; 8];
    of_due.extend(Index::Due.entry_key(Default::default(), &record("k")));
    let mut of_record = vec![0; 8];
    of_record.extend(record_key(&record("k")));
    let bad = [
        &b""[..],
        b"short",
        b"12345678",
        b"12345678\x01l",
        b"12345678\x01l87654321\x05abc",
        &of_due,
        &of_record,
    ];
    for bytes in bad {
        let cursor = Cursor::from_bytes(bytes);
        let error = store.lapsed(Some(&cursor), 10).await.unwrap_err();
        assert!(error.is_invalid());
    }
}
