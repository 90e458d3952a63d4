//! Behind a PgBouncer in transaction mode that tracks no prepared statements: what works, and what somebody
//! is told who does not know that it is there. The suite runs through one too, see `suite.rs`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::convert::Infallible;
use std::time::Duration;

use idem_core::{
    Condition, Error, Executed, Holder, IdempotencyStore, Inspect, Outcome, Response, Terms,
};
use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Statements, Table};
use support::requests::{operation, request};
use support::{Isolated, SERVER, Way, behind};
use testkit::{PgBouncer, PgBouncerBuilder};
use tokio::task::JoinSet;

fn pool(options: PgConnectOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(20))
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

/// Both orders in which it may give out sessions.
fn bouncers() -> [PgBouncerBuilder; 2] {
    [
        PgBouncer::builder(),
        PgBouncer::builder().setting("server_round_robin", "1"),
    ]
}

async fn table() -> Table {
    Isolated::open(Way::pool(1)).await.table
}

#[track_caller]
fn assert_says<T>(result: Result<T, Error>, remedy: &str) {
    let error = result.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(remedy), "{error:?}");
}

#[tokio::test]
async fn who_forgets_text_is_told_when_the_store_is_opened() {
    let table = table().await;
    for bouncer in bouncers() {
        let bouncer = bouncer.start(&SERVER);
        let forgotten = PostgresStore::open(pool(behind(&bouncer), 1), table.clone()).await;
        assert_says(forgotten, "use Statements::Text");
        let forgotten = PostgresStore::connect(&bouncer.url(), 1, table.clone()).await;
        assert_says(forgotten, "use Statements::Text");

        // Also where others have done so.
        let (url, text) = (bouncer.url(), Statements::Text);
        let store = PostgresStore::connect_with(&url, 2, table.clone(), text).await;
        let key = url.as_str();
        let reserved = store.unwrap().reserve(&request(key)).await.unwrap();
        assert!(matches!(reserved, Outcome::Reserved { .. }));
    }
}

#[tokio::test]
async fn a_pooler_that_tells_statements_apart_is_no_fault() {
    let table = table().await;
    // Each client has a session to itself, which is cleared after it.
    let bouncer = PgBouncer::builder().setting("pool_mode", "session");
    let bouncer = bouncer.start(&SERVER);
    for _ in 0..2 {
        let store = PostgresStore::open(pool(behind(&bouncer), 2), table.clone()).await;
        store.unwrap().pool().close().await;
    }

    // As if it were a newer one that gives the statements of its clients names of its own.
    let bouncer = PgBouncer::builder().setting("pool_mode", "session");
    let bouncer = bouncer.setting("server_reset_query", "").start(&SERVER);
    let clients = pool(behind(&bouncer), 1);
    let prepare = r#"PREPARE "PGBOUNCER_1" AS SELECT 1"#;
    clients.execute(sqlx::raw_sql(prepare)).await.unwrap();
    clients.close().await;
    let store = PostgresStore::open(pool(behind(&bouncer), 1), table).await;
    assert!(store.is_ok());
}

/// A store that was opened with prepared statements, and whose one connection then leads to the pooler.
async fn not_found_out(bouncer: &PgBouncer, table: &Table) -> PostgresStore {
    let pool = pool(support::options(), 1);
    let store = PostgresStore::open(pool.clone(), table.clone())
        .await
        .unwrap();
    pool.set_connect_options(behind(bouncer));
    let connection = pool.acquire().await.unwrap().detach();
    sqlx::Connection::close(connection).await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_forgets_text_and_is_not_found_out_is_told_by_the_calls() {
    let isolated = Isolated::open(Way::pool(1)).await;
    let bouncer = PgBouncer::builder().setting("server_round_robin", "1");
    let bouncer = bouncer.setting("default_pool_size", "3").start(&SERVER);
    let mut clients = JoinSet::new();
    for client in 0..4 {
        let store = not_found_out(&bouncer, &isolated.table).await;
        clients.spawn(async move {
            let mut errors = Vec::new();
            let mut completed = Vec::new();
            for round in 0..30 {
                let request = request(&format!("{client}-{round}"));
                let mut call = async || {
                    let Outcome::Reserved { attempt, .. } = store.reserve(&request).await? else {
                        return Ok(());
                    };
                    let record = request.operation.record.clone();
                    let holder = Holder::new(record, request.token, attempt);
                    store.renew(&holder, request.terms, None).await?;
                    match round % 3 {
                        0 => drop(store.abandon(&holder).await?),
                        1 => drop(store.release(&holder).await?),
                        _ => {
                            let answer = Response::new(201).body(format!("{client}-{round}"));
                            store.complete(&holder, &answer.clone().into()).await?;
                            completed.push((request.clone(), answer));
                        }
                    }
                    Ok::<(), Error>(())
                };
                errors.extend(call().await.err());
            }
            (errors, completed)
        });
    }
    let (errors, completed): (Vec<_>, Vec<_>) = clients.join_all().await.into_iter().unzip();
    let errors: Vec<Error> = errors.into_iter().flatten().collect();
    assert!(!errors.is_empty());
    for error in errors {
        let said = error.to_string();
        assert!(said.contains("use Statements::Text"), "{error:?}");
    }
    // What is there can be read, and what was acknowledged is there.
    let store = &isolated.store;
    for (request, answer) in completed.into_iter().flatten() {
        let Outcome::Replay(replay) = store.reserve(&request).await.unwrap() else {
            panic!("not completed: {request:?}");
        };
        assert_eq!(replay.answer, answer.into());
    }
    for client in 0..4 {
        for round in 0..30 {
            let record = operation(&format!("{client}-{round}")).record;
            store.get(&record).await.unwrap();
        }
    }
}

/// Takes a session of the server, so that others get another one.
async fn take(clients: &PgPool) -> sqlx::Transaction<'static, sqlx::Postgres> {
    clients.begin().await.unwrap()
}

#[tokio::test]
async fn a_write_that_meets_another_clients_statement_under_its_name_is_refused() {
    let isolated = Isolated::open(Way::pool(1)).await;
    let bouncer = PgBouncer::builder().setting("default_pool_size", "2");
    let bouncer = bouncer.start(&SERVER);
    let others = pool(behind(&bouncer), 2);
    let one = not_found_out(&bouncer, &isolated.table).await;
    let other = not_found_out(&bouncer, &isolated.table).await;
    let reserved = async |store: &PostgresStore, key: &str| {
        let request = request(key);
        let outcome = store.reserve(&request).await.unwrap();
        assert!(matches!(outcome, Outcome::Reserved { .. }));
        Holder::new(request.operation.record, request.token, 1)
    };
    let answer = Response::new(201).into();

    // In one session, renewing is the second statement that is prepared, …
    let first_session = take(&others).await;
    let holder = reserved(&one, "one").await;
    let terms = Terms::default();
    one.renew(&holder, terms, None).await.unwrap();
    let second_session = take(&others).await;
    first_session.rollback().await.unwrap();
    // … and in the other it is completing.
    let completed = reserved(&other, "other").await;
    other.complete(&completed, &answer).await.unwrap();

    let confused = one.renew(&holder, terms, None).await;
    assert_says(confused, "use Statements::Text");
    let record = isolated.store.get(&holder.record).await.unwrap().unwrap();
    assert!(matches!(record.condition, Condition::Live { .. }));
    second_session.rollback().await.unwrap();
}

#[tokio::test]
async fn a_pooler_that_refuses_a_startup_parameter_is_told_from_a_server_that_is_away() {
    let table = table().await;
    let bouncer = PgBouncer::start(&SERVER);
    let driver = behind(&bouncer).extra_float_digits(2);
    let refused = PostgresStore::open_with(pool(driver, 1), table, Statements::Text).await;
    assert_says(refused, "extra_float_digits(None)");
}

#[tokio::test]
async fn a_pooler_that_has_no_session_in_time_ends_the_connection_and_is_blamed_for_it() {
    let table = table().await;
    let bouncer = PgBouncer::builder()
        .setting("default_pool_size", "1")
        .setting("query_wait_timeout", "1")
        .start(&SERVER);
    let clients = pool(behind(&bouncer), 2);
    let store = PostgresStore::open_with(clients.clone(), table, Statements::Text).await;
    let store = store.unwrap();
    let taken = clients.begin().await.unwrap();
    let error = store.reserve(&request("k")).await.unwrap_err();
    assert!(error.to_string().contains("was ended"), "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    taken.rollback().await.unwrap();
    // The connection that it ended is not used again for ever.
    let mut tries = (0..3).map(|_| request("k"));
    loop {
        let request = tries.next().expect("no call gets through");
        if store.reserve(&request).await.is_ok() {
            break;
        }
    }
}

#[tokio::test]
async fn a_handlers_own_statements_are_not_kept_prepared() {
    let isolated = Isolated::open(Way::behind_pgbouncer(4)).await;
    let schema = &isolated.schema;
    let payments = format!("CREATE TABLE {schema}.payments (key text)");
    isolated.run(&payments).await;
    let store = &isolated.store;
    for round in 0..20 {
        let key = format!("{round}");
        let insert = format!("INSERT INTO {schema}.payments VALUES ($1)");
        let handler = async move |mut connection: EffectConnection, reserved: Reserved| {
            let key = reserved.operation().record.key.as_str().to_owned();
            let insert = sqlx::query(AssertSqlSafe(insert)).bind(key);
            // As the docs of `Statements::Text` say.
            let insert = insert.persistent(false);
            insert.execute(&mut *connection).await.unwrap();
            Ok::<_, Infallible>(Response::new(201))
        };
        let executed = store.run_in(store.pool(), operation(&key), handler).await;
        assert!(matches!(executed.unwrap(), Executed::Ran { .. }));
    }
    let count = format!("SELECT count(DISTINCT key) FROM {schema}.payments");
    assert_eq!(isolated.number(&count).await, 20);
}
