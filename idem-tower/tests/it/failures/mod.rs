//! Handlers and stores that fail, each in its own way.
//!
//! In memory; where time is paused, it moves on as soon as nothing else can happen.

mod of_handlers;
mod of_the_store;
mod taken_over;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use idem_core::{Builder, Idempotency, ManualClock, MemoryStore, Reservation};
use idem_tower::{IdempotencyLayer, RequestBody};
use tower::util::BoxCloneService;
use tower::{Layer as _, ServiceExt as _};

use crate::support::by_client;
use crate::support::client::Answer;
use crate::support::gate::{Gate, soon};
use crate::support::gated_store::GatedStore;
use crate::support::in_memory::collected;
use crate::support::server::{Body, full};

/// What the first run of a handler does, after its effect. Later runs pay.
#[derive(Clone, Copy, Debug)]
enum First {
    Pays,
    PanicsInCall,
    PanicsBeforeItsFirstAwait,
    PanicsAfterAnAwait,
    PanicsInItsBody,
    /// The service's own error.
    Fails,
    /// Its body, after some of it.
    BreaksOff,
}

/// The service's own error.
#[derive(Debug, PartialEq, Eq)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl std::error::Error for Broken {}

/// One effect: by which attempt (none: unprotected), and under which derived key.
type Effect = Option<(u32, String)>;

struct World {
    store: GatedStore,
    clock: ManualClock,
    idempotency: Idempotency,
    layer: IdempotencyLayer,
    effects: Arc<Mutex<Vec<Effect>>>,
    /// Passed by the first run after its effect.
    first_passes: Gate,
    /// Passed by the other runs.
    others_pass: Gate,
    service: BoxCloneService<Request<Full<Bytes>>, Answer, Broken>,
}

const LEASE: Duration = Duration::from_secs(60);

impl World {
    fn new(first: First) -> Self {
        Self::with(first, |builder| builder, |layer| layer)
    }

    fn with(
        first: First,
        settings: impl FnOnce(Builder) -> Builder,
        layer: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
    ) -> Self {
        let clock = ManualClock::new();
        let store = GatedStore::new(MemoryStore::with_clock(clock.clone()));
        let idempotency = settings(Idempotency::builder(store.clone()).lease(LEASE))
            .build()
            .unwrap();
        let layer = layer(IdempotencyLayer::new(idempotency.clone(), by_client));
        let effects = Arc::default();
        let (first_passes, others_pass) = (Gate::opened(), Gate::opened());
        let gates = [first_passes.clone(), others_pass.clone()];
        let service = service(&layer, first, Arc::clone(&effects), gates);
        Self {
            store,
            clock,
            idempotency,
            layer,
            effects,
            first_passes,
            others_pass,
            service,
        }
    }

    async fn try_pay(&self) -> Result<Answer, Broken> {
        let request = Request::post("/payments")
            .header("x-client", "ana")
            .header("idempotency-key", "k")
            .body(Full::new(Bytes::from_static(b"150")))
            .unwrap();
        soon(self.service.clone().oneshot(request)).await
    }

    async fn pay(&self) -> Answer {
        self.try_pay().await.unwrap()
    }

    fn effects(&self) -> Vec<Effect> {
        self.effects.lock().unwrap().clone()
    }

    /// The attempts that had an effect, all under one derived key.
    fn attempts(&self) -> Vec<u32> {
        let effects = self.effects().into_iter().map(Option::unwrap);
        let (attempts, mut keys): (Vec<u32>, Vec<String>) = effects.unzip();
        keys.dedup();
        assert!(keys.len() <= 1, "{keys:?}");
        attempts
    }
}

fn service(
    layer: &IdempotencyLayer,
    first: First,
    effects: Arc<Mutex<Vec<Effect>>>,
    [first_passes, others_pass]: [Gate; 2],
) -> BoxCloneService<Request<Full<Bytes>>, Answer, Broken> {
    let handler = tower::service_fn(move |request: Request<RequestBody<Full<Bytes>>>| {
        let reservation = request.extensions().get::<Reservation>();
        let effect = reservation.map(|reservation| {
            let derived = reservation.derived_key("charge").to_string();
            (reservation.attempt(), derived)
        });
        let attempt = effect.as_ref().map_or(0, |(attempt, _)| *attempt);
        effects.lock().unwrap().push(effect);
        let is_first = effects.lock().unwrap().len() == 1;
        let first = if is_first { first } else { First::Pays };
        assert!(!matches!(first, First::PanicsInCall), "by the test");
        let gate = if is_first {
            first_passes.clone()
        } else {
            others_pass.clone()
        };
        async move {
            assert!(
                !matches!(first, First::PanicsBeforeItsFirstAwait),
                "by the test"
            );
            gate.pass().await;
            match first {
                First::PanicsAfterAnAwait => {
                    tokio::task::yield_now().await;
                    panic!("by the test")
                }
                First::Fails => Err(Broken),
                First::PanicsInItsBody => Ok(answer(breaking_off(true))),
                First::BreaksOff => Ok(answer(breaking_off(false))),
                _ => Ok(answer(full(format!("paid by {attempt}")))),
            }
        }
    });
    let service = layer.layer(handler);
    BoxCloneService::new(service.and_then(|response| async { Ok(collected(response).await) }))
}

fn answer(body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::CREATED;
    answer
}

fn breaking_off(panics: bool) -> Body {
    let frames = stream::unfold(0, move |at| async move {
        let frame = match at {
            0 | 1 => Ok(Frame::data(Bytes::from_static(b"half "))),
            _ if panics => panic!("by the test"),
            _ => Err("by the test".into()),
        };
        Some((frame, at + 1))
    });
    StreamBody::new(frames).boxed_unsync()
}

#[track_caller]
fn assert_paid(answer: &Answer, attempt: u32, replayed: bool) {
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    assert_eq!(answer.body, format!("paid by {attempt}"));
    assert_eq!(answer.is_replayed(), replayed);
}

#[track_caller]
fn assert_problem(answer: &Answer, status: u16, kind: &str, retry_after: Option<&str>) {
    assert_eq!(answer.problem().as_deref(), Some(kind), "{answer:?}");
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("retry-after"), retry_after);
    assert!(!answer.is_replayed());
}

#[track_caller]
fn assert_outcome_unknown(answer: &Answer) {
    assert_problem(answer, 500, "outcome-unknown", None);
}

#[track_caller]
fn assert_in_flight(answer: &Answer) {
    assert_problem(answer, 409, "in-flight", Some("1"));
}
