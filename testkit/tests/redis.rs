//! Throwaway Redis servers, on real ones.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use testkit::resp::{Connection, Reply};
use testkit::{Append, Redis, RedisCluster};

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

#[test]
fn with_append_always_what_was_acknowledged_survives_a_kill() {
    let redis = Redis::builder().append(Append::Always).start();
    for n in 0..5 {
        let n = n.to_string();
        assert_eq!(redis.ask(&["SET", "key", &n]), text("OK"));
        redis.kill();
        assert_eq!(redis.pid(), None);
        redis.start_again();
        assert_eq!(redis.ask(&["GET", "key"]), text(&n));
    }
}

#[test]
fn without_append_nothing_does() {
    let redis = Redis::start();
    redis.ask(&["SET", "key", "value"]);
    redis.stop();
    redis.start_again();
    assert_eq!(redis.ask(&["GET", "key"]), Reply::Nil);
}

#[test]
fn settings_and_the_unix_socket_work() {
    let redis = Redis::builder()
        .append(Append::EverySecond)
        .setting("maxmemory", "10mb")
        .setting("maxmemory-policy", "allkeys-lru")
        .start();
    let mut unix = Connection::unix(&redis.socket()).unwrap();
    for (name, value) in [
        ("maxmemory", "10485760"),
        ("maxmemory-policy", "allkeys-lru"),
        ("appendfsync", "everysec"),
    ] {
        let expected = Reply::Array(vec![text(name), text(value)]);
        assert_eq!(unix.ask(&["CONFIG", "GET", name]).unwrap(), expected);
    }
}

#[test]
fn in_a_cluster_a_replica_takes_a_killed_primarys_place() {
    let cluster = RedisCluster::start();
    let primary = cluster.primary_of("key");
    let nodes = cluster.nodes();
    nodes[primary].ask(&["SET", "key", "value"]);
    assert_eq!(
        nodes[primary].ask(&["WAIT", "1", "10000"]),
        Reply::Integer(1)
    );

    let replica = cluster.fail_over(primary);
    assert_eq!(cluster.primary_of("key"), replica);
    assert_eq!(nodes[replica].ask(&["GET", "key"]), text("value"));

    cluster.start_again(primary);
    assert_eq!(cluster.fail_over(replica), primary, "and back");
    assert_eq!(nodes[primary].ask(&["GET", "key"]), text("value"));
}
