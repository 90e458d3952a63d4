//! The layer as its users write it, in axum and in plain hyper.

#[cfg(feature = "axum")]
mod in_axum;
mod in_hyper;

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use crate::support::client::{Answer, Protocol, send};

fn post(path: &str, key: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap()
}

async fn pay(address: SocketAddr, protocol: Protocol, path: &str, key: &str) -> Answer {
    let request = post(path, key, r#"{"amount": 150}"#);
    send(address, protocol, request).await.unwrap()
}
