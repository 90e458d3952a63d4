//! Purging, round after round and beside full load: the table does not grow, nothing deadlocks, and nothing
//! goes that is live or unresolved.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_core::{
    Answer, Completion, Condition, Holder, IdempotencyStore as _, Inspect as _, OnLapse, Outcome,
    ReserveRequest, Response, Terms, Token, Update,
};
use idem_postgres::PostgresStore;
use support::requests::operation;
use support::{Isolated, SERVER, Way};
use testkit::{Rng, Seed, effort};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

fn request(key: &str, terms: Terms) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), terms)
}

/// Whoever made the record; nothing if another was faster.
async fn reserve(store: &PostgresStore, request: &ReserveRequest) -> Option<Holder> {
    let Outcome::Reserved { attempt, .. } = store.reserve(request).await.unwrap() else {
        return None;
    };
    let record = request.operation.record.clone();
    Some(Holder::new(record, request.token, attempt))
}

fn answer(bytes: usize) -> Answer {
    Response::new(201).body(vec![b'x'; bytes]).into()
}

/// Expired and live in each round.
const RECORDS: u64 = 2000;

#[tokio::test]
async fn ten_rounds_of_filling_and_purging_do_not_bloat_the_table() {
    let isolated = Isolated::open(Way::pool(1)).await;
    let (store, name, count) = (&isolated.store, &isolated.name, RECORDS * effort());
    let holder = reserve(store, &request("template", Terms::default())).await;
    store
        .complete(&holder.unwrap(), &answer(300))
        .await
        .unwrap();
    isolated.copy("template", "live", count, "0").await;

    let mut sizes = Vec::new();
    for round in 1..=10_u64 {
        // A day is what is left of the template; rounds expire one after the other.
        let expired = format!("-3 * 86400000 + {round} * {count}");
        isolated
            .copy("template", &format!("{round}-"), count, &expired)
            .await;
        // As completing them does.
        let complete =
            format!("UPDATE {name} SET revision = revision + 1 WHERE key LIKE '{round}-%'");
        isolated.run(&complete).await;
        let mut removed = 0;
        while removed < count {
            removed += store.purge_expired(500).await.unwrap().removed as u64;
        }
        // As autovacuum does, at a fiftieth of the table by its setting; here between the rounds.
        isolated.run(&format!("VACUUM {name}")).await;
        let table = isolated
            .number(&format!("SELECT pg_table_size('{name}')"))
            .await;
        let indexes = isolated
            .number(&format!("SELECT pg_indexes_size('{name}')"))
            .await;
        sizes.push((table, indexes));
    }
    let ((table, indexes), (later_table, later_indexes)) = (sizes[2], sizes[9]);
    println!("{count} records a round: table and indexes after each {sizes:?} bytes");
    assert!(later_table <= table * 5 / 4, "{table} to {later_table}");
    assert!(
        later_indexes <= indexes * 5 / 4,
        "{indexes} to {later_indexes}"
    );
    let left = isolated
        .number(&format!("SELECT count(*) FROM {name}"))
        .await;
    assert_eq!(left, 1 + count as i64, "the live ones, and the template");
}

/// They fight for so few keys.
const KEYS: u64 = 12;
const WORKERS: u64 = 8;
const PURGERS: usize = 2;
const ROUNDS: u64 = 50;
const BEYOND: Duration = Duration::from_secs(3600);

/// What a worker leaves behind that must not go.
#[derive(Default)]
struct Kept {
    live: Vec<ReserveRequest>,
    unresolved: Vec<ReserveRequest>,
}

/// Short-lived records on keys that all share, which expire and are purged under its hands, and records of
/// its own that must stay.
async fn work(store: &PostgresStore, worker: u64, rng: &mut Rng) -> Kept {
    let moment = Terms::new(Duration::from_millis(1), Duration::from_millis(2)).unwrap();
    let brief = Terms::new(Duration::from_millis(20), Duration::from_millis(40)).unwrap();
    let (mut kept, long) = (Kept::default(), Terms::new(BEYOND, 2 * BEYOND).unwrap());
    for round in 0..ROUNDS * effort() {
        let shared = request(&format!("shared-{}", rng.below(KEYS)), moment);
        if let Some(holder) = reserve(store, &shared).await {
            // Each of them may come too late, and none may fail.
            match rng.below(4) {
                0 => _ = store.complete(&holder, &answer(20)).await.unwrap(),
                1 => _ = store.renew(&holder, moment, None).await.unwrap(),
                2 => _ = store.abandon(&holder).await.unwrap(),
                _ => _ = store.release(&holder).await.unwrap(),
            }
        }
        let own = format!("{worker}-{round}");
        if rng.one_in(2) {
            let live = request(&own, long);
            let holder = reserve(store, &live).await.unwrap();
            if rng.one_in(2) {
                let completed = store.complete(&holder, &answer(20)).await.unwrap();
                assert!(
                    matches!(completed, Completion::Completed { .. }),
                    "{completed:?}"
                );
            }
            kept.live.push(live);
        } else {
            let held = request(&own, brief).on_lapse(OnLapse::Hold);
            let holder = reserve(store, &held).await.unwrap();
            // It has begun, and its lease is soon over; unless this came too late, and it never began.
            if store.renew(&holder, brief, None).await.unwrap() == Update::Done {
                kept.unresolved.push(held);
            }
        }
    }
    kept
}

async fn stands(store: &PostgresStore, request: &ReserveRequest, unresolved: bool) -> bool {
    let record = store.get(&request.operation.record).await.unwrap();
    record.is_some_and(|record| {
        let is_so = matches!(record.condition, Condition::Unresolved { .. });
        record.holder.token == request.token && is_so == unresolved
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_beside_full_load_never_deadlocks_and_takes_nothing_that_must_stay() {
    let seed =
        Seed::of("a_purge_beside_full_load_never_deadlocks_and_takes_nothing_that_must_stay");
    for isolation in ["read committed", "serializable"] {
        let isolated = Isolated::open(Way::pool(10).isolation(isolation)).await;
        let over = Arc::new(Semaphore::new(0));
        let purgers: JoinSet<_> = (0..PURGERS)
            .map(|_| {
                let (store, over) = (isolated.store.clone(), Arc::clone(&over));
                async move {
                    let mut removed = 0;
                    while over.available_permits() == 0 {
                        removed += store.purge_expired(7).await.unwrap().removed;
                    }
                    removed
                }
            })
            .collect();
        let workers: JoinSet<_> = (0..WORKERS)
            .map(|worker| {
                let (store, mut rng) = (isolated.store.clone(), seed.rng(isolation, worker));
                async move { work(&store, worker, &mut rng).await }
            })
            .collect();
        let kept = workers.join_all().await;
        over.add_permits(1);
        let removed: usize = purgers.join_all().await.into_iter().sum();

        let (mut live, mut unresolved) = (0, 0);
        for kept in kept {
            for request in &kept.live {
                assert!(stands(&isolated.store, request, false).await, "{seed}");
            }
            for request in &kept.unresolved {
                assert!(stands(&isolated.store, request, true).await, "{seed}");
            }
            live += kept.live.len();
            unresolved += kept.unresolved.len();
        }
        println!(
            "{isolation}: {removed} purged, {live} live and {unresolved} unresolved stayed; {seed}"
        );
        let least = usize::try_from(WORKERS * ROUNDS * effort() / 10).unwrap();
        assert!(
            removed >= least && live >= least && unresolved >= least,
            "{seed}"
        );
    }
    assert!(!SERVER.log().contains("deadlock detected"));
}
