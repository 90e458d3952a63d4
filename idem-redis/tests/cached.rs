//! The whole suite on this store behind a node's own cache, and on a store in memory behind this cache on a cluster
//! (before Postgres on a single server: in `idem-postgres`); and what the cache spares the store.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{Harness, Store, async_trait, conformance};
use idem_core::{
    Cached, Holder, IdempotencyStore, ManualClock, MemoryCache, MemoryStore, Outcome,
    ReserveRequest, Response,
};
use idem_redis::{Connection, Prefix, RedisCache};
use support::{Isolated, Way, a_prefix};
use testkit::resp::Reply;
use testkit::{Fault, Plan, Proxy, Redis, until};

/// This store, and before it each node's own memory.
struct OwnMemory(Isolated, ManualClock);

#[async_trait]
impl Harness for OwnMemory {
    async fn open() -> Self {
        Self(Isolated::open(Way::Multiplexed).await, ManualClock::new())
    }

    fn store(&self) -> Arc<dyn Store> {
        let memory = MemoryCache::with_clock(16 << 20, self.1.clone());
        Arc::new(Cached::new(self.0.store.clone(), memory))
    }

    async fn advance(&self, by: Duration) {
        self.0.advance(by);
        self.1.advance(by);
    }
}

mod own_memory {
    use super::*;

    conformance!(OwnMemory, copies);
}

/// Every handle is a node of its own, as in real life.
#[cfg_attr(
    not(feature = "cluster"),
    allow(dead_code, reason = "for the suite on one")
)]
struct Nodes {
    way: Way,
    clock: ManualClock,
    store: MemoryStore,
    cache: RedisCache,
    prefix: Prefix,
}

impl Nodes {
    async fn open(way: Way) -> Self {
        let clock = ManualClock::new();
        let prefix = a_prefix();
        Self {
            way,
            store: MemoryStore::with_clock(clock.clone()),
            cache: RedisCache::new(way.connect().await).with_prefix(prefix.clone()),
            clock,
            prefix,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        // A busy machine must not turn the cache off.
        let cached = Cached::new(self.store.clone(), self.cache.clone());
        Arc::new(cached.cache_timeout(Duration::from_secs(20)))
    }

    #[cfg_attr(
        not(feature = "cluster"),
        allow(dead_code, reason = "for the suite on one")
    )]
    fn advance(&self, by: Duration) {
        self.clock.advance(by);
        let pattern = format!("{}::*", self.prefix.as_str());
        let (script, by) = (
            include_str!("support/advance_cache.lua"),
            by.as_millis().to_string(),
        );
        for primary in self.way.primaries() {
            primary.ask(&["EVAL", script, "0", &pattern, &by]);
        }
    }
}

#[cfg(feature = "cluster")]
mod cluster {
    use super::*;

    struct Opened(Nodes);

    #[async_trait]
    impl Harness for Opened {
        async fn open() -> Self {
            Self(Nodes::open(Way::Cluster).await)
        }

        fn store(&self) -> Arc<dyn Store> {
            self.0.store()
        }

        async fn advance(&self, by: Duration) {
            self.0.advance(by);
        }
    }

    conformance!(Opened, marks);
}

fn request() -> ReserveRequest {
    support::request("order {17}")
}

#[tokio::test]
async fn rapid_repeats_and_completed_answers_are_answered_by_the_cache_alone() {
    let nodes = Nodes::open(Way::Manager).await;
    let store = nodes.store();
    let first = request();
    let Outcome::Reserved { attempt, .. } = store.reserve(&first).await.unwrap() else {
        panic!("not reserved")
    };
    // Another node, before a store that knows nothing: only the cache can be what answers.
    let empty = Cached::new(MemoryStore::new(), nodes.cache.clone());
    let operation = first.operation.clone();
    let conflict = empty.look_up(&operation).await;
    assert!(
        matches!(conflict, Some(Outcome::Conflict { .. })),
        "{conflict:?}"
    );
    let holder = Holder::new(operation.record.clone(), first.token, attempt);
    let answer = Response::new(201).body("paid").into();
    store.complete(&holder, &answer).await.unwrap();
    for _ in 0..20 {
        let Some(Outcome::Replay(replay)) = empty.look_up(&operation).await else {
            panic!("no replay")
        };
        assert_eq!(replay.answer, answer);
    }
}

#[tokio::test]
async fn a_cache_that_is_flushed_or_gone_costs_speed_only() {
    let server = Redis::start();
    let cache = RedisCache::new(Connection::open(&server.url()).await.unwrap());
    let store = Cached::new(MemoryStore::new(), cache);
    let first = request();
    let Outcome::Reserved { attempt, .. } = store.reserve(&first).await.unwrap() else {
        panic!("not reserved")
    };
    server.ask(&["FLUSHALL"]);
    let conflict = store.reserve(&request()).await.unwrap();
    assert!(matches!(conflict, Outcome::Conflict { .. }));
    server.kill();
    let holder = Holder::new(first.operation.record.clone(), first.token, attempt);
    store
        .complete(&holder, &Response::new(201).into())
        .await
        .unwrap();
    assert!(matches!(
        store.reserve(&request()).await.unwrap(),
        Outcome::Replay(_)
    ));
}

#[tokio::test]
async fn what_lands_late_ends_when_it_was_meant_to() {
    let server = Redis::start();
    let late = Duration::from_millis(1500);
    let proxy = Proxy::start(
        server.address(),
        Plan::once("PXAT", Fault::DelayRequest(late)),
    );
    let url = format!("redis://{}", proxy.address());
    let cache = RedisCache::new(Connection::open(&url).await.unwrap());
    let store = Cached::new(MemoryStore::new(), cache.clone());
    let first = request();
    // The mark is under way when the cache's time is over: it is for a second.
    store.reserve(&first).await.unwrap();
    let landed = || match server.ask(&["INFO", "commandstats"]) {
        Reply::Text(info) => info.contains("cmdstat_set:calls=1").then_some(()),
        _ => None,
    };
    assert_eq!(landed(), None, "it is under way");
    until("the late mark", Duration::from_secs(20), landed);
    assert_eq!(
        server.ask(&["KEYS", "*"]),
        Reply::Array(vec![]),
        "it is over"
    );
}
