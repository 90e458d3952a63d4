//! What the suite cannot bring about: a clock that was set back, and a write between the beginning of a wait and its
//! first look.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::time::Duration;

use idem_core::{IdempotencyStore, Inspect, Outcome, Response, Terms, Update};
use idem_redis::{Connection, RedisStore};
use support::{Isolated, SERVER, Way, request, reserve};
use testkit::{Fault, Plan, Proxy};
use tokio::time::timeout;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_clock_that_was_set_back_shows_no_more_than_was_given() {
    let terms = Terms::default();
    for way in [Way::Multiplexed, Way::Scripts] {
        let isolated = Isolated::open(way).await;
        let store = &isolated.store;
        let live = reserve(store, &request("live")).await;
        let completed = reserve(store, &request("completed")).await;
        store
            .complete(&completed, &Response::new(201).into())
            .await
            .unwrap();
        isolated.set_clock_back(HOUR);

        match store.reserve(&request("live")).await.unwrap() {
            Outcome::Conflict {
                retry_after: Some(left),
            } => assert!(left <= terms.lease(), "{left:?}"),
            other => panic!("{other:?}"),
        }
        match store.reserve(&request("completed")).await.unwrap() {
            Outcome::Replay(replay) => {
                let left = replay.remembered_for;
                assert!(left <= terms.retention(), "{left:?}");
            }
            other => panic!("{other:?}"),
        }
        let shown = store.get(&live.record).await.unwrap().unwrap();
        assert!(
            shown.remembered_for.unwrap() <= terms.retention(),
            "{shown:?}"
        );
        // Its holder goes on as before.
        assert_eq!(store.renew(&live, terms, None).await.unwrap(), Update::Done);
        store
            .complete(&live, &Response::new(201).into())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn what_is_written_before_the_first_look_ends_the_wait() {
    let isolated = Isolated::open(Way::Multiplexed).await;
    let holder = reserve(&isolated.store, &request("k")).await;
    // Scripts are loaded, and the record is older than the wait.
    isolated
        .store
        .changed(&holder.record, Duration::from_millis(100))
        .await;

    let late = Fault::DelayRequest(Duration::from_millis(1000));
    let proxy = Proxy::start(SERVER.address(), Plan::once("EVALSHA", late));
    let url = format!("redis://{}", proxy.address());
    let waiting = RedisStore::new(Connection::open(&url).await.unwrap());
    let waiting = waiting.with_prefix(isolated.prefix.clone());
    let before = proxy.counts().requests;
    let record = holder.record.clone();
    let wait = tokio::spawn(async move { waiting.changed(&record, HOUR).await });
    while proxy.counts().requests == before {
        tokio::task::yield_now().await;
    }
    let answer = Response::new(201).into();
    isolated.store.complete(&holder, &answer).await.unwrap();
    timeout(Duration::from_secs(5), wait)
        .await
        .expect("the write was missed")
        .unwrap();
}
