//! A record that cannot be read: an error for its key, never vacant (known fault B36).

use std::time::Duration;

use super::{LEASE, RETENTION, World, all_lapsed, purge_all, record, request, reserve, terms};
use crate::cas::index::Index;
use crate::cas::keys::record_key;
use crate::{Applied, IdempotencyStore, Inspect, OnLapse, Response};

/// Cut short, of a later format, empty, and not ours at all.
fn damages(good: &[u8]) -> [Vec<u8>; 4] {
    let mut later = good.to_vec();
    later[0] = 99;
    [
        good[..good.len() - 1].to_vec(),
        later,
        Vec::new(),
        b"None".to_vec(),
    ]
}

async fn damaged<const ORDERED: bool>(which: usize) {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let holder = reserve(&store, "bad", OnLapse::RunAgain).await;
    let good = world.data.value(&holder.record).unwrap();
    let bad = damages(&good)[which].clone();
    world.data.put(&record_key(&holder.record), &bad);
    let neighbour = reserve(&store, "good", OnLapse::RunAgain).await;

    let answer = Response::new(201).into();
    let errors = [
        store.reserve(&request("bad")).await.unwrap_err(),
        store.complete(&holder, &answer).await.unwrap_err(),
        store.renew(&holder, terms(), None).await.unwrap_err(),
        store.abandon(&holder).await.unwrap_err(),
        store.release(&holder).await.unwrap_err(),
        store.get(&holder.record).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_corrupt() && !error.is_transient(), "{error:?}");
        assert_eq!(error.applied(), Applied::No);
    }

    // Whoever walks passes over it, however often it is met, and leaves it as it is.
    world.clock.advance(LEASE);
    let listed = all_lapsed(&store, 1).await;
    let listed: Vec<_> = listed.iter().map(|info| &info.operation.record).collect();
    assert_eq!(listed, [&neighbour.record]);
    // Only while it cannot be read: nothing that it stands in was given up.
    world.data.put(&record_key(&holder.record), &good);
    let listed = all_lapsed(&store, 1).await;
    assert_eq!(listed.len(), 2);
    world.data.put(&record_key(&holder.record), &bad);

    world.clock.advance(RETENTION);
    assert_eq!(purge_all(&store).await, 1);
    assert_eq!(world.data.value(&record("good")), None);
    assert_eq!(world.data.value(&record("bad")), Some(bad));

    // Read again, as by the version that wrote it, it leaves like any other.
    world.data.put(&record_key(&record("bad")), &good);
    world.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(purge_all(&store).await, 1);
    assert_eq!(world.data.records(), []);
}

#[tokio::test]
async fn b36_a_damaged_record_is_an_error_for_its_key_and_stops_nobody_else() {
    for which in 0..4 {
        damaged::<true>(which).await;
        damaged::<false>(which).await;
    }
}

#[tokio::test]
async fn many_damaged_records_do_not_stand_in_the_way_of_a_purge() {
    let world = World::<true>::default();
    let store = world.store();
    for n in 0..1_500 {
        let holder = reserve(&store, format!("{n:04}"), OnLapse::RunAgain).await;
        world.data.put(&record_key(&holder.record), b"?");
    }
    world.clock.advance(Duration::from_millis(1));
    reserve(&store, "good", OnLapse::RunAgain).await;
    world.clock.advance(RETENTION);
    // 1024 stale entries a call, and the rest with the next one.
    let first = store.purge_expired(1).await.unwrap();
    assert!(first.more);
    let second = store.purge_expired(1).await.unwrap();
    assert_eq!((first.removed + second.removed, second.more), (1, false));
}

#[tokio::test]
async fn keys_of_another_make_are_passed_over() {
    let world = World::<true>::default();
    let store = world.store();
    let mut foreign = Index::Due.start();
    foreign.extend(b"?");
    world.data.put(&foreign, b"");
    world.data.put(b"\x00", b"");
    world.data.put(b"\x01r\xff", b"");
    world.data.put(b"\x02r\x01ab", b"");
    reserve(&store, "k", OnLapse::RunAgain).await;
    world.clock.advance(LEASE);
    assert_eq!(all_lapsed(&store, 10).await.len(), 1);
    world.clock.advance(RETENTION);
    assert_eq!(purge_all(&store).await, 1);
}
