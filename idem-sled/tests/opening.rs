//! Opening: what it refuses, what it clears away, what it leaves alone.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::fs;
use std::path::Path;

use idem_core::{Answer, IdempotencyStore as _, Inspect as _};
use idem_sled::{OpenError, SledStore, sled};
use support::{request, reserve};
use testkit::Folder;

#[tokio::test]
async fn a_second_store_on_the_folder_is_refused_and_the_first_goes_on() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let refused = SledStore::open(folder.path()).await;
    assert!(matches!(refused, Err(OpenError::Locked)), "{refused:?}");
    reserve(&store, "k").await;
    store.close().await.unwrap();
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
    store.close().await.unwrap();
    store.close().await.unwrap();
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
    let store = SledStore::open(folder.path()).await.unwrap();
    store.close().await.unwrap();
    with_facts(folder.path(), |facts| {
        facts.insert("format", &7_u32.to_be_bytes()).unwrap();
    });
    for _ in 0..2 {
        let refused = SledStore::open(folder.path()).await.unwrap_err();
        assert!(matches!(
            refused,
            OpenError::NewerFormat { found: 7, known: 2 }
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
        let store = SledStore::open(folder.path()).await.unwrap();
        store.close().await.unwrap();
        with_facts(folder.path(), |facts| {
            facts.insert(key, value).unwrap();
        });
        let refused = SledStore::open(folder.path()).await.unwrap_err();
        assert!(matches!(refused, OpenError::Damaged(_)), "{refused:?}");
    }
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    reserve(&store, "k").await;
    store.close().await.unwrap();
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
    store.close().await.unwrap();
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

#[tokio::test]
async fn what_cannot_be_read_is_an_error_and_nothing_is_touched() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let kept = reserve(&store, "k").await;
    store.close().await.unwrap();
    let half_written = folder.path().join("snap.7FFFFFFFFFFFFFFF.generating");
    fs::write(&half_written, "half").unwrap();
    let before = fs::read(folder.path().join("db")).unwrap();
    // Not even root can read a folder as a file.
    for unreadable in ["blobs/17", "snap.0000000000000001"] {
        let unreadable = folder.path().join(unreadable);
        fs::create_dir(&unreadable).unwrap();
        let refused = SledStore::open(folder.path()).await;
        let Err(OpenError::Io(error)) = refused else {
            panic!("{refused:?}");
        };
        assert!(error.to_string().contains("cannot be read"), "{error}");
        assert_eq!(fs::read(folder.path().join("db")).unwrap(), before);
        assert!(half_written.exists());
        fs::remove_dir(&unreadable).unwrap();
    }
    let store = SledStore::open(folder.path()).await.unwrap();
    assert!(!half_written.exists());
    assert!(store.get(&kept.record).await.unwrap().is_some());
}
