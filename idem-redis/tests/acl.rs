//! A user that may run what the crate's docs list, and nothing else.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::time::Duration;

use idem_core::{IdempotencyStore, Inspect, Outcome, Response, Terms, Update};
use idem_redis::{Connection, RedisStore};
use support::{request, reserve};
use testkit::Redis;

const LISTED: &str = "+evalsha +eval +set +get +getex +del +time +pttl +pexpiretime \
                      +scan +getrange +info +config|get";

fn allow(server: &Redis, more: &str) {
    let user = format!("ACL SETUSER app on >secret ~idem:* -@all {LISTED} {more}");
    server.ask(&user.split_whitespace().collect::<Vec<_>>());
}

async fn all_calls(store: &RedisStore) {
    let terms = Terms::default();
    let holder = reserve(store, &request("k")).await;
    let conflict = store.reserve(&request("k")).await.unwrap();
    assert!(matches!(conflict, Outcome::Conflict { .. }));
    assert_eq!(
        store.renew(&holder, terms, None).await.unwrap(),
        Update::Done
    );
    let soon = Duration::from_millis(50);
    store.changed(&holder.record, soon).await;
    let answer = Response::new(201).body("paid").into();
    store.complete(&holder, &answer).await.unwrap();
    let replay = store.reserve(&request("k")).await.unwrap();
    assert!(matches!(replay, Outcome::Replay(_)));
    assert!(store.get(&holder.record).await.unwrap().is_some());

    let other = reserve(store, &request("other")).await;
    assert_eq!(store.abandon(&other).await.unwrap(), Update::Done);
    assert_eq!(store.lapsed(None, 10).await.unwrap().records.len(), 1);
    assert_eq!(store.release(&other).await.unwrap(), Update::Done);
    store.check().await.unwrap();
}

#[tokio::test]
async fn the_listed_commands_are_enough() {
    let server = Redis::start();
    allow(&server, "");
    let url = format!("redis://app:secret@{}", server.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    for store in [store.clone(), store.clone().without_native()] {
        all_calls(&store).await;
        server.ask(&["FLUSHALL"]);
    }
    // Whoever has the list of an earlier version is told where to look.
    let holder = reserve(&store, &request("k")).await;
    allow(&server, "-getex");
    let error = store.release(&holder).await.unwrap_err();
    assert!(
        error.to_string().contains("see the crate's docs"),
        "{error:?}"
    );
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn so_are_those_for_a_cluster() {
    let cluster = testkit::RedisCluster::start_with(Redis::builder());
    for node in cluster.nodes() {
        allow(node, "+cluster|slots +ping +asking");
    }
    let addresses = cluster.addresses().into_iter();
    let urls = addresses.map(|address| format!("redis://app:secret@{address}"));
    let store = RedisStore::new(Connection::open_cluster(urls).await.unwrap());
    all_calls(&store).await;
}
