//! Payments over Redis, and with it as a cache before a database.

use testkit::{Postgres, Redis, RedisCluster};

use crate::http::{PAYMENT, ledger, pay};
use crate::process::{Payments, run};
use crate::story::assert_all_ok;

const KEY: &str = "idempotency-key: order-17";

/// What one process answers, another replays, and the provider is called once.
fn one_answers_and_another_replays(flags: &[&str]) {
    let (_one, one) = Payments::serve(flags);
    let (_other, other) = Payments::serve(flags);
    let first = pay(one, KEY, PAYMENT);
    assert_eq!((first.status, first.is_replayed()), (201, false));
    for repeated_at in [other, other, one] {
        let repeat = pay(repeated_at, KEY, PAYMENT);
        assert!(repeat.is_replayed());
        assert_eq!(repeat.as_given(), first.as_given());
    }
    assert_eq!(pay(other, KEY, r#"{"amount":"9.99"}"#).status, 422);
    assert_eq!(ledger(one).charges.len(), 1);
    assert_eq!(ledger(other).provider_calls, 0);
}

#[test]
fn on_a_server() {
    let redis = Redis::start();
    let url = redis.url();
    assert_all_ok(&run(&["--store", &url]), 2);
    one_answers_and_another_replays(&["--store", &url, "--cache", "memory"]);
}

#[test]
fn on_a_cluster() {
    let cluster = RedisCluster::start_with(Redis::builder());
    let nodes: Vec<_> = cluster
        .addresses()
        .iter()
        .map(|it| it.to_string())
        .collect();
    let url = format!("redis-cluster://{}", nodes[..2].join(","));
    assert_all_ok(&run(&["--store", &url]), 2);
    one_answers_and_another_replays(&["--store", &url]);
}

/// Once the records are gone, only the cache can be what replays.
#[test]
fn as_a_cache_before_postgres() {
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let (store, cache) = (postgres.url(), redis.url());
    let flags = ["--store", &store, "--cache", &cache];
    assert_all_ok(&run(&flags), 4);
    one_answers_and_another_replays(&flags);
    postgres.psql("TRUNCATE idempotency_records").unwrap();
    let (_third, third) = Payments::serve(&flags);
    assert!(pay(third, KEY, PAYMENT).is_replayed());
}
