//! What the laws share: operations, tries, holders, and times that real time cannot disturb.
//!
//! On a server time passes while a law runs. So the laws think in hours, and every instant at which
//! something changes is at least ten minutes away from every instant at which they look:
//! [`advance`](crate::Harness::advance) moves by whole hours, leases end at twenty past, retentions at
//! ten to, and ages are compared at half past. What a store does in the minutes between decides nothing.

use std::time::Duration;

use idem_core::{
    Answer, Completion, Fingerprint, Holder, Key, OnLapse, Operation, Outcome, Progress, RecordId,
    RecordInfo, ReserveRequest, Response, Scope, Terms, Token, Update,
};

use crate::Store;

/// An hour.
pub const HOUR: Duration = Duration::from_secs(3600);

/// No time at all.
pub const JUST_NOW: Duration = Duration::ZERO;

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
pub fn record(scope: impl AsRef<[u8]>, key: impl AsRef<str>) -> RecordId {
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

/// A new try by a new token at this operation, under [`terms`] and `RunAgain`.
pub fn try_at(operation: Operation) -> ReserveRequest {
    ReserveRequest::new(operation, Token::random(), terms())
}

/// A new try by a new token at [`operation`]`(key, "a")`, under [`terms`] and `RunAgain`.
pub fn a_try(key: &str) -> ReserveRequest {
    try_at(operation(key, "a"))
}

/// The same under `Hold`.
pub fn a_try_on_hold(key: &str) -> ReserveRequest {
    a_try(key).on_lapse(OnLapse::Hold)
}

/// The same as [`a_try`], under other terms.
pub fn a_try_under(key: &str, terms: Terms) -> ReserveRequest {
    ReserveRequest::new(operation(key, "a"), Token::random(), terms)
}

/// A try at the same record, asking for something else.
pub fn a_mismatch(key: &str) -> ReserveRequest {
    try_at(operation(key, "b"))
}

/// An answer with this body.
pub fn answer(body: &str) -> Answer {
    Answer::from(
        Response::new(201)
            .header("content-type", "text/plain")
            .body(body.to_owned()),
    )
}

/// Progress with these bytes.
pub fn progress(bytes: impl Into<Vec<u8>>) -> Progress {
    Progress::new(bytes.into()).expect("the laws use legal progress")
}

/// Who holds the record if `request` was given `attempt`.
pub fn holder(request: &ReserveRequest, attempt: u32) -> Holder {
    Holder::new(request.operation.record.clone(), request.token, attempt)
}

/// Tries to reserve.
pub async fn ask(store: &dyn Store, request: &ReserveRequest) -> Outcome {
    store.reserve(request).await.expect("reserve")
}

/// Reserves, and gives the holder; fails the law if it is not reserved.
pub async fn reserve(store: &dyn Store, request: &ReserveRequest) -> Holder {
    match ask(store, request).await {
        Outcome::Reserved { attempt, .. } => holder(request, attempt),
        other => panic!("expected a reservation, got {other:?}"),
    }
}

/// Completes with [`answer`]`(body)`.
pub async fn complete(store: &dyn Store, holder: &Holder, body: &str) -> Completion {
    complete_with(store, holder, &answer(body)).await
}

/// Completes with this answer.
pub async fn complete_with(store: &dyn Store, holder: &Holder, answer: &Answer) -> Completion {
    store.complete(holder, answer).await.expect("complete")
}

/// Renews under [`terms`], without progress.
pub async fn renew(store: &dyn Store, holder: &Holder) -> Update {
    renew_under(store, holder, terms()).await
}

/// Renews under these terms, without progress.
pub async fn renew_under(store: &dyn Store, holder: &Holder, terms: Terms) -> Update {
    store.renew(holder, terms, None).await.expect("renew")
}

/// Renews under [`terms`], and saves progress.
pub async fn save(store: &dyn Store, holder: &Holder, progress: &Progress) -> Update {
    let saved = store.renew(holder, terms(), Some(progress)).await;
    saved.expect("renew")
}

/// Abandons.
pub async fn abandon(store: &dyn Store, holder: &Holder) -> Update {
    store.abandon(holder).await.expect("abandon")
}

/// Releases.
pub async fn release(store: &dyn Store, holder: &Holder) -> Update {
    store.release(holder).await.expect("release")
}

/// The record as `get` shows it.
pub async fn look(store: &dyn Store, record: &RecordId) -> Option<RecordInfo> {
    store.get(record).await.expect("get")
}

/// The record as `get` shows it; fails the law if there is none.
pub async fn shown(store: &dyn Store, record: &RecordId) -> RecordInfo {
    let shown = look(store, record).await;
    shown.expect("a record that `get` shows")
}
