//! Many transactions at many nodes over a line to the cache that fails at random: whatever is replayed was committed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use idem_core::{Cached, Executed, Response, RunInError, Settled};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Transactions};
use idem_redis::{Connection, Limits, RedisCache};
use testkit::{Fault, Plan, Proxy, Redis, Rng, Seed, effort};

use crate::failing::statistic;
use crate::operation;
use crate::support::{Isolated, Way};

const CALLERS: u64 = 8;
/// For each caller.
const ANSWERS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

type Node = Cached<PostgresStore, RedisCache>;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_replayed_was_committed() {
    let seed = Seed::of("cached_storm");
    let (redis, database) = (Redis::start(), Isolated::open(Way::pool(8)).await);
    let schema = &database.schema;
    let table = format!("CREATE TABLE {schema}.effects (key text, id text)");
    database.run(&table).await;
    let short = Duration::from_millis(50);
    let faults = vec![
        Fault::DropRequest,
        Fault::DropAnswer,
        Fault::DelayRequest(2 * short),
        Fault::DelayAnswer(2 * short),
    ];
    let began = Instant::now();
    let mut nodes = Vec::new();
    let mut proxies = Vec::new();
    for _ in 0..3 {
        let proxy = Proxy::start(redis.address(), Plan::seeded(&seed, 15, faults.clone()));
        let limits = Limits::default().answer(short).connect(PATIENCE);
        let url = format!("redis://{}", proxy.address());
        let connection = Connection::open_within(&url, limits).await.unwrap();
        let cached = Cached::new(database.store.clone(), RedisCache::new(connection));
        nodes.push(cached.cache_timeout(short).marks(3 * short));
        proxies.push(proxy);
    }
    let keys = 10 * effort();
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for n in 0..keys {
        let key = format!("order-{n}");
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let node = nodes[(caller % 3) as usize].clone();
                let rng = seed.rng("caller", n * CALLERS + caller);
                let (key, insert) = (key.clone(), format!("INSERT INTO {schema}.effects VALUES"));
                tokio::spawn(until_answered(node, key, insert, rng))
            })
            .collect();
        for caller in callers {
            answers
                .entry(key.clone())
                .or_default()
                .extend(caller.await.unwrap());
        }
    }
    let mut from_repeats = 0;
    for (key, answers) in &answers {
        let committed = committed(database.store.pool(), schema, key).await;
        assert_eq!(committed.len(), 1, "{key}: {committed:?}; {seed}");
        assert_eq!(
            answers.iter().filter(|it| it.ran).count(),
            1,
            "{key}; {seed}"
        );
        for answer in answers {
            assert_eq!(answer.body, committed[0], "{key}; {seed}");
        }
        from_repeats += answers.len() - 1;
    }
    let hits = statistic(&redis, "keyspace_hits");
    println!(
        "{keys} keys, {from_repeats} replays, {hits} looks that found something, {:?}",
        began.elapsed()
    );
    assert!(hits > 5 * keys, "the cache was hardly used");
}

struct Answer {
    ran: bool,
    body: String,
}

/// Asks until it was answered some times.
async fn until_answered(node: Node, key: String, insert: String, mut rng: Rng) -> Vec<Answer> {
    let deadline = Instant::now() + PATIENCE;
    let mut answers = Vec::new();
    while answers.len() < ANSWERS {
        assert!(Instant::now() < deadline, "{key} is not answered");
        let (id, fate) = (rng.next().to_string(), rng.below(4));
        let insert = AssertSqlSafe(format!("{insert} ('{key}', '{id}')"));
        let effect = async move |mut connection: EffectConnection, _: Reserved| {
            connection.execute(sqlx::raw_sql(insert)).await?;
            match fate {
                0 => Err(sqlx::Error::RowNotFound),
                1 => Ok(Settled::RollBack(Response::new(503))),
                _ => Ok(Settled::Complete(Response::new(201).body(id))),
            }
        };
        let pool = node.store().pool();
        let ran = Transactions::behind(&node).run_in(pool, operation(&key), effect);
        match ran.await {
            Ok(Executed::Ran { response, .. }) if response.status() == 201 => {
                answers.push(Answer {
                    ran: true,
                    body: text(&response),
                });
            }
            Ok(Executed::Replayed(replay)) => {
                let response = replay.answer.full().expect("it is small");
                answers.push(Answer {
                    ran: false,
                    body: text(response),
                });
            }
            Ok(Executed::Ran { .. } | Executed::Conflict { .. }) | Err(RunInError::Handler(_)) => {
                // why: a client waits before it tries again
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            other => panic!("{key}: {other:?}"),
        }
    }
    answers
}

fn text(response: &Response) -> String {
    String::from_utf8(response.body_bytes().to_vec()).unwrap()
}

async fn committed(pool: &PgPool, schema: &str, key: &str) -> Vec<String> {
    let select = format!("SELECT id FROM {schema}.effects WHERE key = $1");
    let rows = sqlx::query_scalar(AssertSqlSafe(select)).bind(key);
    rows.fetch_all(pool).await.unwrap()
}
