//! When the disk fails, when nobody waits for it, what the clock and the index are after a restart.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_core::{Applied, IdempotencyStore as _, Inspect as _, ManualClock, Outcome, Response};
use idem_sled::{Commit, Durability, SledStore};
use support::{LEASE, RETENTION, copy, open_at, request, reserve};
use testkit::Folder;

#[tokio::test]
async fn a_flush_that_fails_closes_the_store_until_it_is_opened_again() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let before = reserve(&store, "before").await;
    // Where sled puts large values: it cannot be read, so nothing can be promised of it.
    fs::remove_dir(folder.path().join("blobs")).unwrap();
    let error = store.reserve(&request("lost")).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    for _ in 0..2 {
        let error = store.reserve(&request("after")).await.unwrap_err();
        assert!(error.to_string().contains("open it again"), "{error}");
        assert_eq!(error.applied(), Applied::No);
        assert!(
            store.get(&before.record).await.is_err(),
            "memory is not the disk"
        );
        assert!(store.flush().await.is_err());
        assert!(store.lapsed(None, 1).await.is_err());
        assert!(store.db().is_err());
    }
    let error = store.close().await.unwrap_err();
    assert!(error.to_string().contains("not be written"), "{error}");
    let store = SledStore::open(folder.path()).await.unwrap();
    assert!(store.get(&before.record).await.unwrap().is_some());
    reserve(&store, "after").await;
}

#[tokio::test]
async fn a_thread_that_panics_in_a_flush_closes_the_store_too() {
    let folder = Folder::new();
    let mut commits = 0;
    let options = SledStore::options(folder.path()).on_commit(move |commit| {
        commits += usize::from(commit == Commit::Flushed);
        if commits > 2 {
            std::panic::resume_unwind(Box::new("planted"));
        }
    });
    let store = options.open().await.unwrap();
    reserve(&store, "k").await;
    let error = store.reserve(&request("lost")).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(store.reserve(&request("k")).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_share_a_flush() {
    let folder = Folder::new();
    let flushes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&flushes);
    let options = SledStore::options(folder.path()).on_commit(move |commit| {
        count.fetch_add(usize::from(commit == Commit::Synced), Ordering::SeqCst);
    });
    let store = options.open().await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..64 {
        let store = store.clone();
        tasks.spawn(async move {
            for number in 0..20 {
                let holder = reserve(&store, &format!("{caller}.{number}")).await;
                store
                    .complete(&holder, &Response::new(201).into())
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
    let flushes = flushes.load(Ordering::SeqCst);
    println!("2560 writes that 64 callers waited for, in {flushes} flushes");
    assert!(flushes < 2560 / 4, "{flushes} flushes");
}

#[tokio::test]
async fn eventual_acknowledges_before_the_disk_and_is_on_it_in_time() {
    let folder = Folder::new();
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    let mut told = told;
    let options = SledStore::options(folder.path())
        .durability(Durability::Eventual {
            within: Duration::from_millis(50),
        })
        .on_commit(move |commit| _ = tell.send(commit));
    let store = options.open().await.unwrap();
    while told.try_recv().is_ok() {}
    let first = reserve(&store, "k").await;
    let killed = Folder::new();
    if told.try_recv().is_err() {
        // No commit has begun: what is acknowledged is not in the files, and that is what it says.
        copy(folder.path(), killed.path());
        if told.try_recv().is_err() {
            let left = SledStore::open(killed.path()).await.unwrap();
            assert_eq!(left.get(&first.record).await.unwrap(), None);
        }
    }
    loop {
        if told.recv().await.unwrap() == Commit::Synced {
            break;
        }
    }
    let killed = Folder::new();
    copy(folder.path(), killed.path());
    let left = SledStore::open(killed.path()).await.unwrap();
    assert_eq!(
        left.get(&first.record).await.unwrap().unwrap().holder,
        first
    );
}

#[tokio::test]
async fn after_a_restart_the_clock_is_where_it_was_although_its_source_is_behind() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    clock.advance(100 * LEASE);
    let store = open_at(folder.path(), &clock).await;
    let first = reserve(&store, "k").await;
    clock.advance(LEASE / 2);
    reserve(&store, "other").await;
    // Killed, and the wall clock set back to the beginning of time.
    let left = Folder::new();
    copy(folder.path(), left.path());
    let set_back = ManualClock::new();
    let store = open_at(left.path(), &set_back).await;
    let conflict = store.reserve(&request("k")).await.unwrap();
    let expected = Outcome::Conflict {
        retry_after: Some(LEASE / 2),
    };
    assert_eq!(
        conflict, expected,
        "half of the lease is over, and stays over"
    );
    // It stands until the source has caught up, and then the lease ends when it would have.
    set_back.advance(100 * LEASE + LEASE / 2);
    assert_eq!(store.reserve(&request("k")).await.unwrap(), expected);
    set_back.advance(LEASE / 2);
    let taken = store.reserve(&request("k")).await.unwrap();
    assert!(
        matches!(taken, Outcome::Reserved { attempt: 2, .. }),
        "{taken:?}"
    );
    // Late, by its own token: it changes nothing.
    let late = store
        .complete(&first, &Response::new(201).into())
        .await
        .unwrap();
    assert_eq!(late, idem_core::Completion::Superseded);
}

#[tokio::test]
async fn by_the_wall_clock_a_lease_is_live_across_a_restart_and_lapses() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    reserve(&store, "k").await;
    let mut short = request("short");
    let millisecond = Duration::from_millis(1);
    short.terms = idem_core::Terms::new(millisecond, RETENTION).unwrap();
    support::holder(&store, short).await;
    store.close().await.unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    let conflict = store.reserve(&request("k")).await.unwrap();
    let Outcome::Conflict {
        retry_after: Some(left),
    } = conflict
    else {
        panic!("{conflict:?}");
    };
    assert!(left <= LEASE);
    loop {
        match store.reserve(&request("short")).await.unwrap() {
            Outcome::Reserved { attempt: 2, .. } => break,
            // The restart took less than a millisecond.
            other => assert!(matches!(other, Outcome::Conflict { .. }), "{other:?}"),
        }
    }
}

/// The kinds of the store's keys, and how many there are of each: records, due, lapse.
fn kinds(store: &SledStore) -> [usize; 3] {
    let records = store.db().unwrap().open_tree("idem_records").unwrap();
    [b"\x01r", b"\x01d", b"\x01l"].map(|prefix| records.scan_prefix(prefix).count())
}

#[tokio::test]
async fn what_lost_its_index_entry_is_found_and_what_has_no_record_goes() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    for number in 0..40 {
        reserve(&store, &format!("{number}")).await;
    }
    let live = {
        clock.advance(RETENTION - LEASE);
        let live = reserve(&store, "live").await;
        clock.advance(LEASE);
        live
    };
    // As after crashes at the worst instants: every entry of the old ones is gone, and some are strays.
    let records = store.db().unwrap().open_tree("idem_records").unwrap();
    for key in records.iter().keys() {
        let key = key.unwrap();
        let is_live = key.ends_with(b"live");
        if !key.starts_with(b"\x01r") && !is_live {
            records.remove(&key).unwrap();
        } else if key.starts_with(b"\x01d") {
            let mut stray = b"\x01d\0\0\0\0\0\0\0\x01".to_vec();
            stray.extend(b"\x05scopestray");
            records.insert(stray, "x").unwrap();
        }
    }
    assert_eq!(kinds(&store), [41, 2, 1]);
    let mut removed = 0;
    for _ in 0..3 {
        removed += store.purge_expired(100).await.unwrap().removed;
    }
    assert_eq!(removed, 40, "32 are looked at in each purge");
    assert_eq!(kinds(&store), [1, 1, 1], "nothing is left of them");
    assert!(store.get(&live.record).await.unwrap().is_some());
    clock.advance(RETENTION);
    assert_eq!(store.purge_expired(100).await.unwrap().removed, 1);
    store.purge_expired(100).await.unwrap();
    assert_eq!(kinds(&store), [0, 0, 0]);
}

#[tokio::test]
async fn killed_after_any_of_many_steps_nothing_is_lost_to_the_index() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    for step in 0..12 {
        let key = format!("{step}");
        let holder = reserve(&store, &key).await;
        match step % 4 {
            0 => drop(
                store
                    .complete(&holder, &Response::new(201).into())
                    .await
                    .unwrap(),
            ),
            1 => drop(store.abandon(&holder).await.unwrap()),
            2 => drop(store.release(&holder).await.unwrap()),
            _ => {}
        }
        let left = Folder::new();
        copy(folder.path(), left.path());
        let later = ManualClock::new();
        let left = open_at(left.path(), &later).await;
        let [records, ..] = kinds(&left);
        assert_eq!(
            records,
            step + 1 - (step + 2) / 4,
            "what was acknowledged is there"
        );
        later.advance(2 * RETENTION);
        assert_eq!(left.purge_expired(100).await.unwrap().removed, records);
        left.purge_expired(100).await.unwrap();
        assert_eq!(kinds(&left), [0, 0, 0]);
    }
}

#[tokio::test]
async fn a_purge_waits_for_the_disk_once_and_is_on_it_then() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let commits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&commits);
    let options = SledStore::options(folder.path())
        .clock(clock.clone())
        .on_commit(move |commit| {
            count.fetch_add(usize::from(commit == Commit::Synced), Ordering::SeqCst);
        });
    let store = options.open().await.unwrap();
    for number in 0..40 {
        let holder = reserve(&store, &format!("{number}")).await;
        let answer = Response::new(201).into();
        store.complete(&holder, &answer).await.unwrap();
    }
    // The entries of their leases go first: a look at these would wait for the disk as well.
    clock.advance(LEASE);
    assert_eq!(store.purge_expired(100).await.unwrap().removed, 0);
    clock.advance(RETENTION);
    let before = commits.load(Ordering::SeqCst);
    assert!(before >= 40, "{before}");
    let purged = store.purge_expired(100).await.unwrap();
    let left = Folder::new();
    copy(folder.path(), left.path());
    let took = commits.load(Ordering::SeqCst) - before;
    assert_eq!(purged.removed, 40);
    // A machine that stops for a second adds one.
    assert!((1..10).contains(&took), "{took} commits");
    assert_eq!(kinds(&open_at(left.path(), &clock).await)[0], 0);
}

#[tokio::test]
async fn a_last_flush_that_fails_is_what_close_says() {
    let folder = Folder::new();
    let hour = Duration::from_secs(3600);
    let options = SledStore::options(folder.path());
    let eventual = options.durability(Durability::Eventual { within: hour });
    let store = eventual.open().await.unwrap();
    reserve(&store, "k").await;
    fs::remove_dir(folder.path().join("blobs")).unwrap();
    let error = store.close().await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown);
    assert!(error.to_string().contains("not be written"), "{error}");
    let again = store.close().await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
}
