//! The table: made by many at once, and impossible rows that it refuses; and what is wrong with a server
//! is found at construction.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use idem_core::{
    Error, Fingerprint, IdempotencyStore, Inspect, Key, Operation, RecordId, ReserveRequest, Scope,
    Terms, Token,
};
use idem_postgres::sqlx::postgres::PgPoolOptions;
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool};
use idem_postgres::{PostgresStore, Table};
use support::{Isolated, SERVER, Way};
use tokio::task::JoinSet;

fn record() -> RecordId {
    RecordId::new(Scope::new("acct_812").unwrap(), Key::new("k").unwrap())
}

fn request() -> ReserveRequest {
    let operation = Operation {
        record: record(),
        fingerprint: Fingerprint::raw("150.00"),
    };
    ReserveRequest::new(operation, Token::random(), Terms::default())
}

#[tokio::test]
async fn many_processes_may_migrate_at_once_and_again() {
    let table = Table::new("many")
        .unwrap()
        .in_schema("made_by_many")
        .unwrap();
    let mut migrating = JoinSet::new();
    for _ in 0..20 {
        let table = table.clone();
        migrating.spawn(async move {
            let pool = Way::pool(1).connect().await;
            PostgresStore::migrate(&pool, &table).await.unwrap();
        });
    }
    migrating.join_all().await;
    let pool = Way::pool(1).connect().await;
    PostgresStore::migrate(&pool, &table).await.unwrap();
    let store = PostgresStore::open(pool, table).await.unwrap();
    store.reserve(&request()).await.unwrap();
    let versions = SERVER
        .psql("SELECT count(*) FROM made_by_many.many_version")
        .unwrap();
    assert_eq!(versions.trim(), "1");
}

#[tokio::test]
async fn the_sql_to_paste_makes_the_same_table() {
    let pool = Way::pool(1).connect().await;
    run(&pool, "CREATE SCHEMA pasted").await.unwrap();
    let table = Table::default().in_schema("pasted").unwrap();
    run(&pool, &PostgresStore::schema(&table)).await.unwrap();
    PostgresStore::migrate(&pool, &table).await.unwrap();
    assert!(PostgresStore::open(pool, table).await.is_ok());
}

async fn run(pool: &PgPool, sql: &str) -> Result<(), sqlx::Error> {
    let text = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    pool.execute(text).await.map(|_| ())
}

#[tokio::test]
async fn impossible_rows_are_refused() {
    let isolated = Isolated::open(Way::pool(1)).await;
    isolated.store.reserve(&request()).await.unwrap();
    for change in [
        "scope = ''",
        "key = ''",
        "key = convert_to(repeat('k', 256), 'UTF8')",
        "fingerprint = '\\x00'",
        "token = '\\x00'",
        "attempt = 0",
        "attempt = 4294967296",
        "state = 'running'",
        "state = 'completed'",
        "state = 'completed', status = 200",
        "state = 'completed', answer = '\\x00'",
        "state = 'completed', status = 200, answer = '\\x00', body_length = 1",
        "state = 'completed', status = 70000, answer = '\\x00'",
        "status = 200",
        "answer = '\\x00'",
        "body_length = 1",
        "purge_at = NULL",
        "hold = true, started = true",
        "retention = 0",
        "progress = convert_to(repeat('p', 65537), 'UTF8')",
    ] {
        let update = format!("UPDATE {} SET {change}", isolated.name);
        let refused = run(isolated.store.pool(), &update).await.unwrap_err();
        let code = refused.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("23514"), "{change}");
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_an_error_and_never_vacant() {
    let isolated = Isolated::open(Way::pool(1)).await;
    isolated.store.reserve(&request()).await.unwrap();
    let spoil = format!(
        "UPDATE {} SET state = 'completed', status = 200, answer = '\\xffffff'",
        isolated.name
    );
    isolated.run(&spoil).await;
    assert!(
        isolated
            .store
            .reserve(&request())
            .await
            .unwrap_err()
            .is_corrupt()
    );
    assert!(
        isolated
            .store
            .get(&record())
            .await
            .unwrap_err()
            .is_corrupt()
    );
}

/// The error, whole, and that it says this.
#[track_caller]
fn assert_says(opened: Result<PostgresStore, Error>, remedy: &str) {
    let error = opened.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(remedy), "{error:?}");
}

#[tokio::test]
async fn what_is_wrong_with_the_server_is_found_at_construction_with_its_remedy() {
    let pool = Way::pool(1).connect().await;
    let missing = Table::new("missing").unwrap();
    assert_says(
        PostgresStore::open(pool.clone(), missing).await,
        "is missing: run PostgresStore::migrate",
    );

    let isolated = Isolated::open(Way::pool(1)).await;
    for (version, remedy) in [
        ("0", "older version: run PostgresStore::migrate"),
        ("9", "newer version: update idem-postgres"),
    ] {
        let set = format!("UPDATE {}_version SET version = {version}", isolated.name);
        isolated.run(&set).await;
        assert_says(
            PostgresStore::open(pool.clone(), isolated.table.clone()).await,
            remedy,
        );
    }

    let read_only = support::options().options([("default_transaction_read_only", "on")]);
    let read_only = PgPoolOptions::new().connect_with(read_only).await.unwrap();
    assert_says(
        PostgresStore::open(read_only, Table::default()).await,
        "takes no writes",
    );

    let socket = SERVER.socket_folder().display();
    let port = SERVER.port_number();
    let url = |database: &str, user: &str| {
        format!("postgres://{user}@localhost/{database}?host={socket}&port={port}")
    };
    assert_says(
        PostgresStore::connect(&url("none", "postgres"), 1, Table::default()).await,
        "the database does not exist",
    );
    assert_says(
        PostgresStore::connect(&url("postgres", "nobody"), 1, Table::default()).await,
        "the role or its password",
    );
    assert_says(
        PostgresStore::connect("not a url", 1, Table::default()).await,
        "is not right",
    );
    let away = "postgres://postgres@localhost/postgres?host=/nowhere";
    let error = PostgresStore::connect(away, 1, Table::default())
        .await
        .unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");

    PostgresStore::migrate(&pool, &isolated.table)
        .await
        .unwrap();
    let grants = format!(
        "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA {schema} TO clerk; \
         GRANT SELECT ON {name}_version TO clerk",
        schema = isolated.schema,
        name = isolated.name
    );
    isolated
        .run(&format!("UPDATE {}_version SET version = 1", isolated.name))
        .await;
    isolated.run(&grants).await;
    let clerk = PostgresStore::connect(&url("postgres", "clerk"), 1, isolated.table.clone()).await;
    let refused = clerk.unwrap().reserve(&request()).await.unwrap_err();
    assert!(refused.to_string().contains("grant it"), "{refused:?}");
}
