//! The sled store under the HTTP layer: effect and record in one transaction, in both ways.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use axum::body::Body;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Extension, Router, http};
use http_body_util::BodyExt as _;
use idem_sled::{EffectTree, SledStore};
use idem_tower::axum::Reserved;
use idem_tower::{Idempotent, RecordedAnswer};
use idempotency::{Error, Idempotency, Response, Scope};
use testkit::Folder;
use tower::ServiceExt as _;

type App = State<(SledStore, EffectTree)>;

const FAILED: http::StatusCode = http::StatusCode::INTERNAL_SERVER_ERROR;

/// The effect is in this folder: reservation, effect and answer are one commit.
async fn transfer(State((store, rows)): App, key: Idempotent, note: String) -> impl IntoResponse {
    let ran = store.transactions().terms(key.terms()).run_in(
        [&rows],
        key.operation().clone(),
        move |[rows], reserved| {
            if note == "fail" {
                return Err(Error::invalid("planted"));
            }
            rows.insert(reserved.derived_key("row").as_str(), note.as_bytes());
            Ok(Response::new(201).body("transferred"))
        },
    );
    key.answer_run(ran.await).or(Err(FAILED))
}

/// The effect is a provider's, called with the derived key; its result and the answer are one commit.
async fn charge(State((store, rows)): App, Reserved(reservation): Reserved) -> impl IntoResponse {
    let result = reservation.derived_key("charge").to_string(); // the provider's call
    let answer = Response::new(201).body(result.clone());
    let recorded = store.complete_in([&rows], &reservation, &answer, move |[rows]| {
        rows.insert(result.as_str(), "150.00");
        Ok::<_, Error>(())
    });
    recorded
        .await
        .map(|_| RecordedAnswer(answer))
        .or(Err(FAILED))
}

async fn send(app: &Router, path: &str, note: &'static str) -> (u16, String, bool) {
    let request = http::Request::post(path)
        .header("idempotency-key", "order-17")
        .body(Body::from(note));
    let answer = app.clone().oneshot(request.unwrap()).await.unwrap();
    let replayed = answer.headers().contains_key("idempotent-replayed");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap(), replayed)
}

#[tokio::test]
async fn row_and_answer_are_one_commit_by_hand() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    let scope = |parts: &http::request::Parts| Scope::new(parts.extensions.get::<&str>()?).ok();
    let layer = idem_tower::axum::layer(Idempotency::new(store.clone()), scope);
    let app = Router::new()
        .route("/transfers", post(transfer).layer(layer.by_hand()))
        .layer(Extension("acct_812"))
        .with_state((store, rows.clone()));

    assert_eq!(send(&app, "/transfers", "fail").await.0, 500);
    assert_eq!(
        rows.tree().len(),
        0,
        "nothing has happened, and the key is free"
    );
    let first = send(&app, "/transfers", "150.00").await;
    assert_eq!(first, (201, "transferred".into(), false));
    let again = send(&app, "/transfers", "150.00").await;
    assert_eq!(again, (201, "transferred".into(), true));
    assert_eq!(send(&app, "/transfers", "9.99").await.0, 422);
    assert_eq!(rows.tree().len(), 1);
}

#[tokio::test]
async fn what_a_handler_has_recorded_itself_is_replayed() {
    let folder = Folder::new();
    let store = SledStore::open(folder.path()).await.unwrap();
    let rows = store.effect_tree("rows").await.unwrap();
    let scope = |parts: &http::request::Parts| Scope::new(parts.extensions.get::<&str>()?).ok();
    let layer = idem_tower::axum::layer(Idempotency::new(store.clone()), scope);
    let app = Router::new()
        .route("/charges", post(charge).layer(layer))
        .layer(Extension("acct_812"))
        .with_state((store, rows.clone()));
    let first = send(&app, "/charges", "150.00").await;
    let again = send(&app, "/charges", "150.00").await;
    assert_eq!((first.0, first.2, again.2), (201, false, true));
    assert_eq!(again.1, first.1);
    let row = rows.tree().iter().next().unwrap().unwrap().0;
    assert_eq!(row, first.1.as_bytes());
}
