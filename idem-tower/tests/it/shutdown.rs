//! `drain`: a shutdown waits for what goes on without a client.
//!
//! Where time is paused, it moves on as soon as nothing else can happen, and only then.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use idem_core::{Builder, Error, Idempotency, MemoryStore};
use idem_tower::{IdempotencyLayer, RequestBody, StoreDown};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tower::util::BoxCloneService;
use tower::{Layer as _, ServiceExt as _};

use crate::support::by_client;
use crate::support::client::{Answer, PROTOCOLS, send};
use crate::support::gate::{Gate, soon};
use crate::support::gated_store::GatedStore;
use crate::support::in_memory::collected;
use crate::support::server::{Server, full};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn gated_layer() -> (GatedStore, IdempotencyLayer) {
    with_settings(|builder| builder)
}

fn with_settings(settings: impl FnOnce(Builder) -> Builder) -> (GatedStore, IdempotencyLayer) {
    let store = GatedStore::new(MemoryStore::new());
    let idempotency = settings(Idempotency::builder(store.clone()));
    let layer = IdempotencyLayer::new(idempotency.build().unwrap(), by_client);
    (store, layer)
}

type Service = BoxCloneService<Request<Full<Bytes>>, Answer, Infallible>;

/// The layer around a handler that passes the gate and then answers.
fn service(layer: &IdempotencyLayer, gate: Gate) -> Service {
    let handler = tower::service_fn(move |_: Request<RequestBody<Full<Bytes>>>| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, Infallible>(Response::new(full("paid")))
        }
    });
    let service = layer.layer(handler);
    BoxCloneService::new(service.and_then(|response| async { Ok(collected(response).await) }))
}

async fn pay(layer: IdempotencyLayer, key: &'static str, gate: Gate) -> Answer {
    let answered = service(&layer, gate).oneshot(payment(key)).await;
    answered.unwrap()
}

fn payment(key: &str) -> Request<Full<Bytes>> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .body(Full::new(Bytes::from_static(b"150")))
        .unwrap()
}

/// A handler that stands at the closed gate, and whose client has gone.
async fn left_alone(layer: &IdempotencyLayer, key: &'static str, gate: &Gate) {
    let stands = gate.arrivals() + 1;
    let answering = pay(layer.clone(), key, gate.clone());
    tokio::select! {
        answer = answering => panic!("it was to stand still: {answer:?}"),
        () = gate.reached(stands) => {}
    }
}

fn draining(layer: &IdempotencyLayer, up_to: Duration) -> JoinHandle<usize> {
    let layer = layer.clone();
    tokio::spawn(async move { layer.drain(up_to).await })
}

/// It has not ended an hour later.
async fn assert_waits(draining: &mut JoinHandle<usize>) {
    let ended = timeout(HOUR, draining).await;
    assert!(ended.is_err(), "it did not wait: {ended:?}");
}

async fn ends(draining: JoinHandle<usize>) -> usize {
    timeout(HOUR, draining).await.unwrap().unwrap()
}

/// A request whose handler, should it run, would never end.
async fn retry(layer: &IdempotencyLayer, key: &'static str) -> Answer {
    let answering = pay(layer.clone(), key, Gate::closed());
    timeout(HOUR, answering).await.unwrap()
}

async fn an_hour_passes() {
    let nothing = timeout(HOUR, pending::<()>()).await;
    assert!(nothing.is_err());
}

fn store_is_away() -> Error {
    Error::unavailable("the store is away", "by the test")
}

#[tokio::test(start_paused = true)]
async fn with_nothing_under_way_it_returns_at_once() {
    let (_, layer) = gated_layer();
    let began = Instant::now();
    assert_eq!(layer.drain(Duration::MAX).await, 0);
    assert_eq!(layer.drain(Duration::ZERO).await, 0);
    let paid = pay(layer.clone(), "k", Gate::opened()).await;
    assert_eq!(paid.body, "paid");
    assert_eq!(layer.drain(Duration::MAX).await, 0);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_handlers_whose_clients_are_gone() {
    let (store, layer) = gated_layer();
    let gates = [Gate::closed(), Gate::closed()];
    left_alone(&layer, "first", &gates[0]).await;
    left_alone(&layer, "second", &gates[1]).await;
    let mut draining = draining(&layer, Duration::MAX);
    assert_waits(&mut draining).await;
    gates[0].open();
    assert_waits(&mut draining).await;
    gates[1].open();
    assert_eq!(ends(draining).await, 0);
    assert_eq!(store.on_complete.calls(), 2);
    for key in ["first", "second"] {
        let retry = retry(&layer, key).await;
        assert!(retry.is_replayed() && retry.body == "paid");
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_handler_whose_client_still_waits() {
    let (_, layer) = gated_layer();
    let gate = Gate::closed();
    let answering = tokio::spawn(pay(layer.clone(), "k", gate.clone()));
    gate.reached(1).await;
    let mut draining = draining(&layer, Duration::MAX);
    assert_waits(&mut draining).await;
    gate.open();
    assert_eq!(ends(draining).await, 0);
    assert_eq!(
        timeout(HOUR, answering).await.unwrap().unwrap().body,
        "paid"
    );
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_handlers_that_record_by_hand_or_run_unprotected() {
    let (store, layer) = gated_layer();
    store.on_reserve.fail(store_is_away);
    let unprotected = layer.clone().store_down(StoreDown::Open);
    for layer in [layer.by_hand(), unprotected] {
        let gate = Gate::closed();
        left_alone(&layer, "k", &gate).await;
        let mut draining = draining(&layer, Duration::MAX);
        assert_waits(&mut draining).await;
        gate.open();
        assert_eq!(ends(draining).await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_half_way_it_gives_nothing_up() {
    let (store, layer) = gated_layer();
    store.on_complete.fail(store_is_away);
    pay(layer.clone(), "k", Gate::opened()).await;
    let gave_up_waiting = timeout(10 * SECOND, layer.drain(Duration::MAX)).await;
    assert!(gave_up_waiting.is_err());
    an_hour_passes().await;
    store.on_complete.mend();
    assert_eq!(layer.drain(Duration::MAX).await, 0);
    assert!(retry(&layer, "k").await.is_replayed());
}

#[tokio::test(start_paused = true)]
async fn when_time_is_out_it_says_how_many_are_left_and_stops_none_of_them() {
    let (_, layer) = gated_layer();
    let (gate, other) = (Gate::closed(), Gate::closed());
    left_alone(&layer, "first", &gate).await;
    left_alone(&layer, "second", &gate).await;
    left_alone(&layer, "third", &other).await;
    let began = Instant::now();
    assert_eq!(layer.drain(10 * SECOND).await, 3);
    assert_eq!(began.elapsed(), 10 * SECOND);
    other.open();
    assert_eq!(layer.drain(SECOND).await, 2);
    assert_eq!(layer.drain(Duration::ZERO).await, 2);
    gate.open();
    assert_eq!(layer.drain(SECOND).await, 0);
    let retry = retry(&layer, "first").await;
    assert!(retry.is_replayed());
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_answers_that_the_store_has_not_acknowledged() {
    let (store, layer) = gated_layer();
    store.on_complete.fail(store_is_away);
    let first = pay(layer.clone(), "k", Gate::opened()).await;
    assert!(first.body == "paid" && !first.is_replayed());
    let mut draining = draining(&layer, Duration::MAX);
    assert_waits(&mut draining).await;
    store.on_complete.mend();
    assert_eq!(ends(draining).await, 0);
    let retry = retry(&layer, "k").await;
    assert!(retry.is_replayed() && retry.body == "paid");
}

#[tokio::test(start_paused = true)]
async fn answers_still_unacknowledged_when_time_is_out_are_counted_and_no_longer_tried() {
    let (store, layer) = gated_layer();
    store.on_complete.fail(store_is_away);
    for key in ["first", "second"] {
        pay(layer.clone(), key, Gate::opened()).await;
    }
    let began = Instant::now();
    assert_eq!(layer.drain(10 * SECOND).await, 2);
    assert_eq!(began.elapsed(), 10 * SECOND);
    // They were told to give up: those that were asking the store finish that.
    assert_eq!(layer.drain(HOUR).await, 0);
    let asked = store.on_complete.calls();
    an_hour_passes().await;
    assert_eq!(store.on_complete.calls(), asked);
    store.on_complete.mend();
    let retry = retry(&layer, "first").await;
    assert_eq!(retry.problem().as_deref(), Some("in-flight"));
}

#[tokio::test(start_paused = true)]
async fn handlers_and_unacknowledged_answers_share_one_time_limit() {
    let (store, layer) = gated_layer();
    store.on_complete.fail(store_is_away);
    let gate = Gate::closed();
    left_alone(&layer, "k", &gate).await;
    let began = Instant::now();
    let mut draining = draining(&layer, 20 * SECOND);
    assert!(timeout(12 * SECOND, &mut draining).await.is_err());
    // The store is asked for some seconds, then in the background.
    gate.open();
    assert_eq!(ends(draining).await, 1);
    assert_eq!(began.elapsed(), 20 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_reservations_that_a_client_left_in_a_slow_store() {
    let (store, layer) = with_settings(|builder| builder.store_timeouts(2 * HOUR, 2 * HOUR));
    store.on_reserve.after.close();
    left_alone_in_reserve(&layer, &store).await;
    let mut draining = draining(&layer, Duration::MAX);
    assert_waits(&mut draining).await;
    store.on_reserve.after.open();
    assert_eq!(ends(draining).await, 0);
    assert_eq!(store.record("k").await, None);
}

async fn left_alone_in_reserve(layer: &IdempotencyLayer, store: &GatedStore) {
    tokio::select! {
        answer = pay(layer.clone(), "k", Gate::opened()) => panic!("{answer:?}"),
        () = store.on_reserve.after.reached(1) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn layers_that_come_from_one_another_share_it_and_others_do_not() {
    let (_, layer) = gated_layer();
    let (_, stranger) = gated_layer();
    let derived = layer.clone().answer_limit(10).key_optional();
    let derived_again = derived.clone().request_limit(10);
    for (key, runs_by, drained_by) in [
        ("1", &layer, &derived),
        ("2", &derived, &layer),
        ("3", &derived_again, &layer),
        ("4", &layer, &derived_again),
        ("5", &derived, &derived_again),
    ] {
        let gate = Gate::closed();
        left_alone(runs_by, key, &gate).await;
        let mut draining = draining(drained_by, Duration::MAX);
        assert_waits(&mut draining).await;
        assert_eq!(stranger.drain(Duration::MAX).await, 0);
        gate.open();
        assert_eq!(ends(draining).await, 0);
    }
}

#[tokio::test]
async fn a_server_that_has_stopped_leaves_its_handlers_to_it() {
    for protocol in PROTOCOLS {
        let (store, layer) = gated_layer();
        let gate = Gate::closed();
        let passes = gate.clone();
        let server = Server::start(layer.clone(), move |_| {
            let passes = passes.clone();
            async move {
                passes.pass().await;
                Response::new(full("paid"))
            }
        })
        .await;
        let asking = tokio::spawn(send(server.address, protocol, payment("k")));
        gate.reached(1).await;
        drop(server);
        // Its connections are gone, and the handler is not.
        assert!(soon(asking).await.unwrap().is_err());
        assert_eq!(layer.drain(Duration::ZERO).await, 1);
        gate.open();
        assert_eq!(soon(layer.drain(Duration::MAX)).await, 0);
        assert_eq!(store.on_complete.calls(), 1);
        assert!(soon(pay(layer, "k", Gate::closed())).await.is_replayed());
    }
}
