//! The HTTP server, and how a request is made idempotent by hand. This is the part to copy.

use std::convert::Infallible;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::{get, post};
use idempotency::{ExecuteError, Fingerprint, Idempotency, Operation, Reservation};

use crate::key_header;
use crate::outcome;
use crate::payment;
use crate::principal::Principal;
use crate::problem::{Kind, Problem};
use crate::provider::Provider;

const BODY_LIMIT: usize = 64 * 1024;

#[derive(Clone)]
pub(crate) struct App {
    pub(crate) idempotency: Idempotency,
    pub(crate) provider: Provider,
}

pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/payments", post(create_payment))
        .route("/ledger", get(ledger))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(app)
}

async fn create_payment(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<HttpResponse, Problem> {
    // What is refused here is not stored: the key can still be used.
    let principal = Principal::of(&headers)?;
    let key = key_header::read(&headers)?;
    let body = body.map_err(unreadable)?;

    // Everything that decides what the request does, and nothing that may differ between its retries.
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let fingerprint = Fingerprint::builder()
        .bytes("method", method.as_str())
        .bytes("path", path)
        .json("body", &body)
        .finish();
    let operation = Operation::new(principal.scope.clone(), key, fingerprint);

    // In a task of its own: the server drops this future when the client hangs up, and a payment must
    // not stop half-way.
    let pay = |reservation: Reservation| async move {
        let answer = payment::pay(&app.provider, principal, &body, &reservation).await;
        Ok::<_, Infallible>(answer)
    };
    match app.idempotency.execute_detached(operation, pay).await {
        Ok(executed) => outcome::to_http(executed),
        Err(ExecuteError::Store(_)) => Err(Problem::new(
            Kind::StoreUnavailable,
            "this request charged nothing: send it again, with the same Idempotency-Key",
        )),
        Err(ExecuteError::Handler(never)) => match never {},
        Err(ExecuteError::Panicked(_) | ExecuteError::Cancelled) => Err(Problem::new(
            Kind::OutcomeUnknown,
            "it may have charged: send it again, with the same Idempotency-Key",
        )),
    }
}

fn unreadable(rejection: BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
            Kind::BodyTooLarge,
            format!("at most {BODY_LIMIT} bytes are allowed"),
        ),
        _ => Problem::new(Kind::BodyUnreadable, "it broke off: send it again"),
    }
}

async fn ledger(State(app): State<App>) -> HttpResponse {
    let ledger = serde_json::to_string(&app.provider.ledger()).expect("a ledger is JSON");
    ([(header::CONTENT_TYPE, "application/json")], ledger).into_response()
}
