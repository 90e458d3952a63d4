//! The main road, once.

use http::Request;
use http_body_util::Full;
use idem_core::Reservation;

use crate::support::client::{PROTOCOLS, send};
use crate::support::layer;
use crate::support::server::{Server, full};

fn post(key: &str, body: &'static str) -> Request<Full<bytes::Bytes>> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_another_payload_is_refused() {
    for protocol in PROTOCOLS {
        let (layer, _, _) = layer();
        let server = Server::start(layer, |request| async move {
            let reservation = request.extensions().get::<Reservation>().unwrap();
            let key = reservation.derived_key("charge").to_string();
            http::Response::builder()
                .status(201)
                .header("location", "/payments/1")
                .header("set-cookie", "session=1")
                .body(full(key))
                .unwrap()
        })
        .await;
        let first = send(server.address, protocol, post("k", r#"{"a":1,"b":2}"#))
            .await
            .unwrap();
        let retry = send(
            server.address,
            protocol,
            post("\"k\"", r#"{"b":2.0, "a":1}"#),
        )
        .await
        .unwrap();
        let other = send(server.address, protocol, post("k", r#"{"a":2}"#))
            .await
            .unwrap();
        assert_eq!(first.status, 201);
        assert!(!first.is_replayed() && retry.is_replayed());
        assert_eq!(first.header("set-cookie"), Some("session=1"));
        assert_eq!(retry.header("set-cookie"), None);
        assert_eq!(retry.header("location"), Some("/payments/1"));
        assert_eq!((retry.status, &retry.body), (first.status, &first.body));
        assert_eq!(other.problem().as_deref(), Some("key-reused"));
    }
}
