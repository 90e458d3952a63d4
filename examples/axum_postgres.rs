//! Two routes over Postgres: `cargo run --example axum_postgres -- postgres://USER@HOST/DATABASE`.
#![allow(clippy::print_stdout, reason = "it says where it listens")]
use axum::{Extension, Router, extract::State, http, response::IntoResponse, routing::post};
use idem_postgres::{EffectConnection, PostgresStore, Table, sqlx, sqlx::PgPool};
use idem_tower::{Disposition, Idempotent, RecordedAnswer, axum::Reserved};
use idempotency::*;
type App = State<(PgPool, PostgresStore)>;
type AnyError = Box<dyn std::error::Error + Send + Sync>;
const INSERT: &str = "INSERT INTO payments (note) VALUES ($1)";
const FAILED: http::StatusCode = http::StatusCode::INTERNAL_SERVER_ERROR;

/// The effect is in this database: reservation, effect and answer are one commit.
async fn transfer(State((pool, store)): App, key: Idempotent, note: String) -> impl IntoResponse {
    let effect = async |mut tx: EffectConnection, _| {
        sqlx::query(INSERT).bind(note).execute(&mut *tx).await?;
        Ok::<_, sqlx::Error>(Response::new(201).body("transferred"))
    };
    let transactions = store.transactions().terms(key.terms());
    let ran = transactions.run_in(&pool, key.operation().clone(), effect);
    key.answer_run(ran.await).or(Err(FAILED))
}

/// The effect is a provider's, called with the derived key; its result and the answer are one commit.
async fn charge(State((pool, store)): App, Reserved(reservation): Reserved) -> impl IntoResponse {
    let result = format!("charged as {}", reservation.derived_key("charge")); // the provider's call
    let answer = Response::new(201).body(result.clone());
    let recorded = async {
        let mut tx = pool.begin().await?;
        sqlx::query(INSERT).bind(result).execute(&mut *tx).await?;
        store.commit_in(tx, &reservation, &answer).await?;
        Ok::<_, AnyError>(RecordedAnswer(answer))
    };
    recorded.await.or(Err((FAILED, Disposition::Unknown, ()))) // the retry has the same derived key
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let pool = PgPool::connect(&std::env::args().nth(1).ok_or("which database?")?).await?;
    let payments = "CREATE TABLE IF NOT EXISTS payments (note text NOT NULL)";
    sqlx::query(payments).execute(&pool).await?;
    PostgresStore::migrate(&pool, &Table::default()).await?;
    let store = PostgresStore::open(pool.clone(), Table::default()).await?;
    let janitor = Janitor::new(store.clone()).start()?;
    let scope = |parts: &http::request::Parts| Scope::new(parts.extensions.get::<&str>()?).ok();
    let layer = idem_tower::axum::layer(Idempotency::new(store.clone()), scope);
    let app = Router::new()
        .route("/transfers", post(transfer).layer(layer.clone().by_hand()))
        .route("/charges", post(charge).layer(layer.clone()))
        .layer(Extension("acct_812")) // who asks: what an authentication layer found out
        .with_state((pool, store));
    let address = std::env::args().nth(2).unwrap_or("127.0.0.1:3000".into());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let server = axum::serve(listener, app);
    let stop = async { _ = tokio::signal::ctrl_c().await };
    server.with_graceful_shutdown(stop).await?;
    layer.drain(std::time::Duration::from_secs(30)).await;
    janitor.stop().await;
    Ok(())
}
