//! Where a server takes no writes: what is recorded is replayed all the same, and nobody is told that he holds nothing
//! by a replica that may not have seen it.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::time::Duration;

use idem_core::{Answer, Applied, Error, IdempotencyStore, Outcome, Response, Terms, Update};
use idem_redis::{Connection, RedisStore};
use support::{request, reserve};
use testkit::resp::Reply;
use testkit::{Redis, until};

async fn stores(server: &Redis) -> [RedisStore; 2] {
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    [store.clone(), store.without_native()]
}

fn answer() -> Answer {
    Response::new(201).body("paid").into()
}

fn is_refused(error: &Error, code: &str) {
    let told = format!("{error} {error:?}");
    assert!(told.contains(code), "{code}: {error:?}");
    assert!(error.is_transient(), "{error:?}");
    assert_eq!(error.applied(), Applied::No, "{error:?}");
}

fn info(server: &Redis, section: &str, name: &str) -> String {
    let Reply::Text(info) = server.ask(&["INFO", section]) else {
        panic!("no such section")
    };
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(found, _)| *found == name);
    found.expect("it is told").1.trim().to_owned()
}

/// The record is at the primary, and has not come here.
#[tokio::test]
async fn a_replica_tells_no_holder_that_it_is_superseded() {
    let (primary, replica) = (Redis::start(), Redis::start());
    let [store, _] = stores(&primary).await;
    let holder = reserve(&store, &request("k")).await;
    let [behind, _] = stores(&replica).await;
    replica.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    is_refused(
        &behind
            .renew(&holder, Terms::default(), None)
            .await
            .unwrap_err(),
        "READONLY",
    );
    is_refused(
        &behind.complete(&holder, &answer()).await.unwrap_err(),
        "READONLY",
    );
    is_refused(&behind.abandon(&holder).await.unwrap_err(), "READONLY");
    is_refused(&behind.release(&holder).await.unwrap_err(), "READONLY");
    assert_eq!(store.release(&holder).await.unwrap(), Update::Done);
}

/// The read that a replica refuses is no write where it is done.
#[tokio::test]
async fn who_is_superseded_changes_nothing() {
    let server = Redis::start();
    let [store, _] = stores(&server).await;
    let holder = reserve(&store, &request("k")).await;
    let mut other = holder.clone();
    other.attempt = 2;
    let changes = || info(&server, "persistence", "rdb_changes_since_last_save");
    let end = || server.ask(&["PEXPIRETIME", "idem:acct_812:k"]);
    let before = (changes(), end());
    assert_eq!(store.abandon(&other).await.unwrap(), Update::Superseded);
    let renewed = store.renew(&other, Terms::default(), None).await;
    assert_eq!(renewed.unwrap(), Update::Superseded);
    assert_eq!((changes(), end()), before);
    store.abandon(&holder).await.unwrap();
    assert_ne!(changes(), before.0, "the count shows a write");
}

#[tokio::test]
async fn what_is_recorded_is_replayed() {
    let server = Redis::builder().setting("enable-protected-configs", "yes");
    let server = server.start();
    let set = |name: &str, value: &str| drop(server.ask(&["CONFIG", "SET", name, value]));
    let [store, _] = stores(&server).await;
    let holder = reserve(&store, &request("k")).await;
    store.complete(&holder, &answer()).await.unwrap();

    set("maxmemory", "1");
    replays_and_refuses(&server, "OOM").await;
    set("maxmemory", "0");

    set("min-replicas-to-write", "1");
    replays_and_refuses(&server, "NOREPLICAS").await;
    set("min-replicas-to-write", "0");

    reserve(&store, &request("running")).await;
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    replays_and_refuses(&server, "READONLY").await;
    // It may have ended since, and another payload may have the key.
    let running = store.reserve(&request("running")).await;
    is_refused(&running.unwrap_err(), "READONLY");
    server.ask(&["REPLICAOF", "NO", "ONE"]);

    // No file can be made there.
    set("save", "3600 1000000");
    set("dir", "/proc");
    server.ask(&["BGSAVE"]);
    until("a snapshot that fails", Duration::from_secs(20), || {
        (info(&server, "persistence", "rdb_last_bgsave_status") == "err").then_some(())
    });
    replays_and_refuses(&server, "MISCONF").await;
}

async fn replays_and_refuses(server: &Redis, code: &str) {
    for store in stores(server).await {
        match store.reserve(&request("k")).await {
            Ok(Outcome::Replay(replay)) => assert_eq!(replay.answer, answer(), "{code}"),
            other => panic!("{code}: {other:?}"),
        }
        is_refused(&store.reserve(&request("new")).await.unwrap_err(), code);
    }
}
