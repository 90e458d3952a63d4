//! Plain hyper: a service function, hyper-util's server, no framework.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use idem_core::{Idempotency, MemoryStore, Reservation};
use idem_tower::{IdempotencyLayer, RequestBody};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceBuilder;

use super::{pay, post};
use crate::support::by_client;
use crate::support::client::{PROTOCOLS, Protocol, send};

/// What a user's server is: the handler reads its body, and answers with a type of body of its own.
async fn charge(
    charges: Arc<AtomicUsize>,
    request: Request<RequestBody<Incoming>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let reservation = request.extensions().get::<Reservation>().cloned();
    let Ok(body) = request.into_body().collect().await else {
        return Ok(answer(StatusCode::BAD_REQUEST, "no body"));
    };
    if body.to_bytes() != r#"{"amount": 150}"# {
        return Ok(answer(StatusCode::UNPROCESSABLE_ENTITY, "no payment"));
    }
    charges.fetch_add(1, Ordering::SeqCst);
    let derived = reservation.map(|reservation| reservation.derived_key("charge").to_string());
    Ok(answer(StatusCode::CREATED, derived.unwrap_or_default()))
}

fn answer(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
}

#[derive(Clone, Copy, Debug)]
enum Builder {
    Http1,
    Http2,
    Auto,
}

async fn start(builder: Builder, charges: Arc<AtomicUsize>) -> (SocketAddr, AbortOnDropHandle<()>) {
    let idempotency = Idempotency::new(MemoryStore::new());
    let layer = IdempotencyLayer::new(idempotency, by_client);
    let service = ServiceBuilder::new()
        .layer(layer)
        .service_fn(move |request| charge(Arc::clone(&charges), request));
    let service = TowerToHyperService::new(service);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _): (TcpStream, _) = listener.accept().await.unwrap();
            let (io, service) = (TokioIo::new(stream), service.clone());
            let executor = TokioExecutor::new();
            // A client that breaks off is none of the server's business.
            tokio::spawn(async move {
                match builder {
                    Builder::Http1 => _ = http1::Builder::new().serve_connection(io, service).await,
                    Builder::Http2 => {
                        _ = http2::Builder::new(executor)
                            .serve_connection(io, service)
                            .await;
                    }
                    Builder::Auto => {
                        _ = auto::Builder::new(executor)
                            .serve_connection_with_upgrades(io, service)
                            .await;
                    }
                }
            });
        }
    });
    (address, AbortOnDropHandle::new(serving))
}

#[tokio::test]
async fn a_service_function_is_retry_safe_in_each_of_hypers_servers() {
    for (builder, protocols) in [
        (Builder::Http1, &[Protocol::Http1][..]),
        (Builder::Http2, &[Protocol::Http2]),
        (Builder::Auto, &PROTOCOLS),
    ] {
        let charges = Arc::new(AtomicUsize::new(0));
        let (address, _serving) = start(builder, Arc::clone(&charges)).await;
        for (done, protocol) in protocols.iter().copied().enumerate() {
            let key = format!("{protocol:?}");
            let first = pay(address, protocol, "/payments", &key).await;
            let retry = pay(address, protocol, "/payments", &key).await;
            assert_eq!(first.status, StatusCode::CREATED, "{builder:?} {first:?}");
            assert!(!first.is_replayed() && retry.is_replayed());
            assert_eq!((&retry.body, first.body.len()), (&first.body, 36));
            // Its own refusal is an answer, too, and is replayed under its key.
            let refused = |key| post("/payments", key, "{}");
            let reused = send(address, protocol, refused(&key)).await.unwrap();
            assert_eq!(reused.problem().as_deref(), Some("key-reused"));
            let key = format!("{key} refused").replace(' ', "-");
            for replayed in [false, true] {
                let refused = send(address, protocol, refused(&key)).await.unwrap();
                assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
                assert_eq!(
                    (&refused.body[..], refused.is_replayed()),
                    (&b"no payment"[..], replayed)
                );
            }
            assert_eq!(charges.load(Ordering::SeqCst), done + 1);
        }
    }
}

#[tokio::test]
async fn a_key_counts_across_protocols() {
    let charges = Arc::new(AtomicUsize::new(0));
    let (address, _serving) = start(Builder::Auto, Arc::clone(&charges)).await;
    let [one, two] = PROTOCOLS;
    let first = pay(address, one, "/payments", "k").await;
    let retry = pay(address, two, "/payments", "k").await;
    assert!(!first.is_replayed() && retry.is_replayed());
    assert_eq!(first.body, retry.body);
    assert_eq!(charges.load(Ordering::SeqCst), 1);
}
