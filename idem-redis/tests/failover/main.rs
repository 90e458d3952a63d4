//! Primaries of a cluster are killed while operations run, and replicas take their place: what that loses, with and
//! without waiting for replicas. The provider knows the derived key again: no effect happens twice, whatever is lost.
#![cfg(feature = "cluster")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

#[path = "../faults/load.rs"]
mod load;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use idem_core::{Idempotency, OnConflict};
use idem_redis::{Connection, Prefix, RedisStore};
use testkit::{Redis, RedisCluster, Seed, effort};
use tokio::task::block_in_place;

use crate::load::Load;

const ROUNDS: u64 = 3;
/// For so long a replica hears nothing before its primary is killed.
const LAG: Duration = Duration::from_millis(300);

const TEST: &str = "a_failover_loses_nothing_that_replicas_had_confirmed";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_loses_nothing_that_replicas_had_confirmed() {
    let seed = Seed::of(TEST);
    let cluster = block_in_place(|| RedisCluster::start_with(Redis::builder()));
    let plain = Load::start(&seed, executors(&cluster, "plain").await);
    let waiting = Load::start(&seed, executors(&cluster, "waiting").await);
    let mut rng = seed.rng("failovers", 0);
    for round in 1..=ROUNDS * effort() {
        // why: operations get on between failovers
        tokio::time::sleep(Duration::from_millis(400)).await;
        block_in_place(|| {
            let primary = cluster.primary_of(&format!("any-{}", rng.next()));
            if round % 3 == 0 {
                cluster.fail_over(primary);
            } else {
                cluster.fail_over_behind(primary, LAG);
            }
            cluster.start_again(primary);
        });
    }
    let (plain, waiting) = tokio::join!(plain.end(), waiting.end());
    let (lost, lost_all_the_same) = (plain.lost(), waiting.lost());
    let (rounds, lost) = (ROUNDS * effort(), lost.len());
    println!("{plain}; {lost} acknowledged answers lost by {rounds} failovers");
    println!(
        "with wait_replicas(1): {waiting}; {} lost; {seed} --features cluster",
        lost_all_the_same.len()
    );
    assert!(
        lost_all_the_same.is_empty(),
        "{lost_all_the_same:?}: {seed}"
    );
    assert!(waiting.operations() as u64 > 10 * effort(), "{waiting}");
}

/// Four on one connection each, one of two by scripts alone.
async fn executors(cluster: &RedisCluster, prefix: &str) -> Vec<Idempotency> {
    let mut executors = Vec::new();
    for number in 0..4 {
        let urls = cluster.nodes().iter().map(Redis::url);
        let connection = Connection::open_cluster(urls).await.unwrap();
        let mut store = RedisStore::new(connection).with_prefix(Prefix::new(prefix).unwrap());
        if number % 2 == 1 {
            store = store.without_native();
        }
        if prefix == "waiting" {
            store = store.wait_replicas(1, Duration::from_millis(200)).unwrap();
        }
        let builder = Idempotency::builder(store).lease(Duration::from_millis(1500));
        let wait = OnConflict::Wait {
            up_to: Duration::from_secs(3),
        };
        executors.push(builder.on_conflict(wait).build().unwrap());
    }
    executors
}
