//! What calls cost, counted at the server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::time::Duration;

use idem_core::{Answer, IdempotencyStore, Inspect, Outcome, Response, Terms};
use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use idem_postgres::{PostgresStore, Statements, Table};
use support::requests::{request, reserve};
use support::statistics::Statistics;
use support::{Isolated, Way};
use testkit::Postgres;

fn answer() -> Answer {
    Response::new(201).body(vec![b'x'; 300]).into()
}

#[tokio::test]
async fn reserving_completing_and_replaying_are_one_statement_each_and_a_replay_writes_nothing() {
    for statements in [Statements::Prepared, Statements::Text] {
        let mut statistics = Statistics::start();
        let store = statistics.store(1, statements).await;
        // What is prepared once for each connection is prepared now.
        let warm = reserve(&store, &request("warm")).await;
        store.complete(&warm, &answer()).await.unwrap();
        statistics.new_statements();

        let holder = reserve(&store, &request("k")).await;
        assert_eq!(statistics.new_statements().len(), 1);
        store.complete(&holder, &answer()).await.unwrap();
        assert_eq!(statistics.new_statements().len(), 1);

        let wal = "SELECT pg_current_wal_insert_lsn(), \
                   (SELECT xmax FROM idempotency_records WHERE key = 'k')";
        let before = statistics.server.psql(wal).unwrap();
        statistics.new_statements();
        for _ in 0..10 {
            let replay = store.reserve(&request("k")).await.unwrap();
            assert!(matches!(replay, Outcome::Replay(_)));
        }
        let ran = statistics.new_statements();
        assert_eq!(ran.len(), 10, "{ran:?}");
        // Not a byte of WAL, so no write, no transaction id and no lock on the row.
        assert_eq!(statistics.server.psql(wal).unwrap(), before);
    }
}

/// On a busy machine a commit may take longer than a statement waits: what it wrote decides.
#[tokio::test]
async fn who_waits_in_vain_for_a_commit_looks_once_again() {
    let server = Postgres::start();
    let options = PgConnectOptions::new()
        .socket(server.socket_folder())
        .port(server.port_number())
        .username("postgres");
    let pool = PgPoolOptions::new().max_connections(2);
    let pool = pool.connect_with(options).await.unwrap();
    let table = Table::default();
    PostgresStore::migrate(&pool, &table).await.unwrap();
    let store = PostgresStore::open(pool.clone(), table).await.unwrap();
    let waited_in_vain = || {
        let log = server.log();
        let lines = log.lines().filter(|line| line.contains("lock timeout"));
        lines.count()
    };
    let mut uncommitted = pool.begin().await.unwrap();
    let wait = Duration::from_millis(1);
    let (one, another) = (request("k"), request("k"));
    let outcome = store.reserve_in(&mut uncommitted, &one, wait);
    assert!(matches!(outcome.await.unwrap(), Outcome::Reserved { .. }));
    let outcome = store.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Conflict { .. }));
    assert_eq!(waited_in_vain(), 2);
    // Its own transaction waits for as long as it was told, once.
    let mut other = pool.begin().await.unwrap();
    let outcome = store.reserve_in(&mut other, &another, wait);
    assert!(matches!(outcome.await.unwrap(), Outcome::Conflict { .. }));
    assert_eq!(waited_in_vain(), 3);
}

#[tokio::test]
async fn completing_and_renewing_are_hot_updates() {
    let isolated = Isolated::open(Way::pool(1)).await;
    for n in 0..500 {
        let holder = reserve(&isolated.store, &request(&n.to_string())).await;
        isolated
            .store
            .renew(&holder, Terms::default(), None)
            .await
            .unwrap();
        isolated.store.complete(&holder, &answer()).await.unwrap();
    }
    isolated.run("SELECT pg_stat_force_next_flush()").await;
    let of = |column: &str| {
        format!(
            "SELECT {column} FROM pg_stat_user_tables WHERE schemaname = '{}' \
             AND relname = 'idempotency_records'",
            isolated.schema
        )
    };
    let updates = isolated.number(&of("n_tup_upd")).await;
    let hot = isolated.number(&of("n_tup_hot_upd")).await;
    println!("{hot} of {updates} updates are HOT");
    assert_eq!(updates, 1000);
    assert!(hot >= 990, "{hot} of {updates}");
}

#[tokio::test]
async fn a_purge_follows_its_index_and_not_the_table() {
    let isolated = Isolated::open(Way::pool(1)).await;
    let name = &isolated.name;
    reserve(&isolated.store, &request("due")).await;
    isolated.advance(Duration::from_secs(25 * 3600)).await;
    isolated
        .run(&format!(
            "INSERT INTO {name} SELECT scope, convert_to(n::text, 'UTF8'), fingerprint, fingerprint_version, \
             token, attempt, state, hold, started, first_reserved_at, last_reserved_at, lease_ends_at, \
             retention, retention_ends_at + 1000000000, purge_at + 1000000000, revision, written_at, progress, \
             status, answer, body_length FROM {name}, generate_series(1, 20000) AS n; ANALYZE {name}; \
             SELECT pg_stat_force_next_flush()"
        ))
        .await;
    let scans = |kind: &str| {
        format!(
            "SELECT {kind} FROM pg_stat_user_tables WHERE schemaname = '{}' \
             AND relname = 'idempotency_records'",
            isolated.schema
        )
    };
    let before = isolated.number(&scans("seq_scan")).await;
    let purged = isolated.store.purge_expired(100).await.unwrap();
    assert_eq!((purged.removed, purged.more), (1, false));
    isolated.run("SELECT pg_stat_force_next_flush()").await;
    assert_eq!(isolated.number(&scans("seq_scan")).await, before);
    let left = isolated
        .number(&format!("SELECT count(*) FROM {name}"))
        .await;
    assert_eq!(left, 20_000);
}
