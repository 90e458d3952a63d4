//! A Redis that is restarted, evicts or is slow costs speed; and one that loses a removal, a conflict until the mark ends.

use std::time::{Duration, Instant};

use idem_core::{Cached, IdempotencyStore, Outcome, Response};
use idem_postgres::PostgresStore;
use idem_redis::{Connection, RedisCache};
use testkit::resp::Reply;
use testkit::{Fault, Plan, Proxy, Redis};

use crate::nodes::PATIENCE;
use crate::support::{Isolated, Way};
use crate::{operation, paid, request, reserve};

type Node = Cached<PostgresStore, RedisCache>;

async fn node_before(database: &Isolated, redis: &str) -> Node {
    let connection = Connection::open(redis).await.unwrap();
    Cached::new(database.store.clone(), RedisCache::new(connection))
}

/// From a reservation to a replay, with a conflict between, whatever the cache does.
async fn goes_well(node: &Node, key: &str, answer: &Response) {
    let holder = reserve(node, &request(key)).await;
    let conflict = node.reserve(&request(key)).await.unwrap();
    assert!(matches!(conflict, Outcome::Conflict { .. }), "{conflict:?}");
    let completed = node.complete(&holder, &answer.clone().into()).await;
    completed.unwrap();
    is_replayed(node, key, answer).await;
}

async fn is_replayed(node: &Node, key: &str, answer: &Response) {
    let Outcome::Replay(replay) = node.reserve(&request(key)).await.unwrap() else {
        panic!("{key} is not replayed")
    };
    assert_eq!(replay.answer, answer.clone().into());
}

/// A number that a server has counted.
pub(crate) fn statistic(redis: &Redis, name: &str) -> u64 {
    let Reply::Text(info) = redis.ask(&["INFO", "stats"]) else {
        panic!("no statistics")
    };
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    let (_, number) = lines.find(|(own, _)| *own == name).unwrap();
    number.trim().parse().unwrap()
}

#[tokio::test]
async fn after_a_restart_it_is_filled_again() {
    let (redis, database) = (Redis::start(), Isolated::open(Way::pool(2)).await);
    let node = node_before(&database, &redis.url()).await;
    goes_well(&node, "before", &paid()).await;
    redis.kill();
    goes_well(&node, "meanwhile", &paid()).await;
    redis.start_again();
    assert_eq!(redis.ask(&["DBSIZE"]), Reply::Integer(0));
    let deadline = Instant::now() + Duration::from_secs(20);
    for key in ["before", "meanwhile"] {
        while node.look_up(&operation(key)).await.is_none() {
            is_replayed(&node, key, &paid()).await;
            assert!(Instant::now() < deadline, "it is not filled again");
        }
    }
    goes_well(&node, "after", &paid()).await;
}

#[tokio::test]
async fn what_it_evicts_costs_speed_only() {
    let redis = Redis::builder()
        .setting("maxmemory", "4mb")
        .setting("maxmemory-policy", "allkeys-lru")
        .start();
    let database = Isolated::open(Way::pool(2)).await;
    let node = node_before(&database, &redis.url()).await;
    let node = node.cache_timeout(PATIENCE);
    let large = Response::new(201).body(vec![b'x'; 100_000]);
    let keys: Vec<_> = (0..60).map(|n| format!("order-{n}")).collect();
    for key in &keys {
        goes_well(&node, key, &large).await;
    }
    for key in &keys {
        is_replayed(&node, key, &large).await;
    }
    let evicted = statistic(&redis, "evicted_keys");
    println!("{evicted} values evicted");
    assert!(evicted > 20);
}

#[tokio::test]
async fn one_that_never_answers_is_waited_for_as_long_as_was_said() {
    let (redis, database) = (Redis::start(), Isolated::open(Way::pool(2)).await);
    let plan = Plan::from_fn(|request| {
        let asks = ["GET", "TIME", "PXAT", "DEL"];
        match asks.iter().any(|command| request.contains(command)) {
            true => Fault::Stall,
            false => Fault::None,
        }
    });
    let proxy = Proxy::start(redis.address(), plan);
    let node = node_before(&database, &format!("redis://{}", proxy.address())).await;
    let began = Instant::now();
    goes_well(&node, "k", &paid()).await;
    // Four calls, which ask the cache seven times.
    let took = began.elapsed();
    println!("four calls took {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_removal_that_is_lost_is_a_conflict_until_the_mark_ends() {
    let (redis, database) = (Redis::start(), Isolated::open(Way::pool(2)).await);
    let proxy = Proxy::start(redis.address(), Plan::once("DEL", Fault::Stall));
    let url = format!("redis://{}", proxy.address());
    let mark = Duration::from_millis(1500);
    let impatient = node_before(&database, &url).await.marks(mark);
    // A busy machine must not lose the mark.
    let node = impatient.clone().cache_timeout(PATIENCE);
    let holder = reserve(&node, &request("k")).await;
    let marked = Instant::now();
    impatient.release(&holder).await.unwrap();
    // Another node, by a line that works.
    let other = node_before(&database, &redis.url()).await;
    let other = other.cache_timeout(PATIENCE);
    let mut false_conflicts = 0;
    let again = loop {
        let since = marked.elapsed();
        match other.reserve(&request("k")).await.unwrap() {
            Outcome::Conflict { retry_after } => {
                false_conflicts += 1;
                let ends = since + retry_after.unwrap();
                assert!(
                    ends <= mark + Duration::from_millis(2),
                    "it ends after {ends:?}"
                );
                // why: it ends by the server's clock
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => break other,
        }
    };
    assert!(matches!(again, Outcome::Reserved { attempt: 1, .. }));
    assert!(false_conflicts > 0, "the mark was removed");
}
