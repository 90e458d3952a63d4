//! Every kind of problem, brought about on purpose, in memory. Wants a paused clock of tokio: a store
//! that is away is asked again for some seconds.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use idem_core::{
    Answer, Completion, Error, Holder, Idempotency, IdempotencyStore, ManualClock, MemoryStore,
    OnLapse, Outcome, Progress, RecordId, ReserveRequest, Terms, Update,
};
use idem_tower::{Disposition, IdempotencyLayer, ProblemKind, RequestBody, ResponseBody};
use serde_json::Value;
use tokio::sync::Notify;
use tower::{Layer as _, Service, ServiceExt as _};

use super::by_client;
use super::frames::{Frames, Step, read};

/// By these they are found in logs.
pub(crate) const SCOPE: &str = "rawscope-ana";
pub(crate) const KEY: &str = "rawkey-17";
pub(crate) const SECRET: &str = "rawsecret-4111";

/// A problem as it was answered.
pub(crate) struct Provoked {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// The layer that answered it.
    pub(crate) layer: IdempotencyLayer,
}

/// Brings it about under a layer with these settings.
pub(crate) async fn provoke(
    kind: ProblemKind,
    set: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
) -> Provoked {
    let clock = ManualClock::new();
    let store: Box<dyn IdempotencyStore> = match kind {
        ProblemKind::StoreUnavailable => {
            Box::new(Fails(|| Error::unavailable("away", "unplugged")))
        }
        ProblemKind::RecordUnreadable => Box::new(Fails(|| Error::corrupt("half a record"))),
        _ => Box::new(MemoryStore::with_clock(clock.clone())),
    };
    let on_lapse = match kind {
        ProblemKind::Unresolved => OnLapse::Hold,
        _ => OnLapse::RunAgain,
    };
    let idempotency = Idempotency::builder(store).on_lapse(on_lapse).build();
    let layer = set(IdempotencyLayer::new(idempotency.unwrap(), by_client));
    let layer = match kind {
        ProblemKind::Overloaded => layer.running_limit(0),
        _ => layer,
    };
    let runs = Arc::new(Notify::new());
    let service = layer.layer(tower::service_fn({
        let runs = Arc::clone(&runs);
        move |_: Request<RequestBody<Frames>>| {
            runs.notify_one();
            answer(kind)
        }
    }));
    let mut request = request();
    match kind {
        ProblemKind::KeyMissing => drop(request.headers_mut().remove("idempotency-key")),
        ProblemKind::KeyMalformed => {
            let line = format!("\"{KEY}").parse().unwrap();
            request.headers_mut().insert("idempotency-key", line);
        }
        ProblemKind::NoScope => drop(request.headers_mut().remove("x-client")),
        ProblemKind::BodyTooSlow => request.body_mut().steps.push_back(Step::Never),
        ProblemKind::BodyIncomplete => request.body_mut().steps.push_back(Step::Breaks),
        ProblemKind::BodyTooLarge => {
            let line = "18446744073709551615".parse().unwrap();
            request.headers_mut().insert("content-length", line);
        }
        ProblemKind::KeyReused => {
            ask(&service, self::request()).await;
            *request.uri_mut() = "/elsewhere".parse().unwrap();
        }
        ProblemKind::AnswerNotRetained => drop(ask(&service, self::request()).await),
        ProblemKind::Unresolved => {
            ask(&service, self::request()).await;
            clock.advance(Duration::from_secs(61));
        }
        ProblemKind::InFlight => {
            let first = service.clone().oneshot(self::request());
            tokio::spawn(first);
            runs.notified().await;
        }
        ProblemKind::StoreUnavailable
        | ProblemKind::RecordUnreadable
        | ProblemKind::Overloaded
        | ProblemKind::OutcomeUnknown => {}
        _ => panic!("a kind that nobody here knows how to bring about: {kind:?}"),
    }
    let (status, headers, body) = ask(&service, request).await;
    let body = serde_json::from_slice(&body).unwrap();
    Provoked {
        status,
        headers,
        body,
        layer,
    }
}

fn request() -> Request<Frames> {
    let body = Frames {
        steps: [Step::Data(Bytes::from_static(SECRET.as_bytes()))].into(),
        declares: false,
    };
    Request::post("/payments")
        .header("x-client", SCOPE)
        .header("idempotency-key", KEY)
        .body(body)
        .unwrap()
}

async fn answer(kind: ProblemKind) -> Result<Response<Frames>, Infallible> {
    let mut answer = Response::new(Frames {
        steps: [Step::Data(Bytes::from_static(SECRET.as_bytes()))].into(),
        declares: false,
    });
    let extensions = answer.extensions_mut();
    match kind {
        ProblemKind::Unresolved => drop(extensions.insert(Disposition::Unknown)),
        ProblemKind::AnswerNotRetained => {
            extensions.insert(Disposition::CompleteWithoutBody);
        }
        ProblemKind::OutcomeUnknown => answer.body_mut().steps.push_back(Step::Breaks),
        ProblemKind::InFlight => std::future::pending().await,
        _ => {}
    }
    Ok(answer)
}

async fn ask<S>(service: &S, request: Request<Frames>) -> (StatusCode, HeaderMap, Vec<u8>)
where
    S: Service<Request<Frames>, Response = Response<ResponseBody<Frames>>, Error = Infallible>
        + Clone,
{
    let answered = service.clone().oneshot(request).await;
    let (parts, body) = answered.unwrap_or_else(|never| match never {}).into_parts();
    (parts.status, parts.headers, read(body).await.data)
}

/// A store that answers everything with one error.
struct Fails(fn() -> Error);

#[async_trait]
impl IdempotencyStore for Fails {
    async fn reserve(&self, _: &ReserveRequest) -> Result<Outcome, Error> {
        Err(self.0())
    }

    async fn complete(&self, _: &Holder, _: &Answer) -> Result<Completion, Error> {
        Err(self.0())
    }

    async fn renew(&self, _: &Holder, _: Terms, _: Option<&Progress>) -> Result<Update, Error> {
        Err(self.0())
    }

    async fn abandon(&self, _: &Holder) -> Result<Update, Error> {
        Err(self.0())
    }

    async fn release(&self, _: &Holder) -> Result<Update, Error> {
        Err(self.0())
    }

    async fn changed(&self, _: &RecordId, within: Duration) {
        tokio::time::sleep(within).await; // why: nothing will ever change
    }
}
