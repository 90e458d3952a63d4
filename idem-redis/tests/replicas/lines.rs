//! Calls beside each other, dropped ones and lost connections.

use std::time::Duration;

use idem_core::{Applied, IdempotencyStore, Outcome};
use idem_redis::redis::Client;
use idem_redis::{Connection, RedisStore};
use testkit::Redis;
use testkit::resp::Reply;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::pair::{Pair, says};
use crate::support::{request, reserve};
use crate::{PATIENCE, SHORT, is_unconfirmed};

/// Each has a connection of its own, up to a number; others wait for their turn.
#[tokio::test]
async fn calls_wait_side_by_side_and_hold_up_nobody_else() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    pair.replica.pause();
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let store = store.clone();
        calls.spawn(async move { store.reserve(&request(&format!("k{number}"))).await });
    }
    until_async("all that may wait do", || {
        says(&pair.primary, "clients", "blocked_clients:32\r")
    })
    .await;
    // Over the connection of all.
    let other = timeout(PATIENCE, pair.plain.reserve(&request("another"))).await;
    assert!(
        matches!(other, Ok(Ok(Outcome::Reserved { .. }))),
        "{other:?}"
    );
    pair.replica.go_on();
    let answered = timeout(PATIENCE, calls.join_all())
        .await
        .expect("all are answered");
    assert_eq!(answered.len(), 40);
    for answered in answered {
        assert!(
            matches!(answered, Ok(Outcome::Reserved { attempt: 1, .. })),
            "{answered:?}"
        );
    }
    // Those of the store, that of all, and the one that asks.
    until_async("no more connections than that", || {
        says(&pair.primary, "clients", "connected_clients:34\r")
    })
    .await;
}

#[tokio::test]
async fn the_connection_of_a_dropped_call_is_closed() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    pair.replica.pause();
    let first = request("k");
    let call = tokio::spawn({
        let (store, first) = (store.clone(), first.clone());
        async move { store.reserve(&first).await }
    });
    until_async("it waits", || {
        says(&pair.primary, "clients", "blocked_clients:1\r")
    })
    .await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    until_async("its connection is closed", || {
        says(&pair.primary, "clients", "blocked_clients:0\r")
            && says(&pair.primary, "clients", "connected_clients:2\r")
    })
    .await;
    pair.replica.go_on();
    let resent = store.reserve(&first.resent()).await.unwrap();
    assert!(
        matches!(resent, Outcome::Reserved { attempt: 1, .. }),
        "{resent:?}"
    );
}

#[tokio::test]
async fn a_lost_connection_is_unknown_and_the_next_call_makes_another() {
    let pair = Pair::start().await;
    let store = pair.plain.clone().wait_replicas(1, PATIENCE).unwrap();
    let first = request("k");
    // Two connections: the other one is lost as well.
    let second = request("another");
    tokio::join!(reserve(&store, &first), reserve(&store, &second));
    pair.primary.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    let error = store.reserve(&first.clone().resent()).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    let resent = store.reserve(&first.resent()).await.unwrap();
    assert!(
        matches!(resent, Outcome::Reserved { attempt: 1, .. }),
        "{resent:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_refused_or_unknown() {
    let server = Redis::start();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    let no_replica = store.clone().wait_replicas(1, SHORT).unwrap();
    is_unconfirmed(no_replica.reserve(&request("k")).await);

    for (replicas, within) in [(0, SHORT), (1, Duration::ZERO)] {
        let refused = store.clone().wait_replicas(replicas, within).unwrap_err();
        assert!(refused.is_invalid(), "{refused:?}");
    }
    let client = Client::open(server.url()).unwrap();
    let of_the_driver = client.get_multiplexed_async_connection().await.unwrap();
    let refused = RedisStore::new(of_the_driver).wait_replicas(1, SHORT);
    assert!(refused.unwrap_err().is_invalid());

    // Applied, and not allowed to wait: nobody may be told that nothing was applied.
    server.ask(&[
        "ACL", "SETUSER", "app", "on", ">secret", "~idem:*", "+@all", "-wait",
    ]);
    let url = format!("redis://app:secret@{}", server.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    let store = store.wait_replicas(1, SHORT).unwrap();
    let error = store.reserve(&request("not allowed")).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    let there = server.ask(&["EXISTS", "idem:acct_812:not%20allowed"]);
    assert_eq!(there, Reply::Integer(1));
}

async fn until_async(what: &str, done: impl Fn() -> bool) {
    let coming = timeout(PATIENCE, async {
        while !done() {
            tokio::task::yield_now().await;
        }
    });
    coming
        .await
        .unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"));
}
