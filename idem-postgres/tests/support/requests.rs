//! What the tests ask of a store.

use idem_core::{
    Fingerprint, Holder, IdempotencyStore, Key, Operation, Outcome, ReserveRequest, Response,
    Scope, Terms, Token,
};

pub(crate) fn operation(key: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("150.00"),
    )
}

/// An operation by this key, tried anew.
pub(crate) fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), Terms::default())
}

/// For one that is vacant.
pub(crate) async fn reserve(store: &impl IdempotencyStore, request: &ReserveRequest) -> Holder {
    let Outcome::Reserved { attempt, .. } = store.reserve(request).await.unwrap() else {
        panic!("not reserved")
    };
    Holder::new(request.operation.record.clone(), request.token, attempt)
}

pub(crate) fn paid() -> Response {
    Response::new(201).body("paid")
}
