//! A connection that was opened here is made anew when the driver would keep it for ever: the peer is silent, has
//! become a replica, or has refused the password once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::time::{Duration, Instant};

use idem_core::{Applied, Error, IdempotencyStore, Outcome};
use idem_redis::{Connection, Limits, RedisStore};
use support::request;
use testkit::{Fault, Plan, Proxy, Redis};
use tokio::time::timeout;

/// For what takes about two seconds, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn limits() -> Limits {
    let limit = Duration::from_millis(300);
    Limits::default()
        .answer(limit)
        .connect(Duration::from_secs(1))
}

async fn store(address: impl std::fmt::Display) -> RedisStore {
    let url = format!("redis://{address}");
    RedisStore::new(Connection::open_within(&url, limits()).await.unwrap())
}

/// Calls until one is answered; how long that took. Whatever fails before must satisfy `expected`.
async fn heals<T>(
    call: impl AsyncFn() -> Result<T, Error>,
    expected: impl Fn(&Error) -> bool,
) -> (T, Duration) {
    let began = Instant::now();
    let healed = timeout(PATIENCE, async {
        loop {
            match call().await {
                Ok(answer) => break answer,
                Err(error) => assert!(expected(&error), "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await; // why: refusals come at once, and nothing tells when it is over
        }
    });
    (healed.await.expect("it does not heal"), began.elapsed())
}

fn is_unknown(error: &Error) -> bool {
    error.applied() == Applied::Unknown && error.is_transient()
}

/// From now on, what is sent on the connections up to this one gets no answer, and they stay open.
fn silence(proxy: &Proxy, last: u64) {
    proxy.follow(Plan::from_fn(move |request| {
        if request.connection <= last {
            Fault::Stall
        } else {
            Fault::None
        }
    }));
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_left_for_a_new_connection() {
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let store = store(proxy.address()).await;
    store.reserve(&request("before")).await.unwrap();
    assert_eq!(proxy.counts().connections, 1);
    // The second is silent from its beginning.
    silence(&proxy, 2);
    let key = request("k");
    let (outcome, took) = heals(async || store.reserve(&key).await, is_unknown).await;
    assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
    // It lasts, and not many were made.
    for _ in 0..20 {
        heals(async || store.reserve(&request("after")).await, is_unknown).await;
    }
    let counts = proxy.counts();
    println!("healed after {took:?}: {counts:?}");
    assert!(
        (3..=5).contains(&counts.connections) && counts.cut == 0,
        "{counts:?}"
    );
}

/// As a cache's are, which is waited for a few milliseconds only: no call lives to see its limit.
#[tokio::test]
async fn callers_that_are_dropped_heal_it_too() {
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let store = store(proxy.address()).await;
    store.reserve(&request("before")).await.unwrap();
    silence(&proxy, 1);
    let (began, short) = (Instant::now(), Duration::from_millis(50));
    let key = request("k");
    let healed = timeout(PATIENCE, async {
        while !matches!(timeout(short, store.reserve(&key)).await, Ok(Ok(_))) {}
    });
    healed.await.expect("it does not heal");
    println!("healed after {:?}: {:?}", began.elapsed(), proxy.counts());
}

/// The next one that is made belongs to nobody who may go away.
#[test]
fn a_runtime_that_ends_in_the_middle_of_it_leaves_it_to_others() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let first = runtime();
    let store = first.block_on(store(proxy.address()));
    silence(&proxy, 2);
    let second = runtime();
    second.block_on(async {
        while proxy.counts().connections < 2 {
            is_unknown(&store.reserve(&request("k")).await.unwrap_err());
        }
    });
    second.shutdown_background();
    let key = request("k");
    let (_, took) = runtime().block_on(heals(async || store.reserve(&key).await, is_unknown));
    println!("healed after {took:?}: {:?}", proxy.counts());
}

/// The old one works all the time, and would say the same for ever.
#[tokio::test]
async fn a_server_that_became_a_replica_is_left_for_the_one_at_its_address() {
    let (old, new) = (Redis::start(), Redis::start());
    let proxy = Proxy::start(old.address(), Plan::none());
    for native in [true, false] {
        proxy.forward_to(old.address());
        let store = store(proxy.address()).await;
        let store = if native {
            store
        } else {
            store.without_native()
        };
        store.reserve(&request("before")).await.unwrap();
        let port = new.address().port().to_string();
        old.ask(&["REPLICAOF", "127.0.0.1", &port]);
        let refused = |error: &Error| error.to_string().contains("replica");
        assert!(refused(&store.reserve(&request("k")).await.unwrap_err()));
        proxy.forward_to(new.address());
        let key = request("k");
        let (_, took) = heals(async || store.reserve(&key).await, refused).await;
        println!("native {native}: healed after {took:?}");
        new.ask(&["FLUSHALL"]);
        old.ask(&["REPLICAOF", "NO", "ONE"]);
        old.ask(&["FLUSHALL"]);
    }
    assert_eq!(proxy.counts().cut, 0);
}

#[tokio::test]
async fn a_password_that_was_refused_once_is_tried_again() {
    let server = Redis::start();
    let set = |password: &str| {
        let password = format!(">{password}");
        server.ask(&[
            "ACL",
            "SETUSER",
            "app",
            "on",
            "resetpass",
            &password,
            "~*",
            "+@all",
        ])
    };
    set("right");
    let store = store(format!("app:right@{}", server.address())).await;
    store.reserve(&request("before")).await.unwrap();
    set("another");
    server.ask(&["CLIENT", "KILL", "USER", "app"]);
    let refused = |error: &Error| error.to_string().contains("password");
    let seen = timeout(PATIENCE, async {
        while !store
            .reserve(&request("k"))
            .await
            .is_err_and(|error| refused(&error))
        {
            tokio::task::yield_now().await;
        }
    });
    seen.await.expect("the password is not refused");
    set("right");
    let key = request("k");
    let (_, took) = heals(async || store.reserve(&key).await, refused).await;
    println!("healed after {took:?}");
}

/// Its sockets live on in the kernel, and the other nodes answer all the time.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_cluster_node_that_hangs_is_left_for_the_replica_that_took_its_place() {
    use std::sync::atomic::{AtomicU32, Ordering};

    // Or the others refuse, too, until the replica has taken its place.
    let node = Redis::builder().setting("cluster-require-full-coverage", "no");
    let cluster = testkit::RedisCluster::start_with(node);
    let urls = cluster.nodes().iter().map(Redis::url);
    let connection = Connection::open_cluster_within(urls, limits()).await;
    let store = RedisStore::new(connection.unwrap());
    let node_of = |key: &str| cluster.primary_of(&format!("idem:acct_812:{key}"));
    let hung = node_of("k");
    let other = (0..100).map(|n| format!("other-{n}"));
    let other = other.into_iter().find(|key| node_of(key) != hung);
    let beside = (0..100).map(|n| format!("beside-{n}"));
    let beside = beside.into_iter().find(|key| node_of(key) == hung);
    let (key, other) = (request("k"), request(&other.expect("it is another node's")));
    let beside = request(&beside.expect("it is the same node's"));
    let waiting = store.clone();
    let waiting = waiting
        .wait_replicas(1, Duration::from_millis(100))
        .unwrap();
    waiting.reserve(&beside).await.unwrap();

    cluster.nodes()[hung].pause();
    let (lived, failed) = (AtomicU32::new(0), AtomicU32::new(0));
    let call = async || {
        let lives = store.reserve(&other.clone().resent()).await;
        let count = if lives.is_ok() { &lived } else { &failed };
        count.fetch_add(1, Ordering::Relaxed);
        store.reserve(&key).await
    };
    let is_unknown = |error: &Error| error.applied() == Applied::Unknown;
    let (outcome, took) = heals(call, is_unknown).await;
    assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
    println!(
        "healed {took:?} after a primary hung; another node meanwhile: {lived:?} calls, {failed:?} failed"
    );
    assert!(lived.into_inner() > failed.into_inner());

    // A connection to the silent node takes longer than a call may.
    let finds = async || match waiting.reserve(&beside.clone().resent()).await {
        // The one that took its place has no replica: it has been asked.
        Err(error) if error.to_string().contains("too few replicas") => Ok(()),
        other => other.map(|_| ()),
    };
    let (_, took) = heals(finds, is_unknown).await;
    println!("who waits for replicas has found it {took:?} later");
}
