//! A cache before transactions in Postgres, under the HTTP layer: repeats open none, counted at the server.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Extension, Router, http};
use http_body_util::BodyExt as _;
use idem_postgres::sqlx::{self, Executor as _, PgPool};
use idem_postgres::{EffectConnection, PostgresStore, Table, Transactions};
use idem_redis::{Connection, RedisCache};
use idem_tower::Idempotent;
use idempotency::{Cached, Idempotency, Response, Scope};
use testkit::{Postgres, Redis};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

const REPEATS: usize = 20;
const FAILED: http::StatusCode = http::StatusCode::INTERNAL_SERVER_ERROR;

#[derive(Clone)]
struct App {
    cached: Cached<PostgresStore, RedisCache>,
    pool: PgPool,
    /// One has its effect, and may not commit yet.
    runs: Arc<Semaphore>,
    may_commit: Arc<Semaphore>,
}

async fn transfer(State(app): State<App>, key: Idempotent, note: String) -> impl IntoResponse {
    let (runs, may_commit) = (app.runs, app.may_commit);
    let effect = async move |mut connection: EffectConnection, _| {
        let insert = sqlx::query("INSERT INTO transfers VALUES ($1)").bind(note);
        insert.execute(&mut *connection).await?;
        runs.add_permits(1);
        may_commit.acquire().await.unwrap().forget();
        Ok::<_, sqlx::Error>(Response::new(201).body("transferred"))
    };
    let transactions = Transactions::behind(&app.cached).terms(key.terms());
    let ran = transactions.run_in(&app.pool, key.operation().clone(), effect);
    key.answer_run(ran.await).or(Err(FAILED))
}

async fn send(router: &Router, note: &'static str) -> (u16, String, bool) {
    let request = http::Request::post("/transfers")
        .header("idempotency-key", "order-17")
        .body(Body::from(note));
    let answer = router.clone().oneshot(request.unwrap()).await.unwrap();
    let replayed = answer.headers().contains_key("idempotent-replayed");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap(), replayed)
}

fn statements(server: &Postgres) -> usize {
    let log = server.log();
    let ran = |line: &&str| line.contains("statement: ") || line.contains("execute ");
    log.lines().filter(ran).count()
}

#[tokio::test]
async fn repeats_are_answered_without_a_transaction() {
    let server = Postgres::builder()
        .setting("log_statement", "all")
        .setting("autovacuum", "off")
        .start();
    let redis = Redis::start();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    let table = "CREATE TABLE transfers (note text)";
    pool.execute(table).await.unwrap();
    PostgresStore::migrate(&pool, &Table::default())
        .await
        .unwrap();
    let store = PostgresStore::open(pool.clone(), Table::default()).await;
    let cache = RedisCache::new(Connection::open(&redis.url()).await.unwrap());
    // A busy machine must neither turn the cache off nor outlive a mark.
    let patience = Duration::from_secs(20);
    let cached = Cached::new(store.unwrap(), cache);
    let cached = cached.cache_timeout(patience).marks(patience);
    let scope = |parts: &http::request::Parts| Scope::new(parts.extensions.get::<&str>()?).ok();
    let layer = idem_tower::axum::layer(Idempotency::new(cached.clone()), scope);
    let app = App {
        cached,
        pool,
        runs: Arc::new(Semaphore::new(0)),
        may_commit: Arc::new(Semaphore::new(0)),
    };
    let router = Router::new()
        .route("/transfers", post(transfer).layer(layer.by_hand()))
        .layer(Extension("acct_812"))
        .with_state(app.clone());

    let first = {
        let router = router.clone();
        tokio::spawn(async move { send(&router, "150.00").await })
    };
    app.runs.acquire().await.unwrap().forget();
    let before = statements(&server);
    for _ in 0..REPEATS {
        assert_eq!(send(&router, "150.00").await.0, 409);
    }
    assert_eq!(statements(&server), before);
    app.may_commit.add_permits(1);
    let first = first.await.unwrap();
    assert_eq!(first, (201, "transferred".into(), false));
    let before = statements(&server);
    for _ in 0..REPEATS {
        let repeat = send(&router, "150.00").await;
        assert_eq!(repeat, (201, "transferred".into(), true));
    }
    assert_eq!(statements(&server), before);
    // A cache never says mismatch.
    assert_eq!(send(&router, "9.99").await.0, 422);
    assert!(statements(&server) > before);
    let rows = server.psql("SELECT count(*) FROM transfers").unwrap();
    assert_eq!(rows, "1");
}
