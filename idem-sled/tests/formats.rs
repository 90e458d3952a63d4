//! Folders of each format that there was are read, and go on.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idem_core::{
    Answer, Clock as _, IdempotencyStore as _, Inspect as _, ManualClock, OnLapse, Outcome,
    Response,
};
use idem_sled::{SledStore, sled};
use support::large::{assert_whole, blobs, references, trees};
use support::{copy, holder, open_at, request, reserve};
use testkit::Folder;

const HOUR: Duration = Duration::from_secs(3600);

/// At which instant of its clock the golden files were written.
const GOLDEN_AT: u64 = 1_700_000_000_000;

fn golden(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/format-{format}"))
}

/// Since the second format.
fn large() -> Response {
    Response::new(200).body("large ".repeat(1_500))
}

/// What is in them: one record of each kind, and one row of a tree of the user's.
async fn write_golden(folder: &Path) {
    let clock = ManualClock::new();
    clock.advance(Duration::from_millis(GOLDEN_AT));
    let store = open_at(folder, &clock).await;
    reserve(&store, "in flight").await;
    let completed = reserve(&store, "completed").await;
    let answer = Response::new(201).header("x-golden", "yes").body("paid");
    store.complete(&completed, &answer.into()).await.unwrap();
    let with_large = reserve(&store, "large").await;
    store.complete(&with_large, &large().into()).await.unwrap();
    let held = holder(&store, request("held").on_lapse(OnLapse::Hold)).await;
    store.renew(&held, support::terms(), None).await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    store
        .run_in([&rows], request("in one").operation, |[rows], _| {
            rows.insert("row", "1");
            Ok::<_, sled::Error>(Response::new(201).body("in one"))
        })
        .await
        .unwrap();
    drop(rows);
    store.close().await.unwrap();
}

/// The files of this format, as they are before anybody has opened them.
async fn copy_of(format: u32) -> Folder {
    if !golden(format).exists() {
        // Made once, with the release that fixed the format. They are never to be made again.
        let fresh = Folder::new();
        write_golden(fresh.path()).await;
        fs::create_dir_all(golden(format)).unwrap();
        copy(fresh.path(), &golden(format));
        panic!("the golden files were missing, and were written: check them in");
    }
    let folder = Folder::new();
    copy(&golden(format), folder.path());
    fs::create_dir_all(folder.path().join("blobs")).unwrap();
    folder
}

fn format(store: &SledStore) -> sled::IVec {
    let facts = store.db().unwrap().open_tree("idem_facts").unwrap();
    facts.get("format").unwrap().unwrap()
}

async fn is_read_and_goes_on(format_then: u32) {
    let folder = copy_of(format_then).await;
    let clock = ManualClock::new();
    let store = open_at(folder.path(), &clock).await;
    assert_eq!(format(&store), 2_u32.to_be_bytes());
    // The mark is in the files: the injected clock, which is at zero, is behind it.
    let conflict = store.reserve(&request("in flight")).await.unwrap();
    assert!(matches!(
        conflict,
        Outcome::Conflict {
            retry_after: Some(_)
        }
    ));
    let answer = replayed(&store, "completed").await;
    assert_eq!(answer.body_bytes().as_ref(), b"paid");
    assert_eq!(answer.headers()[0].name, "x-golden");
    replayed(&store, "in one").await;
    let rows = store.effect_tree("rows").await.unwrap();
    assert_eq!(rows.tree().get("row").unwrap().unwrap(), b"1");
    let is_large = usize::from(format_then >= 2);
    assert_eq!(assert_whole(&store), is_large);
    if is_large > 0 {
        assert_eq!(replayed(&store, "large").await, large());
    }

    clock.advance(Duration::from_millis(GOLDEN_AT) + HOUR);
    assert_eq!(clock.now().as_millis(), GOLDEN_AT + 3_600_000);
    let lapsed = store.lapsed(None, 10).await.unwrap().records;
    assert_eq!(lapsed.len(), 2, "{lapsed:?}");
    clock.advance(100 * HOUR);
    assert_eq!(
        store.purge_expired(10).await.unwrap().removed,
        3 + is_large,
        "all but the held one"
    );
    assert_eq!(assert_whole(&store), 0);
    reserve(&store, "completed").await;
}

async fn replayed(store: &SledStore, key: &str) -> Response {
    match store.reserve(&request(key)).await.unwrap() {
        Outcome::Replay(replay) => match replay.answer {
            Answer::Full(answer) => answer,
            other => panic!("{key}: {other:?}"),
        },
        other => panic!("{key}: {other:?}"),
    }
}

#[tokio::test]
async fn a_folder_of_the_first_format_is_read_and_goes_on() {
    is_read_and_goes_on(1).await;
}

#[tokio::test]
async fn a_folder_of_the_second_format_is_read_and_goes_on() {
    is_read_and_goes_on(2).await;
}

#[tokio::test]
async fn large_values_that_the_first_format_kept_in_their_records_are_read_and_replaced() {
    let folder = Folder::new();
    let body = |key: u8| Response::new(200).body(vec![key; 300_000]);
    let store = SledStore::open(folder.path()).await.unwrap();
    for key in [b'a', b'b'] {
        let holder = reserve(&store, &char::from(key).to_string()).await;
        store.complete(&holder, &body(key).into()).await.unwrap();
    }
    {
        // As they were written then.
        let (records, large) = trees(&store);
        for (key, (id, _)) in references(&store) {
            let chunks = large.scan_prefix(&id).values().skip(1);
            let chunks: Vec<_> = chunks.map(|chunk| chunk.unwrap().to_vec()).collect();
            records.insert(key, chunks.concat()).unwrap();
        }
        large.clear().unwrap();
        let facts = store.db().unwrap().open_tree("idem_facts").unwrap();
        facts.insert("format", &1_u32.to_be_bytes()).unwrap();
    }
    store.close().await.unwrap();
    assert!(blobs(folder.path()) > 0);

    let clock = ManualClock::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    assert_eq!(format(&store), 2_u32.to_be_bytes());
    assert_eq!(replayed(&store, "a").await, body(b'a'));
    assert_eq!(replayed(&store, "b").await, body(b'b'));
    store.close().await.unwrap();
    clock.advance(Duration::from_secs(4_000_000_000));
    let store = open_at(folder.path(), &clock).await;
    assert_eq!(store.purge_expired(10).await.unwrap().removed, 2);
    let holder = reserve(&store, "a").await;
    store.complete(&holder, &body(b'a').into()).await.unwrap();
    assert_eq!(assert_whole(&store), 1);
}
