//! A connection that is cut at each call, before the call was applied and after, and scripts that are forgotten before
//! each.

use std::time::Duration;

use idem_core::{
    Answer, Applied, Completion, Holder, IdempotencyStore, Outcome, ReserveRequest, Response,
    Terms, Update,
};
use idem_redis::{Connection, RedisStore};
use testkit::resp::Reply;
use testkit::{Fault, Plan, Proxy, Redis};
use tokio::time::timeout;

use crate::support::request;

const PATIENCE: Duration = Duration::from_secs(60);

/// A call whose connection is cut says that nobody knows, and the same call again finds what was done or does it.
#[tokio::test]
async fn a_cut_connection_is_unknown_and_a_resend_finds_out() {
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let url = format!("redis://{}", proxy.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    for (native, store) in [(true, store.clone()), (false, store.without_native())] {
        for fault in [Fault::DropRequest, Fault::DropAnswer] {
            // Loaded, so that the fault meets the script and not its loading.
            let warm = held(&store, &request("warm")).await;
            store.renew(&warm, Terms::default(), None).await.unwrap();
            store.abandon(&warm).await.unwrap();
            store.release(&warm).await.unwrap();
            let applied = fault == Fault::DropAnswer;

            let first = request("k");
            proxy.follow(Plan::once(if native { "PX" } else { "EVALSHA" }, fault));
            is_unknown(store.reserve(&first).await);
            let there = server.ask(&["EXISTS", "idem:acct_812:k"]);
            assert_eq!(there, Reply::Integer(applied.into()), "{fault:?}");
            let holder = held(&store, &first.clone().resent()).await;
            assert_eq!(holder.attempt, 1);

            proxy.follow(Plan::once("EVALSHA", fault));
            is_unknown(store.renew(&holder, Terms::default(), None).await);
            assert_eq!(
                again(|| store.renew(&holder, Terms::default(), None)).await,
                Update::Done
            );

            let answer = Answer::from(Response::new(201).body("paid"));
            proxy.follow(Plan::once("EVALSHA", fault));
            is_unknown(store.complete(&holder, &answer).await);
            let other = Answer::from(Response::new(201).body("another"));
            match again(|| store.complete(&holder, &other)).await {
                Completion::AlreadyCompleted(stands) if applied => {
                    assert_eq!(stands.answer, answer)
                }
                Completion::Completed { .. } if !applied => {}
                wrong => panic!("{fault:?}: {wrong:?}"),
            }

            proxy.follow(Plan::once(if native { "PX" } else { "EVALSHA" }, fault));
            is_unknown(store.reserve(&request("k")).await);
            let replay = again(|| async { store.reserve(&request("k")).await }).await;
            assert!(matches!(replay, Outcome::Replay(_)), "{replay:?}");

            for release in [false, true] {
                let holder = held(&store, &request("given back")).await;
                proxy.follow(Plan::once("EVALSHA", fault));
                let end = || async {
                    if release {
                        store.release(&holder).await
                    } else {
                        store.abandon(&holder).await
                    }
                };
                is_unknown(end().await);
                let resent = again(end).await;
                let superseded = release && applied;
                assert_eq!(
                    resent == Update::Superseded,
                    superseded,
                    "{fault:?}: {resent:?}"
                );
            }
            server.ask(&["FLUSHALL"]);
        }
    }
    println!("{:?}", proxy.counts());
}

async fn held(store: &RedisStore, request: &ReserveRequest) -> Holder {
    match again(|| store.reserve(request)).await {
        Outcome::Reserved { attempt, .. } => {
            Holder::new(request.operation.record.clone(), request.token, attempt)
        }
        other => panic!("not reserved: {other:?}"),
    }
}

fn is_unknown<T: std::fmt::Debug>(called: Result<T, idem_core::Error>) {
    let error = called.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
}

/// Until it is answered: the connection is made anew meanwhile.
async fn again<T, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, idem_core::Error>>,
{
    let answered = timeout(PATIENCE, async {
        loop {
            match call().await {
                Ok(answer) => break answer,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
        }
    });
    answered.await.expect("it does not recover")
}

#[tokio::test]
async fn scripts_that_were_forgotten_are_sent_once_more() {
    let server = Redis::start();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    let store = store.without_native();
    for _ in 0..3 {
        let first = request("k");
        server.ask(&["SCRIPT", "FLUSH"]);
        let holder = held(&store, &first).await;
        server.ask(&["SCRIPT", "FLUSH"]);
        store.renew(&holder, Terms::default(), None).await.unwrap();
        server.ask(&["SCRIPT", "FLUSH"]);
        store.release(&holder).await.unwrap();
    }
}
