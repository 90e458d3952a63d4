//! Large values: in chunks, none of them in a file of sled's own, and none left over.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_core::{
    Answer, Completion, Condition, Executed, Holder, IdempotencyStore as _, Inspect as _,
    ManualClock, Outcome, Progress, Recorded, Response, Update,
};
use idem_sled::{RunInError, SledStore, sled};
use support::large::{assert_whole, blobs, chunks, references, trees};
use support::{RETENTION, copy, open_at, operation, request, reserve, terms};
use testkit::Folder;

/// Different for each, so that no two can be taken for one another.
fn response(key: &str, size: usize) -> Response {
    let body = key.bytes().cycle().zip(0_u32..);
    let body: Vec<_> = body
        .map(|(byte, at)| byte ^ (at / 251) as u8)
        .take(size)
        .collect();
    Response::new(201)
        .header("x-key", key.to_owned())
        .body(body)
}

fn answer(key: &str, size: usize) -> Answer {
    response(key, size).into()
}

async fn complete(store: &SledStore, key: &str, size: usize) -> Holder {
    let holder = reserve(store, key).await;
    let completed = store.complete(&holder, &answer(key, size)).await.unwrap();
    assert!(matches!(completed, Completion::Completed { .. }));
    holder
}

async fn assert_replays(store: &SledStore, key: &str, size: usize) {
    match store.reserve(&request(key)).await.unwrap() {
        Outcome::Replay(replay) => assert!(replay.answer == answer(key, size), "{key}"),
        other => panic!("{key}: {other:?}"),
    }
}

/// Around every border that there is, and far beyond what sled keeps in one file.
const SIZES: [usize; 12] = [
    1_500,
    2_100,
    4_000,
    4_096,
    8_192,
    8_200,
    65_536,
    131_072,
    150_000,
    300_000,
    700_000,
    1 << 20,
];

#[tokio::test]
async fn none_is_in_a_file_of_its_own_and_each_comes_back_whole() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    for size in SIZES {
        complete(&store, &format!("{size}"), size).await;
    }
    // Many of the size that just fits into the record, and of keys as long as they may be.
    for number in 0..40 {
        let key = format!("{number:0>255}");
        complete(&store, &key, 1_400).await;
    }
    assert_eq!(blobs(folder.path()), 0);
    assert_eq!(assert_whole(&store), SIZES.len() - 1);
    let killed = Folder::new();
    copy(folder.path(), killed.path());
    let store = open_at(killed.path(), &clock).await;
    for size in SIZES {
        assert_replays(&store, &format!("{size}"), size).await;
    }
    assert_eq!(blobs(killed.path()), 0);
    clock.advance(RETENTION);
    let purged = store.purge_expired(100).await.unwrap();
    assert_eq!((purged.removed, purged.more), (SIZES.len() + 40, false));
    assert!(chunks(&store).is_empty());
    store.close().await.unwrap();
    assert_eq!(blobs(killed.path()), 0);
}

#[tokio::test]
async fn what_is_replaced_released_or_lost_leaves_nothing() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let holder = reserve(&store, "k").await;
    for round in 0..3 {
        let progress = Progress::new(vec![round; 60_000]).unwrap();
        store
            .renew(&holder, terms(), Some(&progress))
            .await
            .unwrap();
        assert_eq!(assert_whole(&store), 1);
    }
    store
        .complete(&holder, &answer("k", 100_000))
        .await
        .unwrap();
    assert_eq!(assert_whole(&store), 1);
    let again = store.complete(&holder, &answer("k", 90_000)).await.unwrap();
    assert!(matches!(again, Completion::AlreadyCompleted(_)));
    assert_eq!(assert_whole(&store), 1);

    let released = reserve(&store, "released").await;
    let progress = Progress::new(vec![7; 60_000]).unwrap();
    store
        .renew(&released, terms(), Some(&progress))
        .await
        .unwrap();
    store.release(&released).await.unwrap();
    assert_eq!(assert_whole(&store), 1);
    assert_replays(&store, "k", 100_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_swap_at_once_the_losers_leave_nothing_and_readers_see_whole_values() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let holder = Arc::new(reserve(&store, "k").await);
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..6_u8 {
        let (store, holder) = (store.clone(), Arc::clone(&holder));
        tasks.spawn(async move {
            for round in 0..20 {
                let size = 3_000 + 1_000 * usize::from(writer) + round;
                let progress = Progress::new(vec![writer; size]).unwrap();
                let renewed = store
                    .renew(&holder, terms(), Some(&progress))
                    .await
                    .unwrap();
                assert_eq!(renewed, Update::Done);
            }
        });
    }
    for _ in 0..4 {
        let (store, holder) = (store.clone(), Arc::clone(&holder));
        tasks.spawn(async move {
            for _ in 0..60 {
                let info = store.get(&holder.record).await.unwrap();
                assert_eq!(info.unwrap().holder, *holder);
                store.purge_expired(1).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(assert_whole(&store), 1);
    store.abandon(&holder).await.unwrap();
    let taken = store.reserve(&request("k")).await.unwrap();
    let Outcome::Reserved {
        progress: Some(progress),
        ..
    } = taken
    else {
        panic!("{taken:?}");
    };
    let progress = progress.as_bytes();
    assert!(
        progress.iter().all(|byte| *byte == progress[0]),
        "one writer's"
    );
}

#[tokio::test]
async fn transactions_keep_them_the_same_way() {
    let folder = Folder::new();
    // So little that nothing stays in memory.
    let options = SledStore::options(folder.path()).cache_capacity(1);
    let store = options.open().await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    for round in 0..3 {
        let key = format!("in one {round}");
        let run = {
            let key = key.clone();
            store.run_in([&rows], operation(&key.clone()), move |[rows], _| {
                rows.insert(key.as_str(), "150.00");
                Ok::<_, sled::Error>(response(&key, 900_000))
            })
        };
        let ran = run.await.unwrap();
        let completed = matches!(
            ran,
            Executed::Ran {
                recorded: Recorded::Completed { .. },
                ..
            }
        );
        assert!(completed);
        assert_replays(&store, &key, 900_000).await;
        let again = store.run_in([&rows], operation(&key), |_, _| {
            Err::<Response, _>("it ran again")
        });
        assert!(matches!(again.await.unwrap(), Executed::Replayed(_)));
    }
    let held = reserve(&store, "held").await;
    let progress = Progress::new(vec![7; 60_000]).unwrap();
    store.renew(&held, terms(), Some(&progress)).await.unwrap();
    assert_eq!(assert_whole(&store), 4);
    let completing = store.complete_held_in([&rows], &held, answer("held", 200_000), |[rows]| {
        rows.insert("held", "150.00");
        Ok::<_, sled::Error>(())
    });
    completing.await.unwrap();
    assert_replays(&store, "held", 200_000).await;
    assert_eq!(assert_whole(&store), 4);
    assert_eq!((blobs(folder.path()), rows.tree().len()), (0, 4));
}

#[tokio::test]
async fn what_a_crash_left_without_a_record_is_removed_when_it_is_opened_and_nothing_else() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    complete(&store, "live", 50_000).await;
    complete(&store, "replaced", 50_000).await;
    complete(&store, "headless", 50_000).await;
    {
        let (records, large) = trees(&store);
        let key = |key: &str| {
            let keys: Vec<_> = references(&store).into_keys().collect();
            keys.into_iter()
                .find(|at| at.ends_with(key.as_bytes()))
                .unwrap()
        };
        // Before the swap; before it, of a record that never was; after it; in the middle of the removal.
        for (number, record, chunks) in [
            (1, key("live"), 4),
            (2, b"\x01r\x05scopenone".to_vec(), 2),
            (3, key("replaced"), 0),
        ] {
            for chunk in 0..=chunks {
                let chunk = u32::to_be_bytes(chunk);
                let id = [[number; 16].as_slice(), &chunk].concat();
                let value = if chunk == [0; 4] {
                    record.clone()
                } else {
                    vec![7; 4096]
                };
                large.insert(id, value).unwrap();
            }
        }
        records
            .insert(key("replaced"), records.get(key("live")).unwrap().unwrap())
            .unwrap();
        // Half of a transaction that failed, without the head: orphan, and live.
        large
            .insert([[4; 16].as_slice(), &[0, 0, 0, 3]].concat(), "chunk")
            .unwrap();
        let (id, _) = references(&store)[&key("headless")].clone();
        large.remove([id.as_slice(), &[0; 4]].concat()).unwrap();
        assert_eq!(chunks(&store).len(), 7);
    }
    store.close().await.unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    let left = chunks(&store);
    let live: Vec<_> = references(&store).into_values().map(|(id, _)| id).collect();
    assert_eq!((left.len(), live.len()), (2, 3), "two records share one");
    assert!(live.iter().all(|id| left.contains_key(id)));
    assert_replays(&store, "live", 50_000).await;
    assert_replays(&store, "headless", 50_000).await;
}

#[tokio::test]
async fn a_missing_chunk_is_an_error_for_its_key_and_never_vacant() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    complete(&store, "whole", 50_000).await;
    let holder = complete(&store, "damaged", 50_000).await;
    let (key, (id, _)) = references(&store).pop_first().unwrap();
    assert!(key.ends_with(b"damaged"));
    trees(&store)
        .1
        .remove([id.as_slice(), &[0, 0, 0, 5]].concat())
        .unwrap();
    store.close().await.unwrap();
    let store = open_at(folder.path(), &clock).await;
    assert_eq!(
        chunks(&store)[&id],
        13,
        "it is left as it is: {:?}",
        chunks(&store)
    );

    let error = store.reserve(&request("damaged")).await.unwrap_err();
    assert!(error.is_corrupt(), "{error:?}");
    assert!(store.get(&holder.record).await.unwrap_err().is_corrupt());
    let late = store.complete(&holder, &answer("damaged", 10)).await;
    assert!(late.unwrap_err().is_corrupt());
    let run = store.run_in([], operation("damaged"), |_, _| {
        Ok::<_, sled::Error>(Response::new(201))
    });
    match run.await {
        Err(RunInError::Store(error)) => assert!(error.is_corrupt(), "{error:?}"),
        other => panic!("{other:?}"),
    }
    assert_replays(&store, "whole", 50_000).await;
    clock.advance(RETENTION + Duration::from_secs(1));
    for _ in 0..2 {
        store.purge_expired(10).await.unwrap();
    }
    assert!(store.get(&holder.record).await.unwrap_err().is_corrupt());
    assert_eq!(chunks(&store).len(), 1, "the whole one is purged");
    store.lapsed(None, 10).await.unwrap();
}

/// The log comes back up to some place: wherever that is, a record has all of its chunks, and no chunk is without.
#[tokio::test]
async fn wherever_the_log_ends_values_are_whole() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    let rows = store.effect_tree("rows").await.unwrap();
    let holder = reserve(&store, "k").await;
    for round in 0..2 {
        let progress = Progress::new(vec![round; 40_000]).unwrap();
        store
            .renew(&holder, terms(), Some(&progress))
            .await
            .unwrap();
    }
    store.complete(&holder, &answer("k", 60_000)).await.unwrap();
    let run = store.run_in([&rows], operation("in one"), |[rows], _| {
        rows.insert("row", "150.00");
        Ok::<_, sled::Error>(response("in one", 50_000))
    });
    run.await.unwrap();
    let log = folder.path().join("db");
    let whole = std::fs::metadata(&log).unwrap().len();
    let mut found = std::collections::BTreeMap::new();
    const CUTS: u64 = 40;
    for cut in 1..=CUTS {
        let left = Folder::new();
        copy(folder.path(), left.path());
        let log = std::fs::File::options()
            .write(true)
            .open(left.path().join("db"));
        log.unwrap().set_len(whole * cut / CUTS).unwrap();
        let store = open_at(left.path(), &clock).await;
        let state = match store.get(&holder.record).await.unwrap() {
            None => "nothing",
            Some(info) if matches!(info.condition, Condition::Completed { .. }) => "completed",
            Some(_) => "in flight",
        };
        let large = assert_whole(&store);
        let rows = store.effect_tree("rows").await.unwrap().tree().len();
        *found.entry((state, large, rows)).or_insert(0) += 1;
        if state == "completed" {
            assert_replays(&store, "k", 60_000).await;
        }
    }
    println!("{whole} bytes: {found:?}");
    for expected in [
        ("in flight", 1, 0),
        ("completed", 1, 0),
        ("completed", 2, 1),
    ] {
        assert!(found.contains_key(&expected), "{expected:?}");
    }
}
