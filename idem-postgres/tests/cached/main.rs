//! A cache before Postgres: the whole suite behind a Redis and behind each node's own memory; what it spares the
//! database, counted; and what a Redis that fails costs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod counted;
mod failing;
mod nodes;
mod storm;
mod suites;

#[path = "../support/mod.rs"]
mod support;
mod transactions;

use idem_core::{
    Fingerprint, Holder, IdempotencyStore, Key, Operation, Outcome, ReserveRequest, Response,
    Scope, Terms, Token,
};

fn operation(key: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("150.00"),
    )
}

/// An operation by this key, tried anew.
fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), Terms::default())
}

/// For one that is vacant.
async fn reserve(store: &impl IdempotencyStore, request: &ReserveRequest) -> Holder {
    let Outcome::Reserved { attempt, .. } = store.reserve(request).await.unwrap() else {
        panic!("not reserved")
    };
    Holder::new(request.operation.record.clone(), request.token, attempt)
}

fn paid() -> Response {
    Response::new(201).body("paid")
}
