//! Something hangs in sled: nobody waits for it for ever. Alone, since everything that calls sled in this process
//! waits meanwhile.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use idem_core::{Applied, IdempotencyStore as _, Response};
use idem_sled::{RunInError, SledStore, sled};
use support::{operation, request};
use testkit::Folder;

/// Here it is a handler that hangs, behind which everything in sled waits; a disk does the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_hangs_ends_every_call_also_those_that_hang_elsewhere() {
    let folder = Folder::new();
    let is_armed = Arc::new(AtomicBool::new(false));
    let (reach, mut reached) = tokio::sync::mpsc::unbounded_channel();
    let (begun, has_begun) = mpsc::channel();
    let options = SledStore::options(folder.path())
        .commit_limit(Duration::from_millis(300))
        .on_commit({
            let is_armed = Arc::clone(&is_armed);
            move |_| {
                if is_armed.swap(false, Ordering::SeqCst) {
                    reach.send(()).unwrap();
                    has_begun.recv().unwrap();
                }
            }
        });
    let store = options.open().await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    is_armed.store(true, Ordering::SeqCst);
    let waits = {
        let store = store.clone();
        tokio::spawn(async move { store.reserve(&request("waits")).await })
    };
    reached.recv().await.unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let hangs = {
        let store = store.clone();
        tokio::spawn(async move {
            let run = store.run_in([&rows], operation("hangs"), move |_, _| {
                begun.send(()).unwrap();
                let _ = wait.lock().unwrap().recv();
                Ok::<_, sled::Error>(Response::new(201))
            });
            run.await
        })
    };
    let error = waits.await.unwrap().unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    match hangs.await.unwrap() {
        Err(RunInError::Store(error)) => assert_eq!(error.applied(), Applied::Unknown),
        other => panic!("{other:?}"),
    }
    let late = store.reserve(&request("late")).await.unwrap_err();
    assert_eq!(late.applied(), Applied::No, "{late:?}");
    assert!(store.flush().await.is_err());
    let closed = store.close().await.unwrap_err();
    assert!(closed.to_string().contains("hangs"), "{closed}");
    drop(go);
}
