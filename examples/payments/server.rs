//! The HTTP server, and how its route is made retry-safe. This is the part to copy.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use idem_tower::IdempotencyLayer;
use idem_tower::axum::Reserved;
use idempotency::Idempotency;

use crate::payment;
use crate::principal::{self, Principal};
use crate::problem::TYPE_PREFIX;
use crate::provider::Provider;

const BODY_LIMIT: usize = 64 * 1024;

/// Keys belong to whoever is authenticated.
pub(crate) fn layer(idempotency: Idempotency) -> IdempotencyLayer {
    let scope = |parts: &Parts| Some(parts.extensions.get::<Principal>()?.scope.clone());
    idem_tower::axum::layer(idempotency, scope)
        .request_limit(BODY_LIMIT)
        .problem_type_base(TYPE_PREFIX)
}

pub(crate) fn router(provider: Provider, idempotency: IdempotencyLayer) -> Router {
    let payments = post(create_payment)
        .layer(idempotency)
        // Added last, it stands outermost: the scope comes from it.
        .layer(from_fn(principal::authenticate));
    Router::new()
        .route("/payments", payments)
        .route("/ledger", get(ledger))
        .with_state(provider)
}

/// Runs once for each key, however often the client asks.
async fn create_payment(
    State(provider): State<Provider>,
    Extension(principal): Extension<Principal>,
    Reserved(reservation): Reserved,
    body: Bytes,
) -> Response {
    payment::pay(&provider, principal, &body, &reservation).await
}

async fn ledger(State(provider): State<Provider>) -> Response {
    let ledger = serde_json::to_string(&provider.ledger()).expect("a ledger is JSON");
    ([(header::CONTENT_TYPE, "application/json")], ledger).into_response()
}
