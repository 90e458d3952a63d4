//! A server without what came with Redis 7.0: `SET … NX GET`, and `PEXPIRETIME`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use idem_core::{Answer, IdempotencyStore, Inspect, Outcome, Response, Terms, Update};
use idem_redis::{Connection, RedisStore};
use support::{commands, request, reserve, sent};
use testkit::Redis;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn without_pexpiretime() -> Redis {
    Redis::builder().without_command("PEXPIRETIME").start()
}

fn answer() -> Answer {
    Response::new(201).body("paid").into()
}

async fn completes_and_replays(store: &RedisStore) {
    let held = reserve(store, &request("k")).await;
    let terms = Terms::default();
    match store.reserve(&request("k")).await.unwrap() {
        Outcome::Conflict {
            retry_after: Some(left),
        } => assert!(!left.is_zero() && left <= terms.lease(), "{left:?}"),
        other => panic!("{other:?}"),
    }
    let shown = store.get(&held.record).await.unwrap().unwrap();
    assert!(
        shown.remembered_for.unwrap() <= terms.retention(),
        "{shown:?}"
    );
    let renewed = store.renew(&held, terms, None).await.unwrap();
    assert_eq!(renewed, Update::Done);
    store.complete(&held, &answer()).await.unwrap();
    match store.reserve(&request("k")).await.unwrap() {
        Outcome::Replay(replay) => {
            assert_eq!(replay.answer, answer());
            assert!(replay.remembered_for <= terms.retention(), "{replay:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// What the native command has written is read by the time that it has left.
#[tokio::test]
async fn without_pexpiretime_the_time_that_is_left_tells_when_a_record_was_written() {
    let server = without_pexpiretime();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    completes_and_replays(&store).await;
    let commands = sent(&commands(&server));
    assert!(commands.contains(" pttl"), "{commands}");
    assert!(!commands.contains("pexpiretime"), "{commands}");
}

#[tokio::test]
async fn without_the_native_command_the_scripts_do_it_and_it_is_not_tried_again() {
    let server = without_pexpiretime();
    let (before, tried) = before_7(server.address()).await;
    let url = format!("redis://{before}");
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    completes_and_replays(&store).await;
    let commands = sent(&commands(&server));
    assert!(!commands.contains("pexpiretime"), "{commands}");
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

/// In front of a server: one that does not know `GET` beside `NX`. Counts how often it is asked for that.
async fn before_7(server: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (address, tried) = (listener.local_addr().unwrap(), Arc::default());
    let of_task = Arc::clone(&tried);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(forward(client, server, Arc::clone(&of_task)));
        }
    });
    (address, tried)
}

/// Until one side ends. A client has one request on its way at a time here.
async fn forward(mut client: TcpStream, mut server: TcpStream, tried: Arc<AtomicU64>) {
    let (mut asked, mut said) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(1..) = read else { return };
                let bytes = &asked[..read.unwrap()];
                let native = b"\r\nNX\r\n$3\r\nGET\r\n";
                if bytes.windows(native.len()).any(|window| window == native) {
                    tried.fetch_add(1, Ordering::SeqCst);
                    // And the time, which is asked for in the same breath.
                    let refused = b"-ERR syntax error\r\n*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";
                    client.write_all(refused).await.unwrap();
                } else {
                    server.write_all(bytes).await.unwrap();
                }
            }
            read = server.read(&mut said) => {
                let Ok(1..) = read else { return };
                client.write_all(&said[..read.unwrap()]).await.unwrap();
            }
        }
    }
}
