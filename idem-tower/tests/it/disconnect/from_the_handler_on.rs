//! It goes while its handler runs, or after: the effect happens once, and the retry gets its answer.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::watch;

use super::{
    PAID, World, assert_in_flight, assert_is_paid, assert_not_retained, assert_replays_paid,
    attempt, paid, payment,
};
use crate::support::client::{PROTOCOLS, send};
use crate::support::gate::{Gate, soon};
use crate::support::leaving::{Left, Upload, WAYS};
use crate::support::server::{Body, full};

/// The retry is refused for as long as the first goes on; then everybody gets the first's answer.
async fn goes_on_alone(world: &World, mut left: Left, gate: &Gate) {
    assert_in_flight(&left.send(&payment("k")).await);
    gate.open();
    world.comes_to_rest().await;
    assert_replays_paid(&left.send(&payment("k")).await);
    for protocol in PROTOCOLS {
        let request = payment("k").map(http_body_util::Full::new);
        let again = send(world.server.address, protocol, request).await.unwrap();
        assert_replays_paid(&again);
    }
    assert_eq!(world.effects.arrivals(), 1);
    assert_eq!(world.store.on_complete.calls(), 1);
}

#[tokio::test]
async fn while_its_handler_runs_after_the_effect_the_handler_runs_to_its_end() {
    for way in WAYS {
        let world = World::start().await;
        world.effects.close();
        let client = world.client(way, Upload::Whole).await;
        world.effects.reached(1).await;
        let left = world.goes(client).await;
        goes_on_alone(&world, left, &world.effects).await;
    }
}

#[tokio::test]
async fn while_the_body_of_its_answer_is_read_all_of_it_is_recorded() {
    for way in WAYS {
        let rest = Gate::closed();
        let rests = rest.clone();
        let world = World::with(
            |builder| builder,
            move |request| {
                let (head, _) = paid(attempt(&request)).into_parts();
                let chunks = chunks([&PAID[..5], &PAID[5..]], rests.clone());
                async move { Response::from_parts(head, chunks) }
            },
        )
        .await;
        let client = world.client(way, Upload::Whole).await;
        rest.reached(1).await;
        let left = world.goes(client).await;
        goes_on_alone(&world, left, &rest).await;
    }
}

#[tokio::test]
async fn while_the_store_records_its_answer_it_is_recorded_all_the_same() {
    for way in WAYS {
        let world = World::start().await;
        let complete = &world.store.on_complete.before;
        complete.close();
        let client = world.client(way, Upload::Whole).await;
        complete.reached(1).await;
        let left = world.goes(client).await;
        goes_on_alone(&world, left, complete).await;
    }
}

#[tokio::test]
async fn while_the_store_has_recorded_it_and_has_not_said_so_the_retry_gets_it() {
    for way in WAYS {
        let world = World::start().await;
        let recorded = &world.store.on_complete.after;
        recorded.close();
        let client = world.client(way, Upload::Whole).await;
        recorded.reached(1).await;
        let mut left = world.goes(client).await;
        assert_replays_paid(&left.send(&payment("k")).await);
        recorded.open();
        world.comes_to_rest().await;
        assert_replays_paid(&left.send(&payment("k")).await);
        assert_eq!(world.effects.arrivals(), 1);
    }
}

/// More than what a socket and its peer take in without anybody reading it.
const LARGE: usize = 24 << 20;

fn large() -> Bytes {
    (0..LARGE).map(|at| (at / 1000) as u8).collect()
}

#[tokio::test]
async fn while_a_large_answer_is_sent_to_it_the_retry_gets_the_whole() {
    let whole = large();
    for way in WAYS {
        let answer = whole.clone();
        let world = World::with(
            |builder| builder.response_limit(2 * LARGE),
            move |_| {
                let answer = answer.clone();
                async move { Response::new(full(answer)) }
            },
        )
        .await;
        let mut client = world.client(way, Upload::Whole).await;
        client.sees_the_beginning().await;
        let mut left = client.leave();
        let retry = left.send(&payment("k")).await;
        assert_eq!(retry.status, StatusCode::OK);
        assert!(retry.is_replayed() && retry.body == whole, "{way:?}");
        assert_eq!(world.effects.arrivals(), 1);
    }
}

#[tokio::test]
async fn while_an_answer_too_large_to_keep_is_streamed_to_it_the_retry_is_told_so() {
    for way in WAYS {
        let rest = Gate::closed();
        let (rests, dropped) = (rest.clone(), watch::Sender::new(()));
        let streaming = dropped.subscribe();
        let dropped = std::sync::Mutex::new(Some(dropped));
        let world = World::with(
            |builder| builder.response_limit(1000),
            move |request| {
                let lives = dropped.lock().unwrap().take();
                let mut answer = paid(attempt(&request));
                let body = chunks([&[b'x'; 2000], b"never"], rests.clone());
                *answer.body_mut() = body
                    .map_frame(move |frame| {
                        let _ = &lives;
                        frame
                    })
                    .boxed_unsync();
                async move { answer }
            },
        )
        .await;
        let mut client = world.client(way, Upload::Whole).await;
        client.sees_the_beginning().await;
        rest.reached(1).await;
        // It is recorded by now, and says so, before the stream ends as after.
        let mut left = client.leave();
        assert_not_retained(&left.send(&payment("k")).await, 201);
        let mut streaming = streaming;
        assert!(
            soon(streaming.changed()).await.is_err(),
            "the stream is dropped"
        );
        assert_not_retained(&left.send(&payment("k")).await, 201);
        world.comes_to_rest().await;
        assert_eq!(world.effects.arrivals(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn while_its_handler_runs_another_operation_of_the_same_client_is_not_held_up() {
    for way in WAYS {
        let world = World::start().await;
        world.effects.close();
        let client = world.client(way, Upload::Whole).await;
        world.effects.reached(1).await;
        let mut left = world.goes(client).await;
        // On the same connection, where that lives on.
        let other = payment("another");
        let opens = async {
            world.effects.reached(2).await;
            world.effects.open();
        };
        let (other, ()) = tokio::join!(left.send(&other), opens);
        assert_is_paid(&other, 1);
        assert!(!other.is_replayed());
        world.comes_to_rest().await;
        assert_replays_paid(&left.send(&payment("k")).await);
        assert_eq!(world.effects.arrivals(), 2);
    }
}

/// A body in two pieces, the second of which passes the gate first.
fn chunks(pieces: [&'static [u8]; 2], gate: Gate) -> Body {
    let pieces = stream::unfold(0, move |at| {
        let gate = gate.clone();
        async move {
            let piece = *pieces.get(at)?;
            if at > 0 {
                gate.pass().await;
            }
            let frame = Frame::data(Bytes::from_static(piece));
            Some((Ok::<_, Infallible>(frame), at + 1))
        }
    });
    StreamBody::new(pieces)
        .map_err(|never| match never {})
        .boxed_unsync()
}
