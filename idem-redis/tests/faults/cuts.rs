//! Many callers over lines that are cut, slow and late at random: no effect twice, no acknowledged answer lost or
//! changed, nothing stuck.

use std::time::Duration;

use idem_core::{Idempotency, OnConflict};
use idem_redis::{Connection, Limits, RedisStore};
use testkit::{Fault, Plan, Proxy, Redis, Seed, effort, until};

use crate::load::Load;

const TEST: &str = "a_storm_of_cuts_loses_no_answer_and_repeats_no_effect";
/// Shorter than the longest delay: writes arrive that are too late.
const LEASE: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_millis(450);
/// Before the server has applied a request, and after.
const CUTS: u64 = 40;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_cuts_loses_no_answer_and_repeats_no_effect() {
    let seed = Seed::of(TEST);
    let server = Redis::start();
    let proxy = Proxy::start(server.address(), Plan::none());
    let mut executors = Vec::new();
    // A line each, so that a fault meets one request of few.
    for number in 0..8 {
        let limits = Limits::default().answer(Duration::from_millis(250));
        let url = format!("redis://{}", proxy.address());
        let connection = Connection::open_within(&url, limits).await.unwrap();
        let store = RedisStore::new(connection);
        let store = if number % 2 == 0 {
            store
        } else {
            store.without_native()
        };
        let builder = Idempotency::builder(store)
            .lease(LEASE)
            .store_timeouts(Duration::from_millis(400), Duration::from_secs(1))
            .on_conflict(OnConflict::Wait { up_to: LEASE });
        executors.push(builder.build().unwrap());
    }
    let faults = Fault::of_every_kind(LATE);
    proxy.follow(Plan::seeded(&seed, 16, faults));
    let load = Load::start(&seed, executors);
    let before = || proxy.counts().requests_dropped + proxy.counts().requests_cut;
    let after = || proxy.counts().answers_dropped + proxy.counts().answers_cut;
    tokio::task::block_in_place(|| {
        until("enough cuts of either kind", PATIENCE, || {
            let enough = CUTS * effort();
            (before() >= enough && after() >= enough).then_some(())
        });
    });
    let counts = proxy.counts();
    let found = load.end().await;
    let lost = found.lost();
    println!("{found}; {counts:?}; {seed}");
    assert!(lost.is_empty(), "{lost:?}: {seed}");
}
