//! Beside and around other layers, this one among them.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use http::Method;
use http::request::Parts;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use idem_core::Key;
use idem_tower::RequestBody;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};
use tower_http::body::Limited;
use tower_http::limit::RequestBodyLimitLayer;
use tracing_subscriber::fmt::MakeWriter;

use super::{gated_layer, payment, pays, pieces, post};
use crate::support::gate::Gate;
use crate::support::in_memory::collected;
use crate::support::server::{Body, full};

type Twice = RequestBody<RequestBody<Body>>;

#[tokio::test]
async fn the_same_layer_twice_is_the_same_as_once() {
    let (store, layer) = gated_layer();
    let runs = Gate::opened();
    let service = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(layer)
        .service(pays::<Twice>(&runs));
    for is_retry in [false, true] {
        let answer = service.clone().oneshot(payment("k")).await.unwrap();
        let answer = collected(answer).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body[..]),
            (200, &b"paid"[..])
        );
        assert_eq!(answer.is_replayed(), is_retry);
    }
    assert_eq!(runs.arrivals(), 1);
    assert_eq!(
        (store.on_reserve.calls(), store.on_complete.calls()),
        (2, 1)
    );
}

#[tokio::test]
async fn of_two_layers_the_outer_one_counts() {
    let (outer_store, outer) = gated_layer();
    let (inner_store, inner) = gated_layer();
    let runs = Gate::opened();
    let service = ServiceBuilder::new()
        .layer(outer)
        .layer(inner.request_limit(1).methods([Method::POST]))
        .service(pays::<Twice>(&runs));
    for is_retry in [false, true] {
        let answer = service.clone().oneshot(payment("k")).await.unwrap();
        assert_eq!(collected(answer).await.is_replayed(), is_retry);
    }
    assert_eq!(runs.arrivals(), 1);
    assert_eq!(outer_store.on_reserve.calls(), 2);
    assert_eq!(inner_store.on_reserve.calls(), 0);
}

#[tokio::test]
async fn a_layer_inside_that_knows_the_request_by_another_key_guards_it_too() {
    let (outer_store, outer) = gated_layer();
    let (inner_store, inner) = gated_layer();
    let runs = Gate::opened();
    let of_its_own = |_: &Parts| Key::new("part-1").map(Some);
    let service = ServiceBuilder::new()
        .layer(outer)
        .layer(inner.key_from(of_its_own))
        .service(pays::<Twice>(&runs));
    // Another operation outside, the same inside: a batch that is split up.
    for (key, is_retry) in [("k", false), ("another", true)] {
        let answer = service.clone().oneshot(payment(key)).await.unwrap();
        assert_eq!(answer.status(), 200);
        // What the inner one replays is the first answer of the outer one.
        assert!(!collected(answer).await.is_replayed(), "{is_retry}");
    }
    assert_eq!(runs.arrivals(), 1);
    assert_eq!(outer_store.on_reserve.calls(), 2);
    assert_eq!(inner_store.on_reserve.calls(), 2);
}

#[tokio::test]
async fn what_the_outer_layer_does_not_guard_is_guarded_by_the_inner_one() {
    let (outer_store, outer) = gated_layer();
    let (inner_store, inner) = gated_layer();
    let runs = Gate::opened();
    let service = ServiceBuilder::new()
        .layer(outer.methods([Method::PATCH]))
        .layer(inner)
        .service(pays::<Twice>(&runs));
    for is_retry in [false, true] {
        let answer = service.clone().oneshot(payment("k")).await.unwrap();
        assert_eq!(collected(answer).await.is_replayed(), is_retry);
    }
    assert_eq!((runs.arrivals(), outer_store.on_reserve.calls()), (1, 0));
    assert_eq!(inner_store.on_reserve.calls(), 2);
}

/// What was logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_layer_that_is_applied_twice_says_so_once() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).finish();
    // While there is one subscriber only, tracing decides for every thread by what the thread has that
    // comes first to a place that logs: by that of another test, which has none.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let _logging = tracing::subscriber::set_default(subscriber);
    let (_, outer) = gated_layer();
    let (_, inner) = gated_layer();
    let runs = Gate::opened();
    let twice = ServiceBuilder::new()
        .layer(outer.clone())
        .layer(inner)
        .service(pays::<Twice>(&runs));
    let once = outer.layer(pays::<RequestBody<Body>>(&runs));
    once.oneshot(payment("alone")).await.unwrap();
    assert_eq!(warnings(&log), 0);
    for key in ["first", "second", "second"] {
        twice.clone().oneshot(payment(key)).await.unwrap();
    }
    assert_eq!(warnings(&log), 1);
}

fn warnings(log: &Log) -> usize {
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    text.matches("applied twice").count()
}

#[tokio::test]
async fn a_limit_on_bodies_outside_speaks_as_one_of_its_own() {
    let (store, layer) = gated_layer();
    let runs = Gate::opened();
    let service = ServiceBuilder::new()
        .layer(RequestBodyLimitLayer::new(10))
        .layer(layer)
        .service(pays::<RequestBody<Limited<Body>>>(&runs));
    let opened = Gate::opened();
    // No length is declared: it is found too large while it is read.
    let too_large = post("k", pieces(&["12345", "67890", "1"], &opened));
    let answer = service.clone().oneshot(too_large).await.unwrap();
    let answer = collected(answer).await;
    assert_eq!(answer.problem().as_deref(), Some("body-too-large"));
    assert_eq!(answer.status.as_u16(), 413);
    assert_eq!((runs.arrivals(), store.on_reserve.calls()), (0, 0));
    // Just so large as it may be, under the same key.
    let largest = post("k", pieces(&["12345", "67890"], &opened));
    let answer = service.clone().oneshot(largest).await.unwrap();
    assert_eq!(collected(answer).await.body, "paid");
    // Declared too large, it does not get as far as this layer.
    let mut declared = post("k", full("12345678901"));
    let headers = declared.headers_mut();
    headers.insert("content-length", 11.into());
    let answer = service.oneshot(declared).await.unwrap();
    assert_eq!(collected(answer).await.status.as_u16(), 413);
    assert_eq!((runs.arrivals(), store.on_reserve.calls()), (1, 1));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_answered_400_and_uses_up_no_key() {
    let (store, layer) = gated_layer();
    let runs = Gate::opened();
    let service = layer.layer(pays::<RequestBody<Body>>(&runs));
    let breaks_off = stream::iter([
        Ok(Frame::data(Bytes::from_static(b"150"))),
        Err("cut".into()),
    ]);
    let breaks_off = StreamBody::new(breaks_off).boxed_unsync();
    let mut short = payment("k");
    short.headers_mut().insert("content-length", 4.into());
    for incomplete in [post("k", breaks_off), short] {
        let answer = service.clone().oneshot(incomplete).await.unwrap();
        let answer = collected(answer).await;
        assert_eq!(answer.problem().as_deref(), Some("body-incomplete"));
        assert_eq!(answer.status.as_u16(), 400);
    }
    assert_eq!((runs.arrivals(), store.on_reserve.calls()), (0, 0));
    let whole = service.oneshot(payment("k")).await.unwrap();
    assert_eq!(collected(whole).await.body, "paid");
}
