//! `poll_ready`: forwarded, errors too, and whoever was found ready is the one that is called.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::poll;
use http::{Request, Response};
use idem_core::Error;
use idem_tower::{IdempotencyLayer, RequestBody, StoreDown};
use tower::limit::ConcurrencyLimitLayer;
use tower::util::BoxCloneSyncService;
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt};
use tower_test::mock;

use super::{gated_layer, handler, payment, pays};
use crate::support::gate::{Gate, soon};
use crate::support::in_memory::collected;
use crate::support::server::{Body, full};

#[tokio::test]
async fn readiness_is_that_of_the_inner_service() {
    let (_, layer) = gated_layer();
    let (mut service, mut handle) = mock::spawn_with(|inner| layer.layer(inner));
    handle.allow(0);
    assert!(service.poll_ready::<Request<Body>>().is_pending());
    handle.allow(1);
    assert!(matches!(
        service.poll_ready::<Request<Body>>(),
        Poll::Ready(Ok(()))
    ));
    let answering = tokio::spawn(service.call(payment("k")));
    let (asked, answer) = soon(handle.next_request()).await.unwrap();
    assert_eq!(asked.uri().path(), "/payments");
    answer.send_response(Response::new(full("paid")));
    assert_eq!(soon(answering).await.unwrap().unwrap().status(), 200);
    assert!(service.poll_ready::<Request<Body>>().is_pending());
    handle.send_error("down");
    let Poll::Ready(Err(error)) = service.poll_ready::<Request<Body>>() else {
        panic!("no error");
    };
    assert_eq!(error.to_string(), "down");
}

/// A service of which each instance is ready once for each time that it was asked, as `tower` allows.
struct Picky {
    id: usize,
    is_ready: bool,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    instances: AtomicUsize,
    /// The instances that were called, in order.
    called: Mutex<Vec<usize>>,
}

impl Picky {
    fn new(shared: Arc<Shared>) -> Self {
        let id = shared.instances.fetch_add(1, Ordering::SeqCst);
        Self {
            id,
            is_ready: false,
            shared,
        }
    }
}

impl Clone for Picky {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }
}

impl Service<Request<RequestBody<Body>>> for Picky {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<RequestBody<Body>>) -> Self::Future {
        assert!(self.is_ready, "called, but never found ready");
        self.is_ready = false;
        self.shared.called.lock().unwrap().push(self.id);
        ready(Ok(Response::new(full("paid"))))
    }
}

fn ways_to_the_handler() -> [(&'static str, IdempotencyLayer, Request<Body>); 5] {
    let layer = || gated_layer().1;
    let (store, store_is_away) = gated_layer();
    let away = || Error::unavailable("away", "by the test");
    store.on_reserve.fail(away);
    let mut read = payment("k");
    *read.method_mut() = http::Method::GET;
    let mut without_key = payment("k");
    without_key.headers_mut().remove("idempotency-key");
    [
        ("guarded", layer(), payment("k")),
        ("not guarded", layer(), read),
        ("without a key", layer().key_optional(), without_key),
        ("by hand", layer().by_hand(), payment("k")),
        (
            "unprotected",
            store_is_away.store_down(StoreDown::Open),
            payment("k"),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn the_instance_that_was_found_ready_is_the_one_that_is_called() {
    for (way, layer, request) in ways_to_the_handler() {
        let shared = Arc::<Shared>::default();
        let mut service = layer.layer(Picky::new(Arc::clone(&shared)));
        poll_fn(|cx| Service::<Request<Body>>::poll_ready(&mut service, cx))
            .await
            .unwrap();
        // A clone has to be asked for itself, and takes nothing from the other.
        let clone = service.clone();
        let answer = service.call(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{way}");
        assert_eq!(*shared.called.lock().unwrap(), [0], "{way}");
        let answer = clone.oneshot(payment("another")).await.unwrap();
        assert_eq!(answer.status(), 200, "{way}");
        assert_ne!(shared.called.lock().unwrap()[1], 0, "{way}");
        // What is left behind can be asked and called again.
        let answer = service.ready().await.unwrap().call(payment("third")).await;
        assert_eq!(answer.unwrap().status(), 200, "{way}");
        assert_eq!(shared.called.lock().unwrap().len(), 3, "{way}");
    }
}

#[tokio::test]
async fn clones_run_side_by_side_and_one_dropped_leaves_the_other() {
    let (_, layer) = gated_layer();
    let gate = Gate::closed();
    let passes = gate.clone();
    let service = layer.layer(handler(move |_| {
        let passes = passes.clone();
        async move {
            passes.pass().await;
            Response::new(full("paid"))
        }
    }));
    let mut first = Box::pin(service.clone().oneshot(payment("first")));
    let mut second = Box::pin(service.clone().oneshot(payment("second")));
    drop(service);
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    let both = async {
        while gate.arrivals() < 2 {
            let _ = poll!(&mut first);
            let _ = poll!(&mut second);
            tokio::task::yield_now().await;
        }
    };
    soon(both).await;
    drop(first);
    gate.open();
    assert_eq!(soon(second).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_limit_inside_counts_handlers_until_they_end_clients_or_not() {
    let (_, layer) = gated_layer();
    let gate = Gate::closed();
    let passes = gate.clone();
    let pays = handler(move |_| {
        let passes = passes.clone();
        async move {
            passes.pass().await;
            Response::new(full("paid"))
        }
    });
    let service = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(pays);
    tokio::select! {
        _ = service.clone().oneshot(payment("first")) => panic!("it was to stand still"),
        () = gate.reached(1) => {}
    }
    let mut waiting = service.clone();
    let mut ready = Box::pin(ServiceExt::<Request<Body>>::ready(&mut waiting));
    assert!(poll!(&mut ready).is_pending());
    gate.open();
    let second = soon(ready).await.unwrap().call(payment("second"));
    assert!(!collected(soon(second).await.unwrap()).await.is_replayed());
    let retry = soon(service.oneshot(payment("first"))).await.unwrap();
    assert!(collected(retry).await.is_replayed());
}

#[tokio::test]
async fn it_works_under_a_limit_and_with_boxes_around_it() {
    let (_, layer) = gated_layer();
    let runs = Gate::opened();
    let service = ServiceBuilder::new()
        .layer(ConcurrencyLimitLayer::new(1))
        .layer(layer)
        .service(pays::<RequestBody<Body>>(&runs));
    let service = BoxCloneSyncService::new(service);
    let first = service.clone().oneshot(payment("k")).await.unwrap();
    assert!(!collected(first).await.is_replayed());
    let retry = service.oneshot(payment("k")).await.unwrap();
    assert!(collected(retry).await.is_replayed());
    assert_eq!(runs.arrivals(), 1);
}
