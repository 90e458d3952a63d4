//! What bounds the layer: handlers that run, bodies that dribble in; and what counts of a body.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use idem_core::Key;
use idem_tower::{IdempotencyLayer, ProblemKind, RequestBody};
use tokio::time::Instant;
use tower::{Layer as _, Service, ServiceExt as _};

use crate::support::frames::{Frames, Step, read};
use crate::support::gate::{Gate, soon};
use crate::support::layer;

fn post(key: &str, steps: impl IntoIterator<Item = Step>) -> Request<Frames> {
    let body = Frames {
        steps: steps.into_iter().collect(),
        declares: false,
    };
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .body(body)
        .unwrap()
}

fn pays(
    layer: &IdempotencyLayer,
    gate: &Gate,
) -> impl Service<
    Request<Frames>,
    Response = Response<idem_tower::ResponseBody<Frames>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ use<> {
    let gate = gate.clone();
    layer.layer(tower::service_fn(move |_: Request<RequestBody<Frames>>| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, Infallible>(Response::new(Frames::default()))
        }
    }))
}

#[tokio::test]
async fn as_many_handlers_run_as_may_also_those_whose_clients_have_gone() {
    let (layer, _, _) = layer();
    let gate = Gate::closed();
    let service = pays(&layer.running_limit(1), &gate);
    // Its client goes while it runs.
    let first = tokio::spawn(service.clone().oneshot(post("first", [])));
    soon(gate.reached(1)).await;
    first.abort();
    let refused = service.clone().oneshot(post("second", [])).await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    let body = read(refused.into_body()).await.data;
    assert!(String::from_utf8(body).unwrap().contains("overloaded"));
    gate.open();
    // The first one ends, and the next may run; what was refused has used up nothing.
    soon(async {
        while service
            .clone()
            .oneshot(post("second", []))
            .await
            .unwrap()
            .status()
            != 200
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(gate.arrivals(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_in_time_is_refused_and_reserves_nothing() {
    let (layer, _, _) = layer();
    let gate = Gate::opened();
    let service = pays(&layer.request_within(Duration::from_secs(3)), &gate);
    let began = Instant::now();
    let slow = [Step::Data(Bytes::from_static(b"{")), Step::Never];
    let refused = service.clone().oneshot(post("k", slow)).await.unwrap();
    assert_eq!(refused.status(), ProblemKind::BodyTooSlow.status());
    assert_eq!(began.elapsed().as_secs(), 3);
    let another = [Step::Data(Bytes::from_static(b"[]"))];
    let runs = service.clone().oneshot(post("k", another)).await.unwrap();
    assert_eq!((runs.status(), gate.arrivals()), (StatusCode::OK, 1));
}

#[tokio::test]
async fn what_is_left_out_of_the_fingerprint_is_not_compared_and_the_rest_is() {
    let (layer, _, _) = layer();
    let gate = Gate::opened();
    // All but the last byte, which counts deliveries.
    let counted = |_: &Parts, body: &Bytes| body[..body.len().saturating_sub(1)].to_vec();
    let service = pays(&layer.fingerprint_body(counted), &gate);
    for (body, status) in [("pay 1", 200), ("pay 2", 200), ("buy 3", 422)] {
        let steps = [Step::Data(Bytes::from_static(body.as_bytes()))];
        let answer = service.clone().oneshot(post("k", steps)).await.unwrap();
        assert_eq!(answer.status(), status, "{body}");
    }
    assert_eq!(gate.arrivals(), 1);
}

#[tokio::test]
async fn a_key_of_the_parts_is_asked_for_before_the_body_is_read() {
    let (layer, _, _) = layer();
    let gate = Gate::opened();
    let none = |_: &Parts| Ok(None);
    let unprotected = pays(&layer.clone().key_from(none).key_optional(), &gate);
    let endless = || post("ignored", [Step::Never]);
    assert_eq!(unprotected.oneshot(endless()).await.unwrap().status(), 200);
    let required = pays(&layer.clone().key_from(none), &gate);
    assert_eq!(required.oneshot(endless()).await.unwrap().status(), 400);
    let refused = |_: &Parts| Key::new("").map(Some);
    let refusing = pays(&layer.key_from(refused), &gate);
    assert_eq!(refusing.oneshot(endless()).await.unwrap().status(), 400);
    assert_eq!(gate.arrivals(), 1);
}

#[tokio::test]
async fn what_cannot_be_set_is_refused_with_what_is_allowed() {
    let (layer, _, _) = layer();
    for url in ["", "a b", "a\r\nb: c", "https://x/<y>", "https://x/é"] {
        let refused = layer.clone().documentation(url).unwrap_err();
        assert!(refused.is_invalid(), "{url}");
    }
    assert!(layer.clone().documentation("https://x/y#z").is_ok());
    for status in [100, 199, 204, 205, 304, 600, 999] {
        let status = StatusCode::from_u16(status).unwrap();
        let refused = layer.clone().problem_status(ProblemKind::KeyReused, status);
        assert!(refused.unwrap_err().is_invalid(), "{status}");
    }
}
