//! What the laws share: operations, tries, holders, and times that real time cannot disturb.
//!
//! On a server time passes while a law runs. So the laws think in hours, and every instant at which
//! something changes is at least ten minutes away from every instant at which they look:
//! [`advance`](crate::Harness::advance) moves by whole hours, leases end at twenty past, retentions at
//! ten to, and ages are compared at half past. What a store does in the minutes between decides nothing.

use std::time::Duration;

use idem_core::{
    Answer, Fingerprint, Holder, Key, OnLapse, Operation, Outcome, RecordId, ReserveRequest,
    Response, Scope, Terms, Token,
};

use crate::Store;

/// An hour.
pub const HOUR: Duration = Duration::from_secs(3600);

/// How much real time may pass within a law, and so by how much a duration may be shorter than the
/// state machine says.
pub const SLACK: Duration = Duration::from_secs(10 * 60);

/// A lease of so many hours and twenty minutes.
pub fn lease(hours: u32) -> Duration {
    HOUR * hours + HOUR / 3
}

/// A retention of so many hours and fifty minutes.
pub fn retention(hours: u32) -> Duration {
    HOUR * hours + HOUR * 5 / 6
}

/// A longest age of so many hours and a half.
pub fn age(hours: u32) -> Duration {
    HOUR * hours + HOUR / 2
}

/// A lease of 1 h 20 and a retention of 8 h 50.
pub fn terms() -> Terms {
    terms_of(1, 8)
}

/// A [`lease`] and a [`retention`] of so many hours.
pub fn terms_of(lease_hours: u32, retention_hours: u32) -> Terms {
    Terms::new(lease(lease_hours), retention(retention_hours))
        .expect("the laws use leases that fit into their retentions")
}

/// A record of the scope `scope` and the key `key`.
pub fn record(scope: &str, key: &str) -> RecordId {
    RecordId::new(
        Scope::new(scope).expect("the laws use legal scopes"),
        Key::new(key).expect("the laws use legal keys"),
    )
}

/// An operation on the record `("scope", key)`, asking for `what`.
pub fn operation(key: &str, what: &str) -> Operation {
    Operation {
        record: record("scope", key),
        fingerprint: Fingerprint::raw(what),
    }
}

/// A new try by a new token at [`operation`]`(key, "a")`, under [`terms`] and `RunAgain`.
pub fn a_try(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key, "a"), Token::random(), terms())
}

/// The same under `Hold`.
pub fn a_try_on_hold(key: &str) -> ReserveRequest {
    a_try(key).on_lapse(OnLapse::Hold)
}

/// An answer with this body.
pub fn answer(body: &str) -> Answer {
    Answer::from(
        Response::new(201)
            .header("content-type", "text/plain")
            .body(body.to_owned()),
    )
}

/// Who holds the record if `request` was given `attempt`.
pub fn holder(request: &ReserveRequest, attempt: u32) -> Holder {
    Holder::new(request.operation.record.clone(), request.token, attempt)
}

/// Reserves, and gives the holder; fails the law if it is not reserved.
#[track_caller]
pub fn expect_reserved(request: &ReserveRequest, outcome: Outcome) -> Holder {
    match outcome {
        Outcome::Reserved { attempt, .. } => holder(request, attempt),
        other => panic!("expected a reservation, got {other:?}"),
    }
}

/// Makes a new try and expects it to be reserved.
pub async fn reserve(store: &dyn Store, request: &ReserveRequest) -> Holder {
    let outcome = store.reserve(request).await.expect("reserve");
    expect_reserved(request, outcome)
}
