//! The handler of a row: it counts its runs and answers as the row says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use idem_core::{Answer, Completion, Idempotency, IdempotencyStore as _, Reservation};
use idem_tower::{Idempotent, RecordedAnswer};
use tokio::sync::Semaphore;

use super::row::{Does, Reply};
use super::store::RowStore;
use crate::support::server::{Asked, Body, BoxError, full};

#[derive(Clone)]
pub(super) struct Handler {
    pub(super) replies: Arc<[Reply]>,
    pub(super) runs: Arc<AtomicUsize>,
    pub(super) store: RowStore,
    pub(super) idempotency: Idempotency,
    /// What the first run waits for.
    pub(super) gate: Option<Arc<Gate>>,
}

/// Stops the first run half-way.
pub(super) struct Gate {
    pub(super) entered: Semaphore,
    pub(super) open: Semaphore,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            entered: Semaphore::new(0),
            open: Semaphore::new(0),
        }
    }
}

impl Handler {
    pub(super) async fn answer(self, request: Asked) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let Some(idempotent) = parts.extensions.get::<Idempotent>().cloned() else {
            return self.run(parts, body).await;
        };
        // By hand: what the handler of an application does, in the fewest words.
        let running = self.clone();
        let to_record = idempotent.clone();
        let executed = self
            .idempotency
            .execute(idempotent.operation(), |_| async move {
                let (parts, body) = running.run(parts, body).await.into_parts();
                let body = body.collect().await?.to_bytes();
                Ok::<_, BoxError>(to_record.to_record(&parts, body, None))
            });
        let answer: Response<_> = match executed.await {
            Ok(executed) => idempotent.answer(executed),
            Err(idem_core::ExecuteError::Store(error)) => idempotent.store_failed(&error),
            Err(error) => panic!("{error}"),
        };
        answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }

    async fn run(
        &self,
        parts: http::request::Parts,
        body: idem_tower::RequestBody<hyper::body::Incoming>,
    ) -> Response<Body> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let asked = body.collect().await.unwrap().to_bytes();
        if let Some(gate) = self.gate.as_ref().filter(|_| run == 1) {
            gate.entered.add_permits(1);
            gate.open.acquire().await.unwrap().forget();
        }
        let reply = &self.replies[run.min(self.replies.len()) - 1];
        let reservation = parts.extensions.get::<Reservation>();
        let text = match std::str::from_utf8(&reply.body) {
            Err(_) => reply.body.clone(),
            Ok(text) => {
                let attempt = reservation.map_or("none".into(), |held| held.attempt().to_string());
                let replayed = parts.headers.get("idempotent-replayed");
                let replayed = replayed.map_or("nothing", |value| value.to_str().unwrap());
                let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
                text.replace("{run}", &run.to_string())
                    .replace("{attempt}", &attempt)
                    .replace("{method}", parts.method.as_str())
                    .replace("{path}", path)
                    .replace("{body}", &String::from_utf8_lossy(&asked))
                    .replace("{idempotent-replayed}", replayed)
                    .into()
            }
        };
        match reply.does {
            Does::Panic => panic!("the row says so"),
            Does::Record => self.record(reservation.unwrap(), reply, text).await,
            Does::Answer | Does::BreakOff => respond(reply, text),
        }
    }

    async fn record(&self, held: &Reservation, reply: &Reply, text: Bytes) -> Response<Body> {
        let mut answer = idem_core::Response::new(reply.status).body(text);
        for (name, value) in &reply.headers {
            let value = Bytes::copy_from_slice(value.as_bytes());
            answer = answer.header(name.as_str(), value);
        }
        let full = Answer::Full(answer.clone());
        let completed = self.store.complete(held.holder(), &full).await.unwrap();
        assert!(matches!(completed, Completion::Completed { .. }));
        let response = RecordedAnswer(answer).into_http();
        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }
}

fn respond(reply: &Reply, text: Bytes) -> Response<Body> {
    let mut response = Response::new(match reply {
        Reply {
            streams: false,
            does: Does::Answer,
            trailers,
            ..
        } if trailers.is_empty() => full(text),
        _ => streamed(reply, text),
    });
    *response.status_mut() = reply.status.try_into().unwrap();
    for (name, value) in &reply.headers {
        response.headers_mut().append(name, value.clone());
    }
    if let Some(disposition) = reply.disposition {
        response.extensions_mut().insert(disposition);
    }
    response
}

/// In two pieces, with an end that is told by nothing before.
fn streamed(reply: &Reply, text: Bytes) -> Body {
    let (one, two) = text.split_at(text.len() / 2);
    let pieces = [text.slice_ref(one), text.slice_ref(two)];
    let mut frames: Vec<Result<Frame<Bytes>, BoxError>> =
        pieces.map(|piece| Ok(Frame::data(piece))).into();
    if !reply.trailers.is_empty() {
        let trailers: HeaderMap = reply.trailers.iter().cloned().collect();
        frames.push(Ok(Frame::trailers(trailers)));
    }
    if reply.does == Does::BreakOff {
        frames.push(Err("broken off".into()));
    }
    StreamBody::new(stream::iter(frames)).boxed_unsync()
}
