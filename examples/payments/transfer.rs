//! A payment inside the house: both accounts are in our own database, no provider has a part in it. So its
//! row and its key commit together, in one transaction, or not at all.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::post;
use axum::{Extension, Router};
use idem_postgres::sqlx::{self, Row as _};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Transactions};
use idem_tower::{IdempotencyLayer, Idempotent};
use idempotency::Response;

use crate::gate::{Gate, HeldCalls};
use crate::payment::Request;
use crate::principal::{self, Principal};
use crate::problem::{Kind, Problem};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS payments_example_transfers \
    (id bigserial PRIMARY KEY, client text, amount numeric, currency text, customer_id text)";
const INSERT: &str = "INSERT INTO payments_example_transfers (client, amount, currency, customer_id) \
    VALUES ($1, $2::numeric, $3, $4) RETURNING id";
const COUNT: &str = "SELECT count(*) FROM payments_example_transfers WHERE customer_id = $1";

/// The table of transfers, beside the table of records.
#[derive(Clone)]
pub(crate) struct Transfers {
    store: PostgresStore,
    /// Behind a cache, if there is one.
    transactions: Transactions,
    gate: Arc<Gate>,
}

impl Transfers {
    pub(crate) async fn open(
        store: PostgresStore,
        transactions: Transactions,
    ) -> Result<Self, sqlx::Error> {
        sqlx::query(TABLE).execute(store.pool()).await?;
        Ok(Self {
            store,
            transactions,
            gate: Arc::default(),
        })
    }

    pub(crate) fn store(&self) -> PostgresStore {
        self.store.clone()
    }

    /// How often a customer was paid.
    pub(crate) async fn to_customer(&self, customer_id: &str) -> Result<i64, sqlx::Error> {
        let count = sqlx::query(COUNT).bind(customer_id);
        count.fetch_one(self.store.pool()).await?.try_get(0)
    }

    /// From now on, transfers wait between their row and the commit until they are let go one by one.
    pub(crate) fn hold(&self) -> HeldCalls {
        self.gate.close()
    }
}

pub(crate) fn router(transfers: Transfers, idempotency: IdempotencyLayer) -> Router {
    let transfer = post(create_transfer)
        .layer(idempotency.by_hand())
        .layer(from_fn(principal::authenticate));
    Router::new()
        .route("/transfers", transfer)
        .with_state(transfers)
}

/// Reservation, row and answer in one transaction.
async fn create_transfer(
    State(transfers): State<Transfers>,
    Extension(principal): Extension<Principal>,
    idempotent: Idempotent,
    body: Bytes,
) -> HttpResponse {
    let request = match Request::read(&body) {
        Ok(request) => request,
        // Nothing was reserved: the key is still free for a transfer that is valid.
        Err(reason) => return Problem::new(Kind::InvalidPayment, reason).into_response(),
    };
    let pool = transfers.store.pool().clone();
    let transactions = transfers.transactions.clone().terms(idempotent.terms());
    let effect = async move |mut transaction: EffectConnection, _: Reserved| {
        let insert = sqlx::query(INSERT)
            .bind(principal.name)
            .bind(request.amount)
            .bind(request.currency)
            .bind(request.customer_id);
        let id: i64 = insert.fetch_one(&mut *transaction).await?.try_get("id")?;
        transfers.gate.pass().await;
        let answer = Response::new(201).header("content-type", "application/json");
        Ok::<_, sqlx::Error>(answer.body(format!(r#"{{"id":"tr_{id}","status":"paid"}}"#)))
    };
    let ran = transactions.run_in(&pool, idempotent.operation().clone(), effect);
    let answered = idempotent.answer_run(ran.await);
    answered.map_or_else(
        |_| StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        IntoResponse::into_response,
    )
}
