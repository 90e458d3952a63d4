//! What a transaction must not be taken for: nested ones that end it, connections without one, the server's
//! own limits, deadlocks, and a migration beside it.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use idem_core::{
    Answer, Applied, ExecuteError, Executed, Holder, Idempotency, IdempotencyStore as _, Outcome,
    Reservation, Verdict,
};
use idem_postgres::sqlx::postgres::{PgConnection, PgPoolOptions};
use idem_postgres::sqlx::{self, AssertSqlSafe, Connection as _, Executor as _, PgPool};
use idem_postgres::{EffectConnection, NotCompleted, PostgresStore, Reserved, RunInError, Settled};
use support::requests::{operation, paid, request};
use support::{Isolated, Way};
use tokio::time::timeout;

/// Nothing takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

async fn world() -> (Isolated, String) {
    let isolated = Isolated::open(Way::pool(2)).await;
    let table = format!("{}.payments", isolated.schema);
    isolated
        .run(&format!("CREATE TABLE {table} (key text)"))
        .await;
    (isolated, format!("INSERT INTO {table} VALUES ('k')"))
}

/// The same table, through a pool with these settings.
async fn store_with(isolated: &Isolated, settings: &[(&str, &str)]) -> PostgresStore {
    let options = support::options().options(settings.iter().copied());
    let pool = PgPoolOptions::new().max_connections(4);
    let pool = pool.connect_with(options).await.unwrap();
    PostgresStore::open(pool, isolated.table.clone())
        .await
        .unwrap()
}

async fn run(connection: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    connection.execute(sql).await.map(|_| ())
}

/// Polls it once, and drops it half-way.
async fn leave(future: impl Future) {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Whatever the handler says, nobody may be told that it was committed, or was not.
async fn assert_unknown<H, F>(isolated: &Isolated, handler: H)
where
    H: FnOnce(EffectConnection, Reserved) -> F + Send + 'static,
    F: Future<Output = Result<Settled, &'static str>> + Send,
{
    let store = &isolated.store;
    let ran = store.run_in(store.pool(), operation("k"), handler);
    match timeout(PATIENCE, ran).await.unwrap() {
        Err(RunInError::Store(error)) => assert_eq!(error.applied(), Applied::Unknown),
        other => panic!("{other:?}"),
    }
}

/// What `run_in` would commit is there already, and would be taken for somebody else's.
#[tokio::test]
async fn a_handler_that_completes_by_itself_is_no_replay() {
    let (isolated, insert) = world().await;
    let store = isolated.store.clone();
    assert_unknown(&isolated, async move |mut connection, reserved| {
        run(&mut connection, &insert).await.unwrap();
        let (holder, answer) = (reserved.holder().clone(), Answer::Full(paid()));
        let completed = store.complete_held_in(&mut connection, &holder, &answer);
        completed.await.unwrap();
        Ok(Settled::Complete(paid()))
    })
    .await;
    let request = request("k");
    let again = isolated.store.reserve(&request).await.unwrap();
    assert!(matches!(again, Outcome::Reserved { attempt: 1, .. }));
}

#[tokio::test]
async fn a_nested_transaction_that_cannot_begin_ends_all_and_is_found() {
    let (isolated, insert) = world().await;
    assert_unknown(&isolated, async move |mut connection, _| {
        // A try that failed, and is passed over.
        let _ = run(&mut connection, "SELECT 1 / 0").await;
        assert!(connection.begin().await.is_err());
        // This one begins: it is no nested one any more, and commits for good.
        let mut nested = connection.begin().await.unwrap();
        run(&mut nested, &insert).await.unwrap();
        nested.commit().await.unwrap();
        Ok(paid().into())
    })
    .await;
}

#[tokio::test]
async fn a_nested_begin_that_is_dropped_ends_all_and_is_found_whatever_the_handler_says() {
    for answer in [Ok(paid().into()), Err("out of stock")] {
        let (isolated, insert) = world().await;
        assert_unknown(&isolated, async move |mut connection, _| {
            // Its answer is on the way for long enough that nothing after it ends within one poll.
            leave(run(&mut connection, "SELECT pg_sleep(0.2)")).await;
            leave(connection.begin()).await;
            run(&mut connection, &insert).await.unwrap();
            answer
        })
        .await;
    }
}

#[tokio::test]
async fn without_a_transaction_its_parts_do_nothing() {
    let (isolated, _) = world().await;
    let store = &isolated.store;
    let mut connection = store.pool().acquire().await.unwrap();
    let reserving = request("k");
    let reserved = store
        .reserve_in(&mut connection, &reserving, PATIENCE)
        .await;
    assert!(reserved.unwrap_err().is_invalid());

    assert!(matches!(
        store.reserve(&reserving).await.unwrap(),
        Outcome::Reserved { .. }
    ));
    let holder = Holder::new(reserving.operation.record.clone(), reserving.token, 1);
    let completed = store.complete_held_in(&mut connection, &holder, paid());
    assert!(matches!(completed.await, Err(NotCompleted::Store(error)) if error.is_invalid()));
    let outcome = store.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Conflict { .. }), "not completed");
}

/// `commit_in`, for an effect; the reservation was taken over meanwhile, or not.
async fn commit_in(
    isolated: &Isolated,
    insert: &str,
    taken_over: bool,
) -> Result<Executed, ExecuteError<NotCompleted>> {
    let store = &isolated.store;
    let idempotency = Idempotency::new(store.clone());
    let handler = async |reservation: Reservation| {
        if taken_over {
            isolated.advance(Duration::from_secs(61)).await;
            let outcome = store.reserve(&request("k")).await.unwrap();
            assert!(matches!(outcome, Outcome::Reserved { attempt: 2, .. }));
        }
        let mut transaction = store.pool().begin().await.unwrap();
        run(&mut transaction, insert).await.unwrap();
        let committed = store.commit_in(transaction, &reservation, &paid()).await;
        committed.map(|_| Verdict::AlreadyRecorded(paid()))
    };
    idempotency.execute(&operation("k"), handler).await
}

#[tokio::test]
async fn completing_and_committing_are_one_and_who_was_taken_over_commits_nothing() {
    let (isolated, insert) = world().await;
    let count = format!("SELECT count(*) FROM {}.payments", isolated.schema);
    assert!(matches!(
        commit_in(&isolated, &insert, false).await,
        Ok(Executed::Ran { .. })
    ));
    assert_eq!(isolated.number(&count).await, 1);
    let repeat = isolated.store.reserve(&request("k")).await.unwrap();
    assert!(matches!(repeat, Outcome::Replay(replay) if replay.answer.full() == Some(&paid())));

    let (isolated, insert) = world().await;
    let count = format!("SELECT count(*) FROM {}.payments", isolated.schema);
    let late = commit_in(&isolated, &insert, true).await;
    assert!(
        matches!(
            late,
            Err(ExecuteError::Handler(NotCompleted::Superseded)) | Ok(Executed::Conflict { .. })
        ),
        "{late:?}"
    );
    assert_eq!(isolated.number(&count).await, 0);
}

#[tokio::test]
async fn a_wait_that_is_longer_than_the_servers_own_limit_ends_with_it_in_a_conflict() {
    let (isolated, _) = world().await;
    let mut holding = isolated.store.pool().begin().await.unwrap();
    let reserving = request("k");
    let reserved = isolated
        .store
        .reserve_in(&mut holding, &reserving, PATIENCE)
        .await;
    assert!(matches!(reserved.unwrap(), Outcome::Reserved { .. }));

    let limited = store_with(&isolated, &[("statement_timeout", "200ms")]).await;
    let waiting = limited.transactions().wait(Duration::MAX);
    let second = waiting.run_in(limited.pool(), operation("k"), async |_, _| {
        Ok::<_, Infallible>(paid())
    });
    let second = timeout(PATIENCE, second).await.expect("it waits too long");
    assert!(matches!(second.unwrap(), Executed::Conflict { .. }));
}

#[tokio::test]
async fn of_two_in_a_deadlock_one_is_in_conflict_and_its_transaction_goes_on() {
    let (isolated, _) = world().await;
    let store = store_with(&isolated, &[("deadlock_timeout", "50ms")]).await;
    let reserve = async |connection: &mut PgConnection, key: &str| {
        let reserving = request(key);
        let outcome = store.reserve_in(connection, &reserving, PATIENCE);
        timeout(PATIENCE, outcome).await.unwrap().unwrap()
    };
    let mut one = store.pool().begin().await.unwrap();
    let mut other = store.pool().begin().await.unwrap();
    assert!(is_reserved(&reserve(&mut one, "a").await));
    assert!(is_reserved(&reserve(&mut other, "b").await));
    let crosswise = async |mut transaction: sqlx::Transaction<'static, sqlx::Postgres>, key| {
        let outcome = reserve(&mut transaction, key).await;
        run(&mut transaction, "SELECT 1").await.unwrap();
        transaction.rollback().await.unwrap();
        outcome
    };
    let (one, other) = tokio::join!(crosswise(one, "b"), crosswise(other, "a"));
    let conflicts = [&one, &other]
        .into_iter()
        .filter(|outcome| matches!(outcome, Outcome::Conflict { .. }));
    assert_eq!(conflicts.count(), 1, "{one:?}, {other:?}");
    assert!(is_reserved(&one) || is_reserved(&other));
}

fn is_reserved(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Reserved { .. })
}

/// Processes migrate when they start, beside those that work.
#[tokio::test]
async fn a_migration_with_nothing_to_do_waits_for_nobody_and_needs_no_right_to_make_tables() {
    let (isolated, _) = world().await;
    let mut working = isolated.store.pool().begin().await.unwrap();
    let reserving = request("k");
    let reserved = isolated
        .store
        .reserve_in(&mut working, &reserving, PATIENCE)
        .await;
    assert!(is_reserved(&reserved.unwrap()));

    let (schema, role) = (&isolated.schema, format!("app_{}", isolated.schema));
    isolated
        .run(&format!(
            "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"
        ))
        .await;
    let options = support::options().username(&role);
    let pool: PgPool = PgPoolOptions::new().connect_with(options).await.unwrap();
    let migrated = PostgresStore::migrate(&pool, &isolated.table);
    timeout(PATIENCE, migrated)
        .await
        .expect("it waits")
        .unwrap();
    let store = PostgresStore::open(pool, isolated.table.clone()).await;
    let outcome = store.unwrap().reserve(&request("other")).await.unwrap();
    assert!(is_reserved(&outcome));
    working.rollback().await.unwrap();
}
