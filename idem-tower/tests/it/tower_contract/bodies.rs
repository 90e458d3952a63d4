//! Bodies pass untouched where nothing is guarded, and stream where nothing is kept.

use std::time::Duration;

use http::{HeaderMap, Method, Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use idem_core::{Answer, Condition};
use idem_tower::IdempotencyLayer;
use tokio::time::Instant;
use tower::{Layer as _, ServiceExt as _};

use super::{gated_layer, handler, payment, pieces};
use crate::support::gate::{Gate, soon};
use crate::support::gated_store::GatedStore;
use crate::support::in_memory::{collected, next};
use crate::support::server::{Body, full};

const SECOND: Duration = Duration::from_secs(1);

/// Requests that pass: another method, and no key where it is optional.
fn unguarded(body: impl Fn() -> Body) -> [Request<Body>; 2] {
    [
        Request::put("/payments").body(body()).unwrap(),
        Request::post("/payments")
            .header("x-client", "ana")
            .body(body())
            .unwrap(),
    ]
}

#[tokio::test]
async fn an_unguarded_request_streams_to_its_handler() {
    for guarded_method in [Method::POST, Method::PATCH] {
        let (store, layer) = gated_layer();
        let layer = layer.key_optional().methods([guarded_method]);
        let (second_is_sent, first_is_here) = (Gate::closed(), Gate::opened());
        let here = first_is_here.clone();
        let service = layer.layer(handler(move |request| {
            let here = here.clone();
            async move {
                let mut body = request.into_body();
                assert_eq!(next(&mut body).await, "first");
                here.arrive();
                assert_eq!(next(&mut body).await, "second");
                assert!(soon(body.frame()).await.is_none());
                // Its answer streams, too.
                Response::new(body_of_answer(&here))
            }
        }));
        for request in unguarded(|| pieces(&["first", "second"], &second_is_sent)) {
            second_is_sent.close();
            let arrivals = first_is_here.arrivals() + 1;
            let sends_second = async {
                first_is_here.reached(arrivals).await;
                second_is_sent.open();
            };
            let answering = service.clone().oneshot(request);
            let (answer, ()) = soon(async { tokio::join!(answering, sends_second) }).await;
            first_is_here.close();
            let mut answer = answer.unwrap().into_body();
            assert_eq!(next(&mut answer).await, "one");
            first_is_here.open();
            assert_eq!(next(&mut answer).await, "two");
        }
        assert_eq!(store.on_reserve.calls(), 0);
    }
}

fn body_of_answer(gate: &Gate) -> Body {
    pieces(&["one", "two"], gate)
}

#[tokio::test]
async fn an_unguarded_body_keeps_its_length_and_its_trailers() {
    let (_, layer) = gated_layer();
    let service = layer.key_optional().layer(handler(|request| async move {
        let body = request.into_body();
        let size = body.size_hint();
        let collected = body.collect().await.unwrap();
        let trailer = collected
            .trailers()
            .map(|trailers| trailers["x-sum"].clone());
        let body = Full::from(collected.to_bytes())
            .with_trailers(async move {
                let mut trailers = HeaderMap::new();
                trailers.insert("x-sum", trailer.unwrap());
                Some(Ok(trailers))
            })
            .map_err(|never| match never {});
        let mut answer = Response::new(body.boxed_unsync());
        let length = size.lower().into();
        answer.headers_mut().insert("x-length", length);
        answer
    }));
    let body = || {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "3".parse().unwrap());
        let trailers = async move { Some(Ok(trailers)) };
        full("150").with_trailers(trailers).boxed_unsync()
    };
    for request in unguarded(body) {
        let answer = service.clone().oneshot(request).await.unwrap();
        let answer = collected(answer).await;
        assert_eq!(answer.body, "150");
        assert_eq!(answer.trailers["x-sum"], "3");
        assert_eq!(answer.header("x-length"), Some("3"));
    }
}

/// A service that answers in pieces, the first at once and each other once the gate is open.
fn streaming(
    layer: &IdempotencyLayer,
    content_type: &'static str,
    parts: &'static [&'static str],
    gate: &Gate,
) -> idem_tower::IdempotencyService<super::Handler> {
    let gate = gate.clone();
    layer.layer(handler(move |_| {
        let body = pieces(parts, &gate);
        let answer = Response::builder().header("content-type", content_type);
        async move { answer.body(body).unwrap() }
    }))
}

async fn assert_completed_without_body(store: &GatedStore, length: u64) {
    let record = store.record("k").await.unwrap();
    let Condition::Completed(Answer::NotRetained {
        status,
        body_length,
    }) = record.condition
    else {
        panic!("{record:?}");
    };
    assert_eq!((status, body_length), (200, length));
}

#[tokio::test]
async fn the_first_event_arrives_before_the_second_is_made() {
    for content_type in [
        "text/event-stream",
        "Text/Event-Stream; charset=utf-8",
        "multipart/x-mixed-replace; boundary=b",
    ] {
        let (store, layer) = gated_layer();
        let gate = Gate::closed();
        let events = &["data: 1\n\n", "data: 2\n\n"];
        let service = streaming(&layer, content_type, events, &gate);
        let answer = soon(service.clone().oneshot(payment("k"))).await.unwrap();
        let mut body = answer.into_body();
        assert_eq!(next(&mut body).await, events[0]);
        assert_completed_without_body(&store, 0).await;
        gate.open();
        assert_eq!(next(&mut body).await, events[1]);
        assert!(soon(body.frame()).await.is_none());
        let retry = collected(soon(service.oneshot(payment("k"))).await.unwrap()).await;
        assert_eq!(retry.problem().as_deref(), Some("answer-not-retained"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_longer_than_it_may_is_streamed_from_then_on() {
    let (store, layer) = gated_layer();
    let layer = layer.capture_for(7 * SECOND);
    let gate = Gate::closed();
    let service = streaming(&layer, "text/plain", &["early ", "late ", "later"], &gate);
    let began = Instant::now();
    let answer = soon(service.clone().oneshot(payment("k"))).await.unwrap();
    assert_eq!(began.elapsed(), 7 * SECOND);
    assert_eq!((answer.status().as_u16(), gate.arrivals()), (200, 1));
    assert_completed_without_body(&store, 6).await;
    let mut body = answer.into_body();
    assert_eq!(next(&mut body).await, "early ");
    gate.open();
    assert_eq!(next(&mut body).await, "late ");
    assert_eq!(next(&mut body).await, "later");
    assert!(soon(body.frame()).await.is_none());
    let retry = collected(soon(service.oneshot(payment("k"))).await.unwrap()).await;
    assert_eq!(retry.problem().as_deref(), Some("answer-not-retained"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_ends_in_time_is_kept_whole() {
    // By default, and with a time that no clock reaches.
    let (_, by_default) = gated_layer();
    let (_, without_end) = gated_layer();
    for (layer, takes) in [
        (by_default, 9 * SECOND),
        (without_end.capture_for(Duration::MAX), 3600 * SECOND),
    ] {
        let gate = Gate::closed();
        let service = streaming(&layer, "text/plain", &["early ", "late"], &gate);
        let opens = async {
            tokio::time::sleep(takes).await; // why: under paused time only
            gate.open();
        };
        let (answer, ()) = tokio::join!(service.clone().oneshot(payment("k")), opens);
        assert_eq!(collected(answer.unwrap()).await.body, "early late");
        let retry = collected(soon(service.oneshot(payment("k"))).await.unwrap()).await;
        assert!(retry.is_replayed() && retry.body == "early late");
    }
}
