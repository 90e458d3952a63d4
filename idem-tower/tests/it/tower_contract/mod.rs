//! What tower expects of a layer and of a service, and what handlers under this one find.

mod bodies;
mod extensions;
mod other_layers;
mod readiness;

use std::convert::Infallible;
use std::future::Future;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use idem_core::{Idempotency, MemoryStore};
use idem_tower::{IdempotencyLayer, RequestBody};
use tower::util::BoxCloneSyncService;

use crate::support::by_client;
use crate::support::gate::Gate;
use crate::support::gated_store::GatedStore;
use crate::support::server::{Body, full};

type Asked = Request<RequestBody<Body>>;
type Handler = BoxCloneSyncService<Asked, Response<Body>, Infallible>;

fn gated_layer() -> (GatedStore, IdempotencyLayer) {
    let store = GatedStore::new(MemoryStore::new());
    let idempotency = Idempotency::new(store.clone());
    (store, IdempotencyLayer::new(idempotency, by_client))
}

fn handler<F>(answer: impl Fn(Asked) -> F + Clone + Send + Sync + 'static) -> Handler
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    BoxCloneSyncService::new(tower::service_fn(move |request| answer(request).map(Ok)))
}

/// A handler that counts its runs and answers `paid`, whatever body the layers outside make for it.
fn pays<B: Send + 'static>(
    runs: &Gate,
) -> BoxCloneSyncService<Request<B>, Response<Body>, Infallible> {
    let runs = runs.clone();
    BoxCloneSyncService::new(tower::service_fn(move |_| {
        runs.arrive();
        async { Ok(Response::new(full("paid"))) }
    }))
}

fn post(key: &str, body: Body) -> Request<Body> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .body(body)
        .unwrap()
}

fn payment(key: &str) -> Request<Body> {
    post(key, full("150"))
}

/// A body of these pieces, each but the first of which passes the gate.
fn pieces(pieces: &'static [&'static str], gate: &Gate) -> Body {
    let gate = gate.clone();
    let frames = stream::unfold(0, move |at| {
        let gate = gate.clone();
        async move {
            let piece = *pieces.get(at)?;
            if at > 0 {
                gate.pass().await;
            }
            Some((
                Ok(Frame::data(Bytes::from_static(piece.as_bytes()))),
                at + 1,
            ))
        }
    });
    StreamBody::new(frames).boxed_unsync()
}
