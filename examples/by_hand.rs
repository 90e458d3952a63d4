//! A route made retry-safe by hand, without the layer: `cargo run --example by_hand`.
//!
//! What the layer adds to this: quoted keys, bodies compared by content type, headers and trailers of
//! answers, problem details, streams, limits, a policy to publish. Take the layer where you can.
#![allow(clippy::print_stdout, reason = "its output is for people")]

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::post;
use axum::{Router, body::Body};
use idempotency::*;
use tower::ServiceExt as _;

async fn create_payment(
    State(idempotency): State<Idempotency>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<HttpResponse, StatusCode> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // Whose key it is: a real server looks up the account that the token belongs to.
    let scope = Scope::new(header("authorization").ok_or(StatusCode::UNAUTHORIZED)?);
    let key = Key::new(header("idempotency-key").ok_or(StatusCode::BAD_REQUEST)?);
    let (Ok(scope), Ok(key)) = (scope, key) else {
        return Err(StatusCode::BAD_REQUEST);
    };
    let asked = Fingerprint::builder()
        .bytes("path", "/payments")
        .json("body", &body);
    let operation = Operation::new(scope, key, asked.finish());

    // In a task of its own: the server drops this future when the client hangs up.
    let charge = async |reservation: Reservation| {
        let provider_key = reservation.derived_key("charge"); // the same on every attempt
        Ok::<_, Infallible>(Response::new(201).body(format!("charged as {provider_key}")))
    };
    match idempotency.execute_detached(operation, charge).await {
        Ok(Executed::Ran { response, .. }) => Ok(as_http(&response, "first")),
        Ok(Executed::Replayed(replay)) => match replay.answer.full() {
            Some(response) => Ok(as_http(response, "replay")),
            None => Err(StatusCode::GONE),
        },
        Ok(Executed::Conflict { .. }) => Err(StatusCode::CONFLICT),
        Ok(Executed::Mismatch) => Err(StatusCode::UNPROCESSABLE_ENTITY),
        Err(ExecuteError::Store(_)) => Err(StatusCode::SERVICE_UNAVAILABLE),
        Err(_) => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn as_http(response: &Response, which: &'static str) -> HttpResponse {
    let status = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    (
        status,
        [(header::VIA, which)],
        response.body_bytes().clone(),
    )
        .into_response()
}

#[tokio::main]
async fn main() {
    let payments = Router::new().route("/payments", post(create_payment));
    let payments = payments.with_state(Idempotency::new(MemoryStore::new()));
    for (body, expected) in [("150.00", 201), ("150.00", 201), ("9.99", 422)] {
        let request = Request::post("/payments").header("authorization", "acct_812");
        let request = request
            .header("idempotency-key", "order-17")
            .body(Body::from(body));
        let request = request.expect("it is a request");
        let Ok(answer) = payments.clone().oneshot(request).await;
        println!(
            "{body}: {} {:?}",
            answer.status(),
            answer.headers().get("via")
        );
        assert_eq!(answer.status(), expected);
    }
}
