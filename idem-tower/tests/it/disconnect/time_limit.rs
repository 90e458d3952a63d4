//! A time limit outside of the layer: it drops the request's future at whatever stage it is.
//!
//! Time is paused: it moves on to the limit as soon as nothing else can happen.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use idem_core::{Builder, OnConflict};
use idem_tower::{IdempotencyLayer, RequestBody};
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneService;
use tower::{ServiceBuilder, ServiceExt as _};

use super::{
    assert_in_flight, assert_is_paid, assert_not_retained, assert_replays_paid, attempt, paid,
    patient_layer, payment,
};
use crate::support::PATIENCE;
use crate::support::client::Answer;
use crate::support::gate::{Gate, soon};
use crate::support::gated_store::GatedStore;
use crate::support::in_memory::{collected, next};
use crate::support::server::{Body, BoxError, full};

struct Limited {
    store: GatedStore,
    layer: IdempotencyLayer,
    effects: Gate,
    /// The second half of an answer passes it.
    second_half: Gate,
    service: BoxCloneService<Request<Body>, Answer, BoxError>,
}

const LIMIT: Duration = Duration::from_secs(1);

fn limited(settings: impl FnOnce(Builder) -> Builder) -> Limited {
    let (store, layer) = patient_layer(settings);
    let (effects, second_half) = (Gate::opened(), Gate::opened());
    let (effect, half) = (effects.clone(), second_half.clone());
    let handler = tower::service_fn(move |request: Request<RequestBody<Body>>| {
        let (effect, half) = (effect.clone(), half.clone());
        async move {
            effect.pass().await;
            let (head, body) = paid(attempt(&request)).into_parts();
            let body = in_halves(body.collect().await.unwrap().to_bytes(), half);
            Ok::<_, Infallible>(Response::from_parts(head, body))
        }
    });
    let service = ServiceBuilder::new()
        .timeout(LIMIT)
        .layer(layer.clone())
        .service(handler)
        .and_then(|response| async { Ok(collected(response).await) })
        .boxed_clone();
    Limited {
        store,
        layer,
        effects,
        second_half,
        service,
    }
}

impl Limited {
    async fn send(&self, request: Request<Body>) -> Result<Answer, BoxError> {
        self.service.clone().oneshot(request).await
    }

    async fn pays(&self) -> Answer {
        self.send(payment("k").map(full)).await.unwrap()
    }

    async fn pays_out_of_time(&self) {
        let error = self.send(payment("k").map(full)).await.unwrap_err();
        assert!(error.is::<Elapsed>(), "{error}");
    }

    async fn comes_to_rest(&self) {
        assert_eq!(soon(self.layer.drain(PATIENCE)).await, 0);
    }

    /// What is expected whenever the limit strikes after the effect.
    async fn goes_on_alone(&self, gate: &Gate) {
        assert_in_flight(&self.pays().await);
        gate.open();
        self.comes_to_rest().await;
        assert_replays_paid(&self.pays().await);
        assert_eq!(self.effects.arrivals(), 1);
    }
}

/// A body whose second half passes the gate first.
fn in_halves(whole: Bytes, gate: Gate) -> Body {
    let half = whole.len() / 2;
    let halves = [whole.slice(..half), whole.slice(half..)];
    let halves = stream::unfold((0, halves), move |(at, halves)| {
        let gate = gate.clone();
        async move {
            let piece = halves.get(at)?.clone();
            if at == 1 {
                gate.pass().await;
            }
            Some((Ok(Frame::data(piece)), (at + 1, halves)))
        }
    });
    StreamBody::new(halves).boxed_unsync()
}

#[tokio::test(start_paused = true)]
async fn it_strikes_during_the_upload_and_nothing_runs() {
    let world = limited(|builder| builder);
    let never = Gate::closed();
    let upload = payment("k").map(|body| in_halves(body, never.clone()));
    let error = world.send(upload).await.unwrap_err();
    assert!(error.is::<Elapsed>() && never.arrivals() == 1);
    world.comes_to_rest().await;
    assert_eq!(world.store.record("k").await, None);
    assert_eq!(
        (world.effects.arrivals(), world.store.on_reserve.calls()),
        (0, 0)
    );
    assert_is_paid(&world.pays().await, 1);
    assert_eq!(world.effects.arrivals(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_strikes_while_the_request_waits_for_anothers_answer_and_the_other_goes_on() {
    let world = limited(|builder| builder.on_conflict(OnConflict::Wait { up_to: PATIENCE }));
    world.effects.close();
    world.pays_out_of_time().await;
    world.pays_out_of_time().await;
    world.pays_out_of_time().await;
    assert_eq!(world.store.on_changed.calls(), 2);
    assert_eq!(world.effects.arrivals(), 1);
    world.effects.open();
    assert_replays_paid(&world.pays().await);
    assert_eq!(world.effects.arrivals(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_strikes_while_the_store_reserves_and_the_reservation_is_given_back() {
    for reserved_already in [false, true] {
        let world = limited(|builder| builder);
        let reserve = &world.store.on_reserve;
        let gate = if reserved_already {
            &reserve.after
        } else {
            &reserve.before
        };
        gate.close();
        world.pays_out_of_time().await;
        assert_eq!(world.store.record("k").await.is_some(), reserved_already);
        gate.open();
        world.comes_to_rest().await;
        assert_eq!(world.store.record("k").await, None);
        assert_eq!(world.effects.arrivals(), 0);
        assert_is_paid(&world.pays().await, 1);
        assert_eq!(world.effects.arrivals(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn it_strikes_during_the_handler_and_the_handler_runs_to_its_end() {
    let world = limited(|builder| builder);
    world.effects.close();
    world.pays_out_of_time().await;
    world.goes_on_alone(&world.effects).await;
}

#[tokio::test(start_paused = true)]
async fn it_strikes_while_the_answers_body_is_read_and_all_of_it_is_recorded() {
    let world = limited(|builder| builder);
    world.second_half.close();
    world.pays_out_of_time().await;
    assert_eq!(world.second_half.arrivals(), 1);
    world.goes_on_alone(&world.second_half).await;
}

#[tokio::test(start_paused = true)]
async fn it_strikes_while_the_store_records_and_the_answer_is_recorded() {
    let world = limited(|builder| builder);
    let complete = &world.store.on_complete.before;
    complete.close();
    world.pays_out_of_time().await;
    assert_eq!(world.store.on_complete.calls(), 1);
    world.goes_on_alone(complete).await;
}

#[tokio::test(start_paused = true)]
async fn it_does_not_concern_a_streamed_answer_and_one_dropped_half_way_is_answered_all_the_same() {
    let (_, layer) = patient_layer(|builder| builder.response_limit(3));
    let rest = Gate::closed();
    let body = rest.clone();
    let handler = tower::service_fn(move |_: Request<RequestBody<Body>>| {
        let body = in_halves(Bytes::from_static(b"too much"), body.clone());
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let service = ServiceBuilder::new()
        .timeout(LIMIT)
        .layer(layer)
        .service(handler);
    let mut answer = service
        .clone()
        .oneshot(payment("k").map(full))
        .await
        .unwrap();
    assert_eq!(next(answer.body_mut()).await, "too ");
    tokio::time::advance(2 * LIMIT).await;
    drop(answer);
    let retry = service.oneshot(payment("k").map(full)).await.unwrap();
    assert_not_retained(&collected(retry).await, 200);
}
