//! A server for the test binary, a cluster if one is asked for, and a prefix on it for each store.
#![allow(dead_code, reason = "each test binary needs a part")]

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_core::{
    Fingerprint, Holder, IdempotencyStore as _, Key, Operation, Outcome, ReserveRequest, Scope,
    Terms, Token,
};
use idem_redis::redis::Client;
use idem_redis::{Connection, Limits, Prefix, RedisStore};
use testkit::Redis;
#[cfg(feature = "cluster")]
use testkit::RedisCluster;
use testkit::resp::Reply;

/// Never dropped: the rig ends it with the process.
pub(crate) static SERVER: LazyLock<Redis> =
    LazyLock::new(|| Redis::builder().setting("maxclients", "2000").start());

#[cfg(feature = "cluster")]
/// Takes seconds to start: one for all.
pub(crate) static CLUSTER: LazyLock<RedisCluster> =
    LazyLock::new(|| RedisCluster::start_with(Redis::builder()));

static PREFIXES: AtomicUsize = AtomicUsize::new(0);

/// One that nobody else has.
pub(crate) fn a_prefix() -> Prefix {
    let number = PREFIXES.fetch_add(1, Ordering::Relaxed);
    Prefix::new(format!("s{number}")).unwrap()
}

/// How a store is connected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Multiplexed,
    /// The same without the native command.
    Scripts,
    Manager,
    #[cfg(feature = "cluster")]
    Cluster,
    /// By scripts, and answered once the replicas have it.
    #[cfg(feature = "cluster")]
    ClusterWaiting,
}

impl Way {
    pub(crate) async fn connect(self) -> Connection {
        // A busy machine is no reason to fail.
        let patience = Duration::from_secs(20);
        let limits = Limits::default().answer(patience).connect(patience);
        match self {
            Self::Multiplexed | Self::Scripts => {
                let client = Client::open(SERVER.url()).unwrap();
                let connection = client.get_multiplexed_async_connection().await;
                Connection::from(connection.unwrap()).answer_within(limits.answer)
            }
            Self::Manager => Connection::open_within(&SERVER.url(), limits)
                .await
                .unwrap(),
            #[cfg(feature = "cluster")]
            Self::Cluster | Self::ClusterWaiting => {
                let urls = CLUSTER
                    .addresses()
                    .into_iter()
                    .map(|it| format!("redis://{it}"));
                Connection::open_cluster_within(urls, limits).await.unwrap()
            }
        }
    }

    async fn store(self, prefix: &Prefix) -> RedisStore {
        let store = RedisStore::new(self.connect().await).with_prefix(prefix.clone());
        match self {
            Self::Scripts => store.without_native(),
            #[cfg(feature = "cluster")]
            Self::ClusterWaiting => {
                let store = store.without_native();
                store.wait_replicas(1, Duration::from_secs(15)).unwrap()
            }
            _ => store,
        }
    }

    pub(crate) fn primaries(self) -> Vec<&'static Redis> {
        match self {
            Self::Multiplexed | Self::Scripts | Self::Manager => vec![&SERVER],
            #[cfg(feature = "cluster")]
            Self::Cluster | Self::ClusterWaiting => {
                let is_primary = |node: &&Redis| match node.ask(&["ROLE"]) {
                    Reply::Array(role) => role.first() == Some(&Reply::Text("master".into())),
                    _ => false,
                };
                CLUSTER.nodes().iter().filter(is_primary).collect()
            }
        }
    }
}

/// A store under a prefix of its own.
pub(crate) struct Isolated {
    pub(crate) store: RedisStore,
    pub(crate) prefix: Prefix,
    way: Way,
}

impl Isolated {
    pub(crate) async fn open(way: Way) -> Self {
        let prefix = a_prefix();
        let store = way.store(&prefix).await;
        Self { store, prefix, way }
    }

    pub(crate) async fn reopen(mut self) -> Self {
        self.store = self.way.store(&self.prefix).await;
        self
    }

    /// Moves the instants in the records back.
    pub(crate) fn advance(&self, by: Duration) {
        self.move_instants(&by.as_millis().to_string());
    }

    /// Moves the instants in the records forward: to them, it is earlier than it was.
    pub(crate) fn set_clock_back(&self, by: Duration) {
        self.move_instants(&format!("-{}", by.as_millis()));
    }

    fn move_instants(&self, by: &str) {
        let pattern = format!("{}:*", self.prefix.as_str());
        let script = include_str!("advance.lua");
        for primary in self.way.primaries() {
            primary.ask(&["EVAL", script, "0", &pattern, by]);
        }
    }
}

impl Drop for Isolated {
    /// What is left makes every look at all names slower.
    fn drop(&mut self) {
        let script =
            "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
        let pattern = format!("{}:*", self.prefix.as_str());
        if !std::thread::panicking() {
            for primary in self.way.primaries() {
                primary.ask(&["EVAL", script, "0", &pattern]);
            }
        }
    }
}

pub(crate) fn operation(key: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("150.00"),
    )
}

/// An operation by this key, tried anew.
pub(crate) fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), Terms::default())
}

/// For one that is vacant.
pub(crate) async fn reserve(store: &RedisStore, request: &ReserveRequest) -> Holder {
    let Outcome::Reserved { attempt, .. } = store.reserve(request).await.unwrap() else {
        panic!("not reserved")
    };
    Holder::new(request.operation.record.clone(), request.token, attempt)
}

/// How often a server ran which command since it was last asked.
pub(crate) fn commands(server: &Redis) -> BTreeMap<String, u64> {
    let Reply::Text(info) = server.ask(&["INFO", "commandstats"]) else {
        panic!("no statistics")
    };
    server.ask(&["CONFIG", "RESETSTAT"]);
    let line = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = rest.split_once(',')?.0.parse().ok()?;
        // What this test itself asks.
        let ours = name.starts_with("config") || name == "info";
        (!ours).then(|| (name.to_owned(), calls))
    };
    info.lines().filter_map(line).collect()
}

pub(crate) fn sent(commands: &BTreeMap<String, u64>) -> String {
    let shown = commands
        .iter()
        .map(|(name, calls)| format!("{calls} {name}"));
    shown.collect::<Vec<_>>().join(", ")
}
