//! What a server that refuses, or a value that cannot be read, is to the caller: a named error that says whether the
//! call may have been applied, for this key only, and never a vacant one.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::time::Duration;

use idem_core::{
    Applied, Error, Holder, IdempotencyStore, Inspect, Outcome, ReserveRequest, Response, Terms,
};
use idem_redis::{Connection, Limits, RedisStore};
use support::request;
use testkit::{Fault, Plan, Proxy, Redis};

fn holder(request: &ReserveRequest) -> Holder {
    Holder::new(request.operation.record.clone(), request.token, 1)
}

/// With the native command, and by scripts alone.
async fn stores(server: &Redis) -> [RedisStore; 2] {
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    [store.clone(), store.without_native()]
}

/// Reserving and completing fail so, and say nothing of the key.
async fn fails(store: &RedisStore, held: &Holder, message: &str, transient: bool) {
    refuses_to_reserve(store, message, transient).await;
    let answer = Response::new(201).body("secret-answer").into();
    let complete = store.complete(held, &answer).await.unwrap_err();
    is_refusal(&complete, message, transient);
}

async fn refuses_to_reserve(store: &RedisStore, message: &str, transient: bool) {
    let reserve = store.reserve(&request("new-key")).await.unwrap_err();
    is_refusal(&reserve, message, transient);
}

fn is_refusal(error: &Error, message: &str, transient: bool) {
    assert!(error.to_string().contains(message), "{error:?}");
    assert_eq!(error.applied(), Applied::No, "{error:?}");
    assert_eq!(error.is_transient(), transient, "{error:?}");
    says_nothing(error);
}

fn says_nothing(error: &Error) {
    let shown = format!("{error} {error:?}");
    for secret in ["new-key", "acct_812", "secret-answer"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_is_named_and_nothing_was_applied() {
    let server = Redis::start();
    for store in stores(&server).await {
        let first = request("held");
        store.reserve(&first).await.unwrap();
        let held = holder(&first);

        // What runs is recorded all the same, since a holder's script has written in Redis's eyes once it has read.
        let running = request("running");
        store.reserve(&running).await.unwrap();
        server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
        refuses_to_reserve(&store, "out of memory", true).await;
        let answer = Response::new(201).into();
        store.complete(&holder(&running), &answer).await.unwrap();
        server.ask(&["CONFIG", "SET", "maxmemory", "0"]);

        server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
        fails(&store, &held, "without its replicas", true).await;
        server.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]);

        server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
        fails(&store, &held, "it is a replica", true).await;
        server.ask(&["REPLICAOF", "NO", "ONE"]);

        // Whoever is not let in is told so, also where the native command is tried first.
        server.ask(&["ACL", "SETUSER", "default", "-set"]);
        fails(&store, &held, "may not run a command", false).await;
        server.ask(&["ACL", "SETUSER", "default", "+@all"]);

        // Nothing was applied in all of this, and everything goes on.
        store
            .complete(&held, &Response::new(201).into())
            .await
            .unwrap();
        assert!(
            store
                .get(&request("new-key").operation.record)
                .await
                .unwrap()
                .is_none()
        );
        server.ask(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn a_password_that_is_missing_or_wrong_is_named() {
    let server = Redis::start();
    let [store, _] = stores(&server).await;
    server.ask(&["ACL", "SETUSER", "app", "on", ">right", "~*", "+@all"]);
    let url = format!("redis://app:wrong@{}", server.address());
    let error = Connection::open(&url).await.unwrap_err();
    assert!(error.to_string().contains("password"), "{error:?}");
    assert!(
        !error.is_transient() && error.applied() == Applied::No,
        "{error:?}"
    );
    assert!(!format!("{error:?}").contains("wrong"), "{error:?}");
    drop(store);

    server.ask(&["ACL", "SETUSER", "default", "resetpass", ">right"]);
    let error = Connection::open(&server.url()).await;
    let error = match error {
        Err(error) => error,
        // The driver does not try what it was not given: the first call is refused.
        Ok(connection) => RedisStore::new(connection)
            .reserve(&request("k"))
            .await
            .unwrap_err(),
    };
    assert!(error.to_string().contains("password"), "{error:?}");
    assert!(
        !error.is_transient() && error.applied() == Applied::No,
        "{error:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_for_its_key_and_never_vacant() {
    let server = Redis::start();
    let name = "idem:acct_812:k";
    let damage: [&[&str]; 6] = [
        &["LPUSH", name, "x"],
        &["SET", name, ""],
        &["SET", name, "not a record"],
        &["SETRANGE", name, "0", "\u{7f}"],
        &["SETRANGE", name, "1", "\u{7}"],
        &["SETRANGE", name, "101", "\u{7}"],
    ];
    for store in stores(&server).await {
        for damage in damage {
            server.ask(&["DEL", name]);
            let first = request("k");
            if damage[0] == "SETRANGE" {
                store.reserve(&first).await.unwrap();
            }
            server.ask(damage);
            let held = holder(&first);
            let answer = Response::new(201).into();
            let errors = [
                store.reserve(&request("k")).await.unwrap_err(),
                store.reserve(&first.clone().resent()).await.unwrap_err(),
                store.complete(&held, &answer).await.unwrap_err(),
                store
                    .renew(&held, Terms::default(), None)
                    .await
                    .unwrap_err(),
                store.abandon(&held).await.unwrap_err(),
                store.release(&held).await.unwrap_err(),
                store.get(&held.record).await.unwrap_err(),
            ];
            for error in errors {
                assert!(error.is_corrupt(), "{damage:?}: {error:?}");
                says_nothing(&error);
            }
            // Everybody else goes on.
            let other = request("another");
            assert!(matches!(
                store.reserve(&other).await,
                Ok(Outcome::Reserved { .. })
            ));
            store.release(&holder(&other)).await.unwrap();
            store.lapsed(None, 10).await.unwrap();
        }
        server.ask(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn a_native_record_whose_time_to_live_was_taken_from_it_cannot_be_read() {
    let server = Redis::start();
    let [store, _] = stores(&server).await;
    store.reserve(&request("k")).await.unwrap();
    server.ask(&["PERSIST", "idem:acct_812:k"]);
    let error = store.reserve(&request("k")).await.unwrap_err();
    assert!(
        error.is_corrupt() && error.to_string().contains("time to live"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_of_unknown_outcome_and_a_resend_finds_it() {
    let server = Redis::start();
    let limits = Limits::default().answer(Duration::from_millis(200));
    let connection = Connection::open_within(&server.url(), limits)
        .await
        .unwrap();
    let store = RedisStore::new(connection);
    for store in [store.clone(), store.without_native()] {
        server.ask(&["CLIENT", "PAUSE", "800", "ALL"]);
        let first = request("k");
        let error = store.reserve(&first).await.unwrap_err();
        assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
        assert!(error.is_transient(), "{error:?}");
        let found = loop {
            match store.reserve(&first.clone().resent()).await {
                Ok(found) => break found,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
        };
        assert!(
            matches!(found, Outcome::Reserved { attempt: 1, .. }),
            "{found:?}"
        );
        store.release(&holder(&first)).await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused_before_anything_is_sent() {
    let server = Redis::start();
    let [store, _] = stores(&server).await;
    let first = request("k");
    store.reserve(&first).await.unwrap();
    let too_large = Response::new(201).body(vec![0; 256 << 20]).into();
    let error = store
        .complete(&holder(&first), &too_large)
        .await
        .unwrap_err();
    assert!(
        error.is_too_large() && error.applied() == Applied::No,
        "{error:?}"
    );
    store
        .complete(&holder(&first), &Response::new(201).into())
        .await
        .unwrap();
}

/// Nor does the driver panic for want of cryptography.
#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_that_does_not_speak_tls_cannot_be_reached_by_it() {
    let server = Redis::start();
    let url = format!("rediss://{}", server.address());
    let error = Connection::open(&url).await.unwrap_err();
    assert!(
        error.is_unavailable() && error.applied() == Applied::No,
        "{error:?}"
    );
}

/// A conflict is two round trips: each is in time, but not both.
#[tokio::test]
async fn the_limit_is_for_the_whole_call_and_not_for_each_of_its_parts() {
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let limits = Limits::default().answer(Duration::from_millis(500));
    let url = format!("redis://{}", proxy.address());
    let store = RedisStore::new(Connection::open_within(&url, limits).await.unwrap());
    store.reserve(&request("k")).await.unwrap();
    proxy.follow(Plan::from_fn(|_| {
        Fault::DelayAnswer(Duration::from_millis(300))
    }));
    let error = store.reserve(&request("k")).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
}
