//! A client goes away, at every stage of its request, and comes back with the same key.
//!
//! Against a real server, in each of the ways that a client can go; and by a time limit outside of the
//! layer, which drops the request's future just so.

mod before_the_handler;
mod from_the_handler_on;
mod time_limit;

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use idem_core::{Builder, Idempotency, MemoryStore, Reservation};
use idem_tower::IdempotencyLayer;
use tower::Layer as _;

use crate::support::client::Answer;
use crate::support::gate::{Gate, soon};
use crate::support::gated_store::GatedStore;
use crate::support::leaving::{Leaver, Left, Upload, Way};
use crate::support::requests::Requests;
use crate::support::server::{Asked, Body, Server, full};
use crate::support::{PATIENCE, by_client};

/// A server whose store, handlers and answers stand still where the test wants it.
struct World {
    store: GatedStore,
    layer: IdempotencyLayer,
    requests: Requests,
    /// Each run of the handler has its effect as it arrives here, and then goes on or waits.
    effects: Gate,
    server: Server,
}

impl World {
    /// With a handler that has its effect and then answers [`paid`].
    async fn start() -> Self {
        Self::with(
            |builder| builder,
            |request| async move { paid(attempt(&request)) },
        )
        .await
    }

    /// With an answer of one's own, after the effect.
    async fn with<F>(
        settings: impl FnOnce(Builder) -> Builder,
        answer: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (store, layer) = patient_layer(settings);
        let requests = Requests::new();
        let effects = Gate::opened();
        let (effect, answer) = (effects.clone(), Arc::new(answer));
        let handler = tower::service_fn(move |request: Asked| {
            let (effect, answer) = (effect.clone(), Arc::clone(&answer));
            async move {
                effect.pass().await;
                Ok::<_, std::convert::Infallible>(answer(request).await)
            }
        });
        let server = Server::around(requests.layer(layer.layer(handler))).await;
        Self {
            store,
            layer,
            requests,
            effects,
            server,
        }
    }

    async fn client(&self, way: Way, upload: Upload) -> Leaver {
        Leaver::send(self.server.address, way, &payment("k"), upload).await
    }

    /// The client goes, and the server has noticed.
    async fn goes(&self, client: Leaver) -> Left {
        let gone_before = self.requests.gone.arrivals();
        let left = client.leave();
        self.requests.gone.reached(gone_before + 1).await;
        left
    }

    /// All that goes on without a client has come to its end.
    async fn comes_to_rest(&self) {
        assert_eq!(soon(self.layer.drain(PATIENCE)).await, 0);
    }
}

/// A layer on a store with gates, whose calls may wait for a gate as long as the test does.
fn patient_layer(settings: impl FnOnce(Builder) -> Builder) -> (GatedStore, IdempotencyLayer) {
    let store = GatedStore::new(MemoryStore::new());
    let builder = Idempotency::builder(store.clone()).store_timeouts(2 * PATIENCE, 2 * PATIENCE);
    let layer = IdempotencyLayer::new(settings(builder).build().unwrap(), by_client);
    (store, layer)
}

fn payment(key: &str) -> Request<Bytes> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(Bytes::from_static(br#"{"amount": 150, "to": "ben"}"#))
        .unwrap()
}

fn attempt<B>(request: &Request<B>) -> u32 {
    request.extensions().get::<Reservation>().unwrap().attempt()
}

/// An answer that is easily spoilt on its way into a record and back.
fn paid(attempt: u32) -> Response<Body> {
    let mut response = Response::new(full(PAID));
    *response.status_mut() = StatusCode::CREATED;
    *response.headers_mut() = paid_headers(attempt);
    response
}

const PAID: &[u8] = b"\0\xff paid \r\n\r\n";

fn paid_headers(attempt: u32) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.append("x-note", HeaderValue::from_static("second"));
    headers.append("location", HeaderValue::from_static("/payments/1"));
    headers.append("x-note", HeaderValue::from_static("first"));
    headers.append("x-name", HeaderValue::from_bytes(b"Mart\xedn").unwrap());
    headers.append("x-attempt", attempt.into());
    headers
}

/// The very answer of the first attempt, marked as a replay.
#[track_caller]
fn assert_replays_paid(answer: &Answer) {
    assert_is_paid(answer, 1);
    assert!(answer.is_replayed());
}

#[track_caller]
fn assert_is_paid(answer: &Answer, attempt: u32) {
    let mut headers = answer.headers_as_given();
    headers.remove("content-length");
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    assert_eq!(headers, paid_headers(attempt));
    assert_eq!(answer.body, PAID);
}

#[track_caller]
fn assert_in_flight(answer: &Answer) {
    assert_eq!(answer.problem().as_deref(), Some("in-flight"), "{answer:?}");
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(!answer.is_replayed());
}

#[track_caller]
fn assert_not_retained(answer: &Answer, original_status: u16) {
    assert_eq!(answer.problem().as_deref(), Some("answer-not-retained"));
    assert_eq!(answer.status, StatusCode::GONE);
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["original_status"], original_status);
}
