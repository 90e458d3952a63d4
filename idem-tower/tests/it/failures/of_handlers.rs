//! Panics, errors of the service, answers that break off.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use idem_core::OnLapse;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Broken, First, LEASE, World, assert_in_flight, assert_outcome_unknown, assert_paid,
    assert_problem,
};
use crate::support::client::{PROTOCOLS, Protocol, send};
use crate::support::gate::{Gate, soon};
use crate::support::layer;
use crate::support::server::Server;

const PANICS: [First; 4] = [
    First::PanicsInCall,
    First::PanicsBeforeItsFirstAwait,
    First::PanicsAfterAnAwait,
    First::PanicsInItsBody,
];

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn a_panic_is_answered_500_and_the_retry_runs_again() {
    for first in PANICS {
        let world = World::new(first);
        assert_outcome_unknown(&world.pay().await);
        assert_paid(&world.pay().await, 2, false);
        assert_paid(&world.pay().await, 2, true);
        assert_eq!(world.attempts(), [1, 2], "{first:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_answered_500_and_not_recorded() {
    let world = World::new(First::BreaksOff);
    assert_outcome_unknown(&world.pay().await);
    assert_eq!(world.store.on_complete.calls(), 0);
    assert_paid(&world.pay().await, 2, false);
    assert_paid(&world.pay().await, 2, true);
    assert_eq!(world.attempts(), [1, 2]);
}

#[tokio::test]
async fn the_services_own_error_passes_and_the_retry_runs_again() {
    let world = World::new(First::Fails);
    assert_eq!(world.try_pay().await, Err(Broken));
    assert_paid(&world.pay().await, 2, false);
    assert_paid(&world.pay().await, 2, true);
    assert_eq!(world.attempts(), [1, 2]);
}

#[tokio::test]
async fn under_hold_whatever_broke_off_is_in_flight_and_then_unresolved_for_good() {
    for first in [First::Fails, First::BreaksOff].iter().chain(&PANICS) {
        let hold = |builder: idem_core::Builder| builder.on_lapse(OnLapse::Hold);
        let world = World::with(*first, hold, |layer| layer);
        match world.try_pay().await {
            Err(Broken) => assert!(matches!(first, First::Fails)),
            Ok(answer) => assert_outcome_unknown(&answer),
        }
        assert_in_flight(&world.pay().await);
        world.clock.advance(LEASE - Duration::from_millis(1));
        assert_in_flight(&world.pay().await);
        world.clock.advance(Duration::from_millis(1));
        assert_problem(&world.pay().await, 409, "unresolved", None);
        world.clock.advance(3 * DAY);
        assert_problem(&world.pay().await, 409, "unresolved", None);
        assert_eq!(world.attempts(), [1], "{first:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_it_was_found_too_large_is_seen_to_break_off() {
    for protocol in PROTOCOLS {
        let (layer, store, _) = layer();
        let seen = Gate::closed();
        let (breaks, runs) = (seen.clone(), Gate::opened());
        let run = runs.clone();
        let server = Server::start(layer.answer_limit(10), move |_| {
            run.arrive();
            let breaks = breaks.clone();
            let frames = stream::unfold(0, move |at| {
                let breaks = breaks.clone();
                async move {
                    let frame = match at {
                        0 => Ok(Frame::data(Bytes::from_static(b"no more "))),
                        1 => Ok(Frame::data(Bytes::from_static(b"than the half"))),
                        _ => {
                            breaks.pass().await;
                            Err("by the test".into())
                        }
                    };
                    Some((frame, at + 1))
                }
            });
            async move { Response::new(StreamBody::new(frames).boxed_unsync()) }
        })
        .await;
        let (status, beginning, whole) = until_it_breaks(&server, protocol, &seen).await;
        assert_eq!(status, 200);
        assert_eq!(beginning, "no more than the half");
        assert!(!whole, "{protocol:?}: it passed for the whole");
        for protocol in PROTOCOLS {
            let retry = send(server.address, protocol, payment()).await.unwrap();
            assert_problem(&retry, 410, "answer-not-retained", None);
        }
        assert_eq!((runs.arrivals(), store.len()), (1, 1));
    }
}

fn payment() -> Request<Full<Bytes>> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", "k")
        .body(Full::new(Bytes::from_static(b"150")))
        .unwrap()
}

/// What comes of an answer, and whether its end came. The gate is opened once the beginning is here.
async fn until_it_breaks(server: &Server, protocol: Protocol, seen: &Gate) -> (u16, String, bool) {
    let io = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
    let (answered, _connection) = match protocol {
        Protocol::Http1 => {
            let (mut sender, connection) = http1::handshake(io).await.unwrap();
            let connection = AbortOnDropHandle::new(tokio::spawn(connection));
            (soon(sender.send_request(payment())).await, connection)
        }
        Protocol::Http2 => {
            let mut request = payment();
            *request.uri_mut() = "http://service.example/payments".parse().unwrap();
            let executor = TokioExecutor::new();
            let (mut sender, connection) = http2::handshake(executor, io).await.unwrap();
            let connection = AbortOnDropHandle::new(tokio::spawn(connection));
            (soon(sender.send_request(request)).await, connection)
        }
    };
    let (parts, mut body) = answered.unwrap().into_parts();
    let mut came = Vec::new();
    loop {
        match soon(body.frame()).await {
            Some(Ok(frame)) => came.extend(frame.into_data().unwrap()),
            end => {
                let came = String::from_utf8(came).unwrap();
                return (parts.status.as_u16(), came, end.is_none());
            }
        }
        if came.ends_with(b"half") {
            seen.open();
        }
    }
}
