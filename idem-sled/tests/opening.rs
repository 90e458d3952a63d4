//! Opening: what it refuses, what it clears away, what it reads of earlier releases.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idem_core::{
    Answer, Clock as _, IdempotencyStore as _, Inspect as _, ManualClock, OnLapse, Outcome,
};
use idem_sled::{OpenError, SledStore, sled};
use support::{copy, holder, open_at, request, reserve};
use testkit::Folder;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_second_store_on_the_folder_is_refused_and_the_first_goes_on() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let refused = SledStore::open(folder.path()).await;
    assert!(matches!(refused, Err(OpenError::Locked)), "{refused:?}");
    reserve(&store, "k").await;
    store.close().await;
    SledStore::open(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_sled_has_open_is_refused() {
    let folder = Folder::new();
    let db = sled::open(folder.path()).unwrap();
    let refused = SledStore::open(folder.path()).await;
    assert!(matches!(refused, Err(OpenError::Locked)), "{refused:?}");
    drop(db);
}

#[tokio::test]
async fn a_closed_store_refuses_every_call_and_says_so() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let clone = store.clone();
    store.close().await;
    store.close().await;
    let error = clone.reserve(&request("k")).await.unwrap_err();
    assert_eq!(error.to_string(), "the store is closed");
    assert!(!error.is_transient());
    assert!(clone.flush().await.is_err() && clone.db().is_err());
    assert!(clone.purge_expired(1).await.is_err());
}

/// Changes the tree of the store's own facts, past the store.
fn with_facts(folder: &Path, change: impl FnOnce(&sled::Tree)) {
    let db = sled::open(folder).unwrap();
    change(&db.open_tree("idem_facts").unwrap());
    db.flush().unwrap();
}

#[tokio::test]
async fn a_newer_format_is_refused_and_left_alone() {
    let folder = Folder::new();
    SledStore::open(folder.path()).await.unwrap().close().await;
    with_facts(folder.path(), |facts| {
        facts.insert("format", &7_u32.to_be_bytes()).unwrap();
    });
    for _ in 0..2 {
        let refused = SledStore::open(folder.path()).await.unwrap_err();
        assert!(matches!(
            refused,
            OpenError::NewerFormat { found: 7, known: 1 }
        ));
        assert!(refused.to_string().contains("format 7"), "{refused}");
    }
}

#[tokio::test]
async fn facts_that_make_no_sense_are_damage() {
    for (key, value) in [
        ("format", &b"\0\0\0\0"[..]),
        ("format", b"1"),
        ("clock", b"now"),
    ] {
        let folder = Folder::new();
        SledStore::open(folder.path()).await.unwrap().close().await;
        with_facts(folder.path(), |facts| {
            facts.insert(key, value).unwrap();
        });
        let refused = SledStore::open(folder.path()).await.unwrap_err();
        assert!(matches!(refused, OpenError::Damaged(_)), "{refused:?}");
    }
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    reserve(&store, "k").await;
    store.close().await;
    with_facts(folder.path(), |facts| {
        facts.remove("format").unwrap();
    });
    let refused = SledStore::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Damaged(_)), "{refused:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_of_the_system() {
    let folder = Folder::new();
    fs::write(folder.path().join("file"), "").unwrap();
    let refused = SledStore::open(folder.path().join("file/store")).await;
    assert!(matches!(refused, Err(OpenError::Io(_))), "{refused:?}");
}

#[tokio::test]
async fn an_unfinished_snapshot_and_half_a_configuration_are_cleared_away() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let token = reserve(&store, "k").await;
    store.close().await;
    let torn = folder.path().join("snap.7FFFFFFFFFFFFFFF.generating");
    fs::write(&torn, "half").unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    assert!(!torn.exists());
    assert_eq!(
        store.get(&token.record).await.unwrap().unwrap().holder,
        token
    );

    let fresh = Folder::new();
    fs::write(fresh.path().join("conf"), "segment_size: 524288\nuse_compr").unwrap();
    SledStore::open(fresh.path()).await.unwrap();
}

#[tokio::test]
async fn a_damaged_record_is_an_error_for_its_key_and_never_vacant() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let damaged = reserve(&store, "damaged").await;
    let whole = reserve(&store, "whole").await;
    let db = store.db().unwrap();
    let records = db.open_tree("idem_records").unwrap();
    for pair in records.iter() {
        let (key, value) = pair.unwrap();
        if key.starts_with(b"\x01r") && key.ends_with(b"damaged") {
            records.insert(key, &value[..value.len() / 2]).unwrap();
        }
    }
    let error = store.reserve(&request("damaged")).await.unwrap_err();
    assert!(
        error.is_corrupt() && !error.to_string().contains("damaged"),
        "{error:?}"
    );
    let answer = Answer::from(idem_core::Response::new(201));
    assert!(
        store
            .complete(&damaged, &answer)
            .await
            .unwrap_err()
            .is_corrupt()
    );
    assert!(store.get(&damaged.record).await.unwrap_err().is_corrupt());
    let in_transaction = store
        .run_in([], request("damaged").operation, |[], _| {
            Ok::<_, sled::Error>(idem_core::Response::new(201))
        })
        .await;
    let Err(idem_sled::RunInError::Store(error)) = in_transaction else {
        panic!("{in_transaction:?}");
    };
    assert!(error.is_corrupt());
    assert!(store.get(&whole.record).await.unwrap().is_some());
    store.purge_expired(10).await.unwrap();
    assert!(store.get(&damaged.record).await.unwrap_err().is_corrupt());
}

/// At which instant of its clock the golden files were written.
const GOLDEN_AT: u64 = 1_700_000_000_000;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1")
}

/// What is in them: one record of each kind, and one row of a tree of the user's.
async fn write_golden(folder: &Path) {
    let clock = ManualClock::new();
    clock.advance(Duration::from_millis(GOLDEN_AT));
    let store = open_at(folder, &clock).await;
    reserve(&store, "in flight").await;
    let completed = reserve(&store, "completed").await;
    let answer = idem_core::Response::new(201)
        .header("x-golden", "yes")
        .body("paid");
    store.complete(&completed, &answer.into()).await.unwrap();
    let held = holder(&store, request("held").on_lapse(OnLapse::Hold)).await;
    store.renew(&held, support::terms(), None).await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    store
        .run_in([&rows], request("in one").operation, |[rows], _| {
            rows.insert("row", "1");
            Ok::<_, sled::Error>(idem_core::Response::new(201).body("in one"))
        })
        .await
        .unwrap();
    drop(rows);
    store.close().await;
}

#[tokio::test]
async fn a_folder_of_the_first_format_is_read_and_goes_on() {
    if !golden().exists() {
        // Made once, with the release that fixed the format. They are never to be made again.
        let fresh = Folder::new();
        write_golden(fresh.path()).await;
        fs::create_dir_all(golden()).unwrap();
        copy(fresh.path(), &golden());
        panic!("the golden files were missing, and were written: check them in");
    }
    let folder = Folder::new();
    copy(&golden(), folder.path());
    fs::create_dir_all(folder.path().join("blobs")).unwrap();
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    // The mark is in the files: the injected clock, which is at zero, is behind it.
    let conflict = store.reserve(&request("in flight")).await.unwrap();
    assert!(matches!(
        conflict,
        Outcome::Conflict {
            retry_after: Some(_)
        }
    ));
    let Outcome::Replay(replay) = store.reserve(&request("completed")).await.unwrap() else {
        panic!("not completed");
    };
    let Answer::Full(answer) = &replay.answer else {
        panic!("{replay:?}");
    };
    assert_eq!(answer.body_bytes().as_ref(), b"paid");
    assert_eq!(answer.headers()[0].name, "x-golden");
    let one = store.reserve(&request("in one")).await.unwrap();
    assert!(matches!(one, Outcome::Replay(_)), "{one:?}");
    let rows = store.effect_tree("rows").await.unwrap();
    assert_eq!(rows.tree().get("row").unwrap().unwrap(), b"1");

    clock.advance(Duration::from_millis(GOLDEN_AT) + HOUR);
    assert_eq!(clock.now().as_millis(), GOLDEN_AT + 3_600_000);
    let lapsed = store.lapsed(None, 10).await.unwrap().records;
    assert_eq!(lapsed.len(), 2, "{lapsed:?}");
    clock.advance(100 * HOUR);
    assert_eq!(
        store.purge_expired(10).await.unwrap().removed,
        3,
        "all but the held one"
    );
    reserve(&store, "completed").await;
}
