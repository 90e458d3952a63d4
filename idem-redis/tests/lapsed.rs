//! What a walk over all records asks of a server that others use, too.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idem_core::{IdempotencyStore, Inspect, Response};
use idem_redis::{Connection, RedisStore};
use support::{commands, request, reserve, sent};
use testkit::{Fault, Plan, Proxy, Redis};

const COMPLETED: usize = 60;
const ABANDONED: usize = 40;

/// A server with so many of each.
async fn filled() -> Redis {
    let server = Redis::start();
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    for number in 0..COMPLETED + ABANDONED {
        let holder = reserve(&store, &request(&number.to_string())).await;
        if number < COMPLETED {
            let answer = Response::new(201).body(vec![b'x'; 1000]).into();
            store.complete(&holder, &answer).await.unwrap();
        } else {
            store.abandon(&holder).await.unwrap();
        }
    }
    server
}

#[tokio::test]
async fn answers_are_not_touched() {
    let server = filled().await;
    let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    store.lapsed(None, 1000).await.unwrap(); // The script is loaded.
    commands(&server);
    let page = store.lapsed(None, 1000).await.unwrap();
    assert_eq!(page.records.len(), ABANDONED);
    let asked = commands(&server);
    println!("{}", sent(&asked));
    assert_eq!(asked["getrange"], (COMPLETED + ABANDONED) as u64);
    assert_eq!(asked["get"], ABANDONED as u64);
}

/// Nor does it hold up everybody else, nor begin anew when it is cut on the way.
#[tokio::test]
async fn a_walk_takes_small_steps_and_goes_on_after_a_cut() {
    let server = filled().await;
    let proxy = Proxy::start(server.address(), Plan::none());
    let url = format!("redis://{}", proxy.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    store.lapsed(None, 1000).await.unwrap();
    commands(&server);

    let most = Arc::new(AtomicUsize::new(0));
    let (mut steps, seen) = (0, Arc::clone(&most));
    proxy.follow(Plan::from_fn(move |request| {
        let texts = request.bytes.windows(7).filter(|it| *it == b"EVALSHA");
        let together = texts.count();
        seen.fetch_max(together, Ordering::Relaxed);
        steps += usize::from(together > 0);
        match steps {
            3 if together > 0 => Fault::DropRequest,
            _ => Fault::None,
        }
    }));
    let page = store.lapsed(None, 1000).await.unwrap();
    assert_eq!(page.records.len(), ABANDONED);
    let asked = commands(&server);
    println!(
        "{most:?} side by side; {}; {:?}",
        sent(&asked),
        proxy.counts()
    );
    assert_eq!(proxy.counts().requests_dropped, 1);
    assert!((1..=16).contains(&most.load(Ordering::Relaxed)));
    assert_eq!(asked["scan"], 1, "it began anew");
}
