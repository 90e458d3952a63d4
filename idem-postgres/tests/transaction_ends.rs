//! How transactions end: dropped, rolled back in part, committed by hand, refused by the server. Each row
//! of the front page's table.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use idem_core::{
    Applied, Executed, Holder, IdempotencyStore as _, Inspect as _, Outcome, ReserveRequest,
    Response, Terms, Token,
};
use idem_postgres::sqlx::postgres::PgConnection;
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, Row as _};
use idem_postgres::{EffectConnection, NotCompleted, PostgresStore, Reserved, RunInError};
use support::requests::{operation, paid};
use support::{Isolated, Way};
use tokio::sync::Barrier;

const WAIT: Duration = Duration::from_millis(100);

async fn world(way: Way) -> (Isolated, String) {
    let isolated = Isolated::open(way).await;
    let table = format!("{}.payments", isolated.schema);
    isolated
        .run(&format!("CREATE TABLE {table} (key text)"))
        .await;
    (isolated, table)
}

async fn run(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    connection.execute(sql).await.map(|_| ())
}

/// The parts of `run_in`, in a transaction of one's own.
async fn reserve_in(store: &PostgresStore, connection: &mut PgConnection, key: &str) -> Holder {
    let request = ReserveRequest::new(operation(key), Token::random(), Terms::default());
    let outcome = store.reserve_in(connection, &request, WAIT).await.unwrap();
    let Outcome::Reserved { attempt, .. } = outcome else {
        panic!("{outcome:?}")
    };
    Holder::new(operation(key).record, request.token, attempt)
}

async fn is_vacant(isolated: &Isolated, key: &str) -> bool {
    let record = isolated.store.get(&operation(key).record).await;
    record.unwrap().is_none()
}

#[tokio::test]
async fn a_transaction_that_is_dropped_before_its_commit_has_not_happened() {
    let (isolated, table) = world(Way::pool(1)).await;
    let store = &isolated.store;
    for complete in [false, true] {
        let mut transaction = store.pool().begin().await.unwrap();
        let holder = reserve_in(store, &mut transaction, "k").await;
        let insert = format!("INSERT INTO {table} VALUES ('k')");
        run(&mut transaction, insert).await.unwrap();
        if complete {
            let completed = store.complete_held_in(&mut transaction, &holder, paid());
            completed.await.unwrap();
        }
        drop(transaction);
        assert!(is_vacant(&isolated, "k").await);
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(isolated.number(&count).await, 0);
    }
}

#[tokio::test]
async fn the_parts_in_ones_own_transaction_commit_together() {
    let (isolated, table) = world(Way::pool(1)).await;
    let store = &isolated.store;
    let mut transaction = store.pool().begin().await.unwrap();
    let holder = reserve_in(store, &mut transaction, "k").await;
    let insert = format!("INSERT INTO {table} VALUES ('k')");
    run(&mut transaction, insert).await.unwrap();
    let completed = store.complete_held_in(&mut transaction, &holder, paid());
    completed.await.unwrap();
    transaction.commit().await.unwrap();
    let repeat = ReserveRequest::new(operation("k"), Token::random(), Terms::default());
    let outcome = store.reserve(&repeat).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(replay) if replay.answer.full() == Some(&paid())));
}

/// With the savepoint goes the reservation, and so nothing can be completed that was not reserved.
#[tokio::test]
async fn a_savepoint_that_is_rolled_back_takes_its_reservation_with_it() {
    let (isolated, _) = world(Way::pool(1)).await;
    let store = &isolated.store;
    let mut transaction = store.pool().begin().await.unwrap();
    run(&mut transaction, "SAVEPOINT own".into()).await.unwrap();
    let holder = reserve_in(store, &mut transaction, "k").await;
    let back = "ROLLBACK TO SAVEPOINT own".into();
    run(&mut transaction, back).await.unwrap();
    let completed = store.complete_held_in(&mut transaction, &holder, paid());
    assert!(matches!(completed.await, Err(NotCompleted::Superseded)));
    // The transaction is usable, and reserves again.
    reserve_in(store, &mut transaction, "other").await;
    transaction.commit().await.unwrap();
    assert!(is_vacant(&isolated, "k").await);
    assert!(!is_vacant(&isolated, "other").await);
}

/// Each reads what the other writes: they cannot both have been first.
#[tokio::test]
async fn a_serialization_failure_after_the_effect_has_applied_nothing_and_the_retry_runs() {
    let (isolated, table) = world(Way::pool(2).isolation("serializable")).await;
    let both_have_read = Arc::new(Barrier::new(2));
    let pay = |key: &'static str| {
        let (store, table) = (isolated.store.clone(), table.clone());
        let both_have_read = Arc::clone(&both_have_read);
        let handler = async move |mut connection: EffectConnection, reserved: Reserved| {
            let count = format!("SELECT count(*) FROM {table}");
            let row = connection.fetch_one(sqlx::raw_sql(AssertSqlSafe(count)));
            let seen: i64 = row.await?.try_get(0)?;
            both_have_read.wait().await;
            let key = reserved.operation().record.key.as_str().to_owned();
            run(
                &mut connection,
                format!("INSERT INTO {table} VALUES ('{key}')"),
            )
            .await?;
            Ok::<_, sqlx::Error>(Response::new(201).body(format!("seen {seen}")))
        };
        async move { store.run_in(store.pool(), operation(key), handler).await }
    };
    let (one, other) = tokio::join!(pay("a"), pay("b"));
    let (won, lost, key) = match (one, other) {
        (Ok(won), Err(lost)) => (won, lost, "b"),
        (Err(lost), Ok(won)) => (won, lost, "a"),
        both => panic!("{both:?}"),
    };
    assert!(matches!(won, Executed::Ran { .. }));
    match lost {
        RunInError::Store(error) => {
            assert_eq!(error.applied(), Applied::No);
            assert!(error.is_transient());
        }
        // Which statement finds out is the server's choice.
        RunInError::Handler(error) => {
            let error = error.as_database_error().expect("the server refused");
            assert_eq!(error.code().as_deref(), Some("40001"));
        }
        other => panic!("{other:?}"),
    }
    assert!(is_vacant(&isolated, key).await);
    let count = format!("SELECT count(*) FROM {table}");
    assert_eq!(isolated.number(&count).await, 1);

    let (alone, _) = tokio::join!(pay(key), both_have_read.wait());
    assert_eq!(
        alone.unwrap().response().unwrap().body_bytes(),
        b"seen 1".as_slice()
    );
    assert_eq!(isolated.number(&count).await, 2);
}
