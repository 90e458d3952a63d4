//! axum: routers, nests, extractors, responses.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::{Json, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, serve};
use http::{Request, StatusCode};
use http_body_util::{Empty, Full};
use idem_core::{
    Answer, Error, Idempotency, IdempotencyStore as _, MemoryStore, Reservation, Response as Stored,
};
use idem_tower::axum::{Reserved, original_path};
use idem_tower::{Disposition, Idempotent, RecordedAnswer};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::pay;
use crate::support::client::{PROTOCOLS, Protocol, send};
use crate::support::layer;

/// As an application does it, on a port of its own.
async fn start(app: Router) -> (SocketAddr, AbortOnDropHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { serve(listener, app).await });
    (address, AbortOnDropHandle::new(serving))
}

#[derive(Clone, Default)]
struct Ledger(Arc<AtomicUsize>);

impl Ledger {
    fn charge(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn charges(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A handler as people write them: state, the reservation, the body as JSON.
async fn charge(
    State(ledger): State<Ledger>,
    Reserved(reservation): Reserved,
    Json(payment): Json<serde_json::Value>,
) -> Response {
    assert_eq!(payment["amount"], 150);
    let number = ledger.charge();
    let location = [("location", format!("/payments/{number}"))];
    let derived = reservation.derived_key("charge").to_string();
    (StatusCode::CREATED, location, derived).into_response()
}

#[tokio::test]
async fn a_whole_router_or_some_of_its_routes_are_retry_safe() {
    let (whole, _, _) = layer();
    let (some, _, _) = layer();
    let routes = || Router::new().route("/payments", post(charge));
    for app in [routes().layer(whole), routes().route_layer(some)] {
        let ledger = Ledger::default();
        let app = app
            .route("/health", get(|| async { "well" }))
            .with_state(ledger.clone());
        let (address, _serving) = start(app).await;
        for (protocol, key) in PROTOCOLS.into_iter().zip(["first", "second"]) {
            let first = pay(address, protocol, "/payments", key).await;
            let retry = pay(address, protocol, "/payments", key).await;
            assert_eq!(first.status, StatusCode::CREATED, "{first:?}");
            assert!(!first.is_replayed() && retry.is_replayed());
            assert_eq!(retry.headers_as_given(), first.headers_as_given());
            assert_eq!(retry.body, first.body);
            let another = super::post("/payments", key, r#"{"amount": 151}"#);
            let another = send(address, protocol, another).await.unwrap();
            assert_eq!(another.problem().as_deref(), Some("key-reused"));
        }
        assert_eq!(ledger.charges(), 2);
        let health = Request::get("/health").body(Empty::new()).unwrap();
        let health = send(address, Protocol::Http1, health).await.unwrap();
        assert_eq!(health.body, "well");
    }
}

#[tokio::test]
async fn a_route_layer_leaves_unknown_paths_alone() {
    let (layer, store, _) = layer();
    let app = Router::new()
        .route("/payments", post(charge))
        .route_layer(layer)
        .with_state(Ledger::default());
    let (address, _serving) = start(app).await;
    let missing = pay(address, Protocol::Http1, "/refunds", "k").await;
    assert_eq!(
        (missing.status, missing.is_replayed()),
        (StatusCode::NOT_FOUND, false)
    );
    assert!(store.is_empty());
}

#[tokio::test]
async fn two_nests_with_the_same_inner_path_are_two_operations() {
    let (layer, _, _) = layer();
    let layer = layer.fingerprint_path(original_path);
    let ledger = Ledger::default();
    // Inside of each nest, where the prefix is cut off.
    let nested = || {
        let routes = Router::new().route("/payments", post(charge));
        routes.layer(layer.clone()).with_state(ledger.clone())
    };
    let app = Router::new().nest("/a", nested()).nest("/b", nested());
    let (address, _serving) = start(app).await;
    for (protocol, key) in PROTOCOLS.into_iter().zip(["first", "second"]) {
        let first = pay(address, protocol, "/a/payments", key).await;
        assert_eq!(first.status, StatusCode::CREATED);
        let other = pay(address, protocol, "/b/payments", key).await;
        assert_eq!(other.problem().as_deref(), Some("key-reused"));
        assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
        let query = pay(address, protocol, "/a/payments?dry=1", key).await;
        assert_eq!(query.problem().as_deref(), Some("key-reused"));
        assert!(
            pay(address, protocol, "/a/payments", key)
                .await
                .is_replayed()
        );
    }
    assert_eq!(ledger.charges(), 2);
}

#[tokio::test]
async fn around_nests_the_whole_path_counts_by_itself() {
    let (layer, _, _) = layer();
    let nested = || Router::new().route("/payments", post(charge));
    let app = Router::new()
        .nest("/a", nested())
        .nest("/b", nested())
        .layer(layer)
        .with_state(Ledger::default());
    let (address, _serving) = start(app).await;
    let first = pay(address, Protocol::Http1, "/a/payments", "k").await;
    let other = pay(address, Protocol::Http1, "/b/payments", "k").await;
    assert_eq!(first.status, StatusCode::CREATED);
    assert_eq!(other.problem().as_deref(), Some("key-reused"));
}

async fn attempt(reserved: Option<Reserved>) -> String {
    let attempt = reserved.map(|Reserved(reservation)| reservation.attempt());
    format!("{attempt:?}")
}

#[tokio::test]
async fn a_reservation_is_optional_where_the_key_is() {
    let (layer, store, _) = layer();
    let app = Router::new()
        .route("/optional", post(attempt))
        .route("/wanted", post(|_: Reserved| async { "reserved" }))
        .layer(layer.key_optional());
    let (address, _serving) = start(app).await;
    let with_key = pay(address, Protocol::Http1, "/optional", "k").await;
    assert_eq!(with_key.body, "Some(1)");
    for (path, status, body) in [("/optional", 200, "None"), ("/wanted", 500, "")] {
        let mut keyless = super::post(path, "k", "{}");
        keyless.headers_mut().remove("idempotency-key");
        let keyless = send(address, Protocol::Http1, keyless).await.unwrap();
        assert_eq!(
            (keyless.status.as_u16(), &keyless.body[..]),
            (status, body.as_bytes())
        );
    }
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn without_the_layer_a_handler_that_wants_a_reservation_does_not_run() {
    let runs = Ledger::default();
    let (by_reservation, by_hand) = (runs.clone(), runs.clone());
    let app = Router::new()
        .route(
            "/reserved",
            post(async move |_: Reserved| _ = by_reservation.charge()),
        )
        .route(
            "/by-hand",
            post(async move |_: Idempotent| _ = by_hand.charge()),
        );
    let (address, _serving) = start(app).await;
    for path in ["/reserved", "/by-hand"] {
        let refused = pay(address, Protocol::Http1, path, "k").await;
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert_eq!(runs.charges(), 0);
}

#[tokio::test]
async fn a_handler_says_what_becomes_of_its_answer_by_a_response_part() {
    let (layer, store, _) = layer();
    let runs = Ledger::default();
    let tried = runs.clone();
    let try_it = async move || {
        let run = tried.charge();
        let disposition = match run {
            1 => Disposition::Release,
            2 => Disposition::Abandon,
            _ => Disposition::Complete,
        };
        (
            StatusCode::SERVICE_UNAVAILABLE,
            disposition,
            format!("run {run}"),
        )
    };
    let app = Router::new().route("/payments", post(try_it)).layer(layer);
    let (address, _serving) = start(app).await;
    for (run, replayed, records) in [(1, false, 0), (2, false, 1), (3, false, 1), (3, true, 1)] {
        let answer = pay(address, Protocol::Http2, "/payments", "k").await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.body, format!("run {run}"));
        assert_eq!((answer.is_replayed(), store.len()), (replayed, records));
    }
}

#[tokio::test]
async fn a_handler_answers_what_it_has_recorded_itself() {
    let (layer, store, _) = layer();
    let record = async move |State(store): State<MemoryStore>, Reserved(reservation): Reserved| {
        reservation.stop_heartbeat().await;
        let answer = Stored::new(201).header("x-receipt", "17").body("recorded");
        let recorded = Answer::Full(answer.clone());
        store
            .complete(reservation.holder(), &recorded)
            .await
            .unwrap();
        RecordedAnswer(answer)
    };
    let app = Router::new()
        .route("/payments", post(record))
        .layer(layer)
        .with_state(store);
    let (address, _serving) = start(app).await;
    for replayed in [false, true] {
        let answer = pay(address, Protocol::Http1, "/payments", "k").await;
        assert_eq!(answer.status, StatusCode::CREATED);
        assert_eq!(
            (answer.header("x-receipt"), answer.is_replayed()),
            (Some("17"), replayed)
        );
        assert_eq!(answer.body, "recorded");
    }
}

#[tokio::test]
async fn a_handler_that_works_by_hand_extracts_what_it_needs() {
    let (layer, store, _) = layer();
    let idempotency = Idempotency::new(store.clone());
    let by_hand = async move |State(idempotency): State<Idempotency>, idempotent: Idempotent| {
        let effect = async |_: Reservation| Ok::<_, Error>(Stored::new(201).body("by hand"));
        match idempotency.execute(idempotent.operation(), effect).await {
            Ok(executed) => idempotent.answer(executed),
            Err(error) => panic!("{error}"),
        }
        .map(axum::body::Body::new)
    };
    let app = Router::new()
        .route("/payments", post(by_hand))
        .layer(layer.by_hand())
        .with_state(idempotency);
    let (address, _serving) = start(app).await;
    for replayed in [false, true] {
        let answer = pay(address, Protocol::Http1, "/payments", "k").await;
        assert_eq!(
            (answer.status, &answer.body[..]),
            (StatusCode::CREATED, &b"by hand"[..])
        );
        assert_eq!(answer.is_replayed(), replayed);
    }
    let other = super::post("/payments", "k", "{}").map(Full::from);
    let other = send(address, Protocol::Http1, other).await.unwrap();
    assert_eq!(other.problem().as_deref(), Some("key-reused"));
}
