//! Connections that are cut before and after a call was applied, scripts that are forgotten, and a server that is
//! killed, while operations run: what was acknowledged is there afterwards, and nothing is stuck.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_core::{
    Answer, Applied, Completion, Executed, Fingerprint, Holder, Idempotency, IdempotencyStore, Key,
    OnConflict, Operation, Outcome, Recorded, Reservation, ReserveRequest, Response, Scope, Terms,
    Token, Update,
};
use idem_redis::{Connection, RedisStore};
use testkit::resp::Reply;
use testkit::{Append, Fault, Plan, Proxy, Redis, resp};
use tokio::task::JoinSet;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const CALLERS: u32 = 8;
/// Each ends all connections or makes the server forget its scripts; every tenth kills the server.
const HARMS: u32 = 60;

fn operation(key: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("150.00"),
    )
}

fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), Terms::default())
}

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

/// Callers run operations, each again until it is answered, as long as harm is done; what each was first told stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_answers_survive_and_nothing_is_stuck() {
    let server = Arc::new(Redis::builder().append(Append::Always).start());
    let connection = Connection::open(&server.url()).await.unwrap();
    let idempotency = Idempotency::builder(RedisStore::new(connection))
        .lease(Duration::from_millis(1500))
        .on_conflict(OnConflict::Wait {
            up_to: Duration::from_secs(3),
        })
        .build()
        .unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let harming = {
        let (server, ended) = (Arc::clone(&server), Arc::clone(&ended));
        std::thread::spawn(move || {
            let harms = HARMS * u32::try_from(testkit::effort()).unwrap();
            for turn in 1..=harms {
                harm(&server, turn);
                std::thread::sleep(Duration::from_millis(40)); // why: operations get on between harms
            }
            ended.store(true, Ordering::Relaxed);
            harms
        })
    };
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (idempotency, ended) = (idempotency.clone(), Arc::clone(&ended));
        callers.spawn(async move {
            let mut told = BTreeMap::new();
            while !ended.load(Ordering::Relaxed) {
                let key = format!("{caller}-{}", told.len());
                let answer = answered(&idempotency, &key).await;
                told.insert(key, answer);
            }
            told
        });
    }
    let told = timeout(PATIENCE, callers.join_all()).await.expect("stuck");
    let harms = harming.join().unwrap();
    assert_eq!(idempotency.drain(PATIENCE).await, 0);
    let told: BTreeMap<_, _> = told.into_iter().flatten().collect();
    println!("{} operations answered through {harms} faults", told.len());
    for (key, answer) in told {
        assert_eq!(answered(&idempotency, &key).await, answer, "{key}");
    }
}

fn harm(server: &Redis, turn: u32) {
    if turn.is_multiple_of(10) {
        server.kill();
        server.start_again();
    } else {
        let command: &[&str] = match turn % 3 {
            0 => &["SCRIPT", "FLUSH"],
            _ => &["CLIENT", "KILL", "TYPE", "normal"],
        };
        let mut connection = resp::Connection::tcp(server.address()).unwrap();
        connection.ask(command).unwrap();
    }
}

/// The answer that is recorded: one that nobody has acknowledged may be another one later.
async fn answered(idempotency: &Idempotency, key: &str) -> String {
    loop {
        let handler = async |reservation: Reservation| {
            let answer = format!("attempt {} {:?}", reservation.attempt(), Token::random());
            Ok::<_, Infallible>(Response::new(201).body(answer))
        };
        match idempotency.execute(&operation(key), handler).await {
            Ok(Executed::Ran {
                recorded: Recorded::Unrecorded,
                ..
            })
            | Err(_) => tokio::task::yield_now().await,
            Ok(executed) => {
                if let Some(response) = executed.response() {
                    return String::from_utf8(response.body_bytes().to_vec()).unwrap();
                }
            }
        }
    }
}
