//! Purging many expired records beside as many live ones: a batch costs what it removes, from the first to
//! the last, and reserves beside it keep their pace. A test binary of its own: nothing else runs beside it.
//! With `IDEM_EFFORT=10`: a million and a million.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use idem_core::{
    IdempotencyStore as _, Inspect as _, OnLapse, ReserveRequest, Response, Terms, Token, Update,
};
use idem_postgres::PostgresStore;
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, Row as _};
use support::requests::{operation, reserve};
use support::{Isolated, SERVER, Way};

/// Of each kind, expired and live: a million with `IDEM_EFFORT=10`, and what is quickly made without it.
fn records() -> u64 {
    match testkit::effort() {
        1 => 40_000,
        effort => 100_000 * effort,
    }
}

const BATCH: usize = 250;
/// Reserves before the purge, to compare with.
const BEFORE: usize = 500;

fn request(key: &str, terms: Terms) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), terms)
}

async fn fill(isolated: &Isolated, count: u64) {
    let (store, name) = (&isolated.store, &isolated.name);
    let completed = reserve(store, &request("template", Terms::default())).await;
    let answer = Response::new(201).body(vec![b'x'; 300]).into();
    store.complete(&completed, &answer).await.unwrap();
    // Under hold, and begun: its copies have long lapsed, and nobody but a person may remove them.
    let held = request("unresolved", Terms::default()).on_lapse(OnLapse::Hold);
    let held = reserve(store, &held).await;
    let begun = store.renew(&held, Terms::default(), None).await;
    assert_eq!(begun.unwrap(), Update::Done);
    // A day is what is left of the template: it is over for the expired ones.
    let expired = format!("-3 * 86400000 - {count}");
    isolated.copy("template", "e", count, &expired).await;
    isolated.copy("template", "l", count, "0").await;
    isolated
        .copy("unresolved", "u", count / 100, &expired)
        .await;
    isolated.run(&format!("ANALYZE {name}")).await;
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// How long reserves take, each of a new key, until there are enough or it is over.
async fn reserves(
    store: &PostgresStore,
    named: char,
    enough: usize,
    over: &AtomicBool,
) -> Vec<Duration> {
    let mut times = Vec::new();
    while times.len() < enough && !over.load(Ordering::SeqCst) {
        let request = request(&format!("{named}{}", times.len()), Terms::default());
        let begun = Instant::now();
        reserve(store, &request).await;
        times.push(begun.elapsed());
    }
    times
}

/// How the server would run the purge, as it has prepared it for the store.
async fn plans(store: &PostgresStore) -> Vec<String> {
    let mut connection = store.pool().acquire().await.unwrap();
    let prepared = "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%SKIP LOCKED%'";
    let name: String = connection.fetch_one(prepared).await.unwrap().get(0);
    let mut plans = Vec::new();
    for mode in ["force_custom_plan", "force_generic_plan"] {
        let explain = format!("SET plan_cache_mode = {mode}; EXPLAIN EXECUTE \"{name}\" ({BATCH})");
        let rows = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(explain)));
        let lines: Vec<String> = rows.await.unwrap().iter().map(|row| row.get(0)).collect();
        plans.push(lines.join("\n"));
    }
    plans
}

/// To count what is due, and to choose what goes: never through the table.
async fn follows_its_index(store: &PostgresStore) {
    for plan in plans(store).await {
        let by_index = plan.matches("idempotency_records_purge_idx").count();
        assert!(by_index == 2 && !plan.contains("Seq Scan"), "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_keeps_its_pace_and_so_do_reserves_beside_it() {
    let count = records();
    let isolated = Isolated::open(Way::pool(1)).await;
    fill(&isolated, count).await;
    let beside = Way::pool(1).connect().await;
    let beside = PostgresStore::open(beside, isolated.table.clone())
        .await
        .unwrap();

    let over = Arc::new(AtomicBool::new(false));
    let before = reserves(&beside, 'b', BEFORE, &over).await;
    let reserving = {
        let (over, beside) = (Arc::clone(&over), beside.clone());
        tokio::spawn(async move { reserves(&beside, 'd', usize::MAX, &over).await })
    };
    let (mut batches, mut removed) = (Vec::new(), 0);
    isolated.store.purge_expired(0).await.unwrap();
    follows_its_index(&isolated.store).await;
    loop {
        let begun = Instant::now();
        let purged = isolated.store.purge_expired(BATCH).await.unwrap();
        batches.push(begun.elapsed());
        removed += purged.removed as u64;
        if !purged.more {
            break;
        }
    }
    over.store(true, Ordering::SeqCst);
    let during = reserving.await.unwrap();

    assert_eq!(removed, count);
    let name = &isolated.name;
    let left = |of: &str| format!("SELECT count(*) FROM {name} WHERE {of}");
    let made = (before.len() + during.len()) as i64;
    let live = isolated.number(&left("state = 'completed'")).await;
    assert_eq!(
        live,
        1 + count as i64,
        "every live record, and the template"
    );
    let in_flight = isolated
        .number(&left("purge_at IS NOT NULL AND state = 'in_flight'"))
        .await;
    assert_eq!(in_flight, made, "every record that was reserved meanwhile");
    let unresolved = isolated.number(&left("purge_at IS NULL")).await;
    assert_eq!(
        unresolved,
        1 + count as i64 / 100,
        "every unresolved record"
    );

    follows_its_index(&isolated.store).await;

    let fifth = batches.len() / 5;
    let early = median(&batches[..fifth]);
    let late = median(&batches[batches.len() - fifth..]);
    let (alone, with) = (median(&before), median(&during));
    println!(
        "{count} expired and {count} live: {} batches of {BATCH}, early {early:.1?}, late {late:.1?}: \
         ratio {:.2}; a reserve alone {alone:.1?}, beside the purge {with:.1?}: ratio {:.2} ({} of them)",
        batches.len(),
        ratio(late, early),
        ratio(with, alone),
        during.len(),
    );
    assert!(ratio(late, early) < 4.0, "late batches are slower");
    assert!(
        ratio(with, alone) < 5.0,
        "reserves are slower beside the purge"
    );
    assert!(!SERVER.log().contains("deadlock detected"));
}
