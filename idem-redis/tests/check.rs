//! Each danger on a server that has it, and none on one that is as it should be.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use idem_redis::{Connection, Danger, RedisStore};
use testkit::{Append, Redis};

async fn store(server: &Redis) -> RedisStore {
    RedisStore::new(Connection::open(&server.url()).await.unwrap())
}

async fn shown(store: &RedisStore) -> Vec<String> {
    let dangers = store.check().await.unwrap();
    for danger in &dangers {
        let remedy = ["CONFIG SET", "connect to", "Connection::", "more memory"];
        let said = danger.to_string();
        assert!(remedy.iter().any(|it| said.contains(it)), "{said}");
    }
    dangers.iter().map(|danger| format!("{danger:?}")).collect()
}

#[tokio::test]
async fn a_server_as_it_should_be_has_no_danger() {
    let server = Redis::builder().append(Append::Always).start();
    assert_eq!(store(&server).await.check().await.unwrap(), []);
}

#[tokio::test]
async fn every_danger_is_found_and_names_its_remedy() {
    let server = Redis::builder().append(Append::Always).start();
    let store = store(&server).await;
    let set = |name: &str, value: &str| drop(server.ask(&["CONFIG", "SET", name, value]));

    set("maxmemory", "500mb");
    set("maxmemory-policy", "volatile-lru");
    assert_eq!(
        shown(&store).await,
        [r#"Eviction { policy: "volatile-lru" }"#]
    );
    set("maxmemory-policy", "noeviction");

    set("no-appendfsync-on-rewrite", "yes");
    assert_eq!(shown(&store).await, ["NoFsyncOnRewrite"]);
    set("no-appendfsync-on-rewrite", "no");

    set("appendfsync", "everysec");
    assert_eq!(
        shown(&store).await,
        [r#"AppendFsync { found: "everysec" }"#]
    );
    set("appendonly", "no");
    assert_eq!(shown(&store).await, ["NoAppendOnlyFile"]);
    set("appendonly", "yes");
    set("appendfsync", "always");

    // More than fits, with leave to forget.
    set("maxmemory-policy", "allkeys-random");
    server.ask(&["SET", "filler", &"x".repeat(100_000)]);
    set("maxmemory", "1");
    let _ = testkit::resp::Connection::tcp(server.address())
        .unwrap()
        .ask(&["SET", "more", "x"]);
    set("maxmemory", "0");
    let found = store.check().await.unwrap();
    assert!(
        matches!(found[..], [Danger::Evicted { keys: 1.., .. }]),
        "{found:?}"
    );
    server.ask(&["CONFIG", "RESETSTAT"]);

    server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(shown(&store).await, ["Replica"]);
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(shown(&store).await, [""; 0]);
}

#[tokio::test]
async fn what_a_managed_server_refuses_is_passed_over() {
    let server = Redis::start();
    server.ask(&[
        "ACL", "SETUSER", "app", "on", ">secret", "~idem:*", "+@all", "-config", "-info",
    ]);
    let url = format!("redis://app:secret@{}", server.address());
    let store = RedisStore::new(Connection::open(&url).await.unwrap());
    assert_eq!(store.check().await.unwrap(), []);
    // The default user is told.
    let open = RedisStore::new(Connection::open(&server.url()).await.unwrap());
    assert_eq!(shown(&open).await, ["NoAppendOnlyFile"]);
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_cluster_is_checked_at_each_primary() {
    let cluster = testkit::RedisCluster::start();
    let urls: Vec<_> = cluster.nodes().iter().map(Redis::url).collect();
    let whole = RedisStore::new(Connection::open_cluster(&urls).await.unwrap());
    // The three primaries say the same.
    let may_lag = |bound: &str| [format!("ReplicasMayLag {{ replicas: 1, bound: {bound} }}")];
    assert_eq!(shown(&whole).await, may_lag("None"));
    let need = |replicas: &str| {
        for node in cluster.nodes() {
            node.ask(&["CONFIG", "SET", "min-replicas-to-write", replicas]);
        }
    };
    need("1");
    assert_eq!(shown(&whole).await, may_lag("Some(10)"));
    need("0");
    let second = std::time::Duration::from_secs(1);
    let waiting = whole.wait_replicas(1, second).unwrap();
    assert_eq!(shown(&waiting).await, [""; 0]);
    let node = store(&cluster.nodes()[0]).await;
    let found = node.check().await.unwrap();
    assert!(found.contains(&Danger::ClusterNode), "{found:?}");
}
