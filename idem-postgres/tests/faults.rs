//! Backends that are ended, and a server that is stopped as in a crash, while operations run: what was
//! acknowledged is there afterwards, nothing is stuck, and a transaction's effect is there exactly once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_core::{
    Executed, Fingerprint, Idempotency, Key, OnConflict, Operation, Recorded, Reservation,
    Response, Scope,
};
use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool, Row as _};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Table};
use testkit::{Postgres, Stop};
use tokio::task::JoinSet;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const CALLERS: u32 = 8;
/// Each ends all sessions; every tenth stops the server as a crash does.
const HARMS: usize = 60;

fn operation(key: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("150.00"),
    )
}

struct World {
    server: Postgres,
    store: PostgresStore,
}

impl World {
    async fn start() -> Self {
        // Synced for real: a crash must not take what was acknowledged.
        let server = Postgres::builder().fsync().start();
        let options = PgConnectOptions::new()
            .socket(server.socket_folder())
            .port(server.port_number())
            .username("postgres");
        let pool = PgPoolOptions::new()
            .max_connections(6)
            .acquire_timeout(Duration::from_secs(5))
            .connect_with(options)
            .await
            .unwrap();
        let table = Table::default();
        PostgresStore::migrate(&pool, &table).await.unwrap();
        pool.execute("CREATE TABLE payments (key text)")
            .await
            .unwrap();
        let store = PostgresStore::open(pool, table).await.unwrap();
        Self { server, store }
    }

    fn pool(&self) -> PgPool {
        self.store.pool().clone()
    }
}

/// Callers run operations, each again until it is answered, as long as harm is done; gives what each was
/// first told for good.
async fn all_answered<F>(
    run: impl Fn(String) -> F + Clone + Send + 'static,
    mut harm: impl FnMut() + Send + 'static,
) -> BTreeMap<String, String>
where
    F: Future<Output = Option<String>> + Send,
{
    let harms = Arc::new(AtomicUsize::new(0));
    let harming = {
        let harms = Arc::clone(&harms);
        std::thread::spawn(move || {
            for _ in 0..HARMS * testkit::effort() as usize {
                harm();
                harms.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(40)); // why: operations get on between harms
            }
            harms.store(usize::MAX, Ordering::Relaxed);
        })
    };
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (run, harms) = (run.clone(), Arc::clone(&harms));
        callers.spawn(async move {
            let mut told = Vec::new();
            while harms.load(Ordering::Relaxed) != usize::MAX {
                let key = format!("{caller}-{}", told.len());
                let answer = loop {
                    if let Some(answer) = run(key.clone()).await {
                        break answer;
                    }
                    tokio::task::yield_now().await;
                };
                told.push((key, answer));
            }
            told
        });
    }
    let harmed = tokio::task::spawn_blocking(move || harming.join()).await;
    harmed.unwrap().unwrap();
    // However long the harm took: what is in flight ends soon after the last of it.
    let told = timeout(PATIENCE, callers.join_all()).await.expect("stuck");
    let told: BTreeMap<_, _> = told.into_iter().flatten().collect();
    let harms = HARMS * testkit::effort() as usize;
    println!("{} operations answered through {harms} faults", told.len());
    told
}

/// Ends every other session of the server.
const TERMINATE: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                         WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";

fn harms(server: &Arc<World>, crash: bool) -> impl FnMut() + Send + use<> {
    let world = Arc::clone(server);
    let mut turn = 0;
    move || {
        turn += 1;
        if crash && turn % 10 == 0 {
            world.server.stop(Stop::Immediate);
            world.server.start_again();
        } else {
            // The server may be on its way up.
            let _ = world.server.psql(TERMINATE);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_answers_survive_and_nothing_is_stuck() {
    let world = Arc::new(World::start().await);
    let idempotency = Idempotency::builder(world.store.clone())
        .lease(Duration::from_millis(1500))
        .on_conflict(OnConflict::Wait {
            up_to: Duration::from_secs(3),
        })
        .build()
        .unwrap();
    let run = {
        let idempotency = idempotency.clone();
        move |key: String| {
            let idempotency = idempotency.clone();
            async move {
                let handler = async |reservation: Reservation| {
                    let answer = format!("attempt {}", reservation.attempt());
                    Ok::<_, Infallible>(Response::new(201).body(answer))
                };
                match idempotency.execute(&operation(&key), handler).await {
                    // An answer that nobody has acknowledged may be another one later.
                    Ok(Executed::Ran {
                        recorded: Recorded::Unrecorded,
                        ..
                    }) => None,
                    Ok(executed) => executed.response().map(body),
                    Err(_) => None,
                }
            }
        }
    };
    let told = all_answered(run.clone(), harms(&world, true)).await;
    assert_eq!(idempotency.drain(PATIENCE).await, 0);
    for (key, answer) in told {
        assert_eq!(run(key.clone()).await.as_ref(), Some(&answer), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transactions_effect_is_there_exactly_once_for_every_answer() {
    let world = Arc::new(World::start().await);
    let (store, pool) = (world.store.clone(), world.pool());
    let run = move |key: String| {
        let (store, pool) = (store.clone(), pool.clone());
        async move {
            let insert = format!("INSERT INTO payments VALUES ('{key}')");
            let handler = async move |mut connection: EffectConnection, _: Reserved| {
                let insert = sqlx::raw_sql(AssertSqlSafe(insert));
                connection.execute(insert).await?;
                Ok::<_, sqlx::Error>(Response::new(201).body("paid"))
            };
            let executed = store.run_in(&pool, operation(&key), handler).await.ok()?;
            executed.response().map(body)
        }
    };
    let told = all_answered(run, harms(&world, true)).await;
    let counted = "SELECT key, count(*) FROM payments GROUP BY key";
    let rows = world.pool().fetch_all(counted).await.unwrap();
    assert_eq!(rows.len(), told.len());
    for row in rows {
        let (key, count): (String, i64) = (row.get(0), row.get(1));
        assert_eq!(count, 1, "{key}");
    }
}

fn body(response: &Response) -> String {
    String::from_utf8(response.body_bytes().to_vec()).unwrap()
}
