//! What handlers find in their requests, and what they may leave in their answers.

use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use idem_core::{
    Answer, Completion, Condition, Error, Executed, Idempotency, IdempotencyStore as _, Key,
    MemoryStore, Panic, Recorded, Reservation, Response as Stored, RunInError, Scope,
};
use idem_tower::{IdempotencyLayer, Idempotent, RecordedAnswer};
use tower::{Layer as _, ServiceExt as _};

use super::{gated_layer, handler, payment};
use crate::support::client::Answer as Seen;
use crate::support::gated_store::GatedStore;
use crate::support::in_memory::collected;
use crate::support::server::full;

async fn send(service: &idem_tower::IdempotencyService<super::Handler>, key: &str) -> Seen {
    let answer = service.clone().oneshot(payment(key)).await;
    collected(answer.unwrap()).await
}

/// Which of the two things a handler finds.
fn finds(request: &super::Asked) -> (bool, bool) {
    let extensions = request.extensions();
    (
        extensions.get::<Reservation>().is_some(),
        extensions.get::<Idempotent>().is_some(),
    )
}

#[tokio::test]
async fn a_handler_finds_its_reservation_or_what_it_needs_to_reserve_by_hand() {
    let (_, layer) = gated_layer();
    let found =
        handler(|request| async move { Response::new(full(format!("{:?}", finds(&request)))) });
    let guarded = layer.clone().layer(found.clone());
    let by_hand = layer.clone().by_hand().layer(found.clone());
    let unguarded = layer.methods([]).layer(found);
    assert_eq!(send(&guarded, "k").await.body, "(true, false)");
    assert_eq!(send(&by_hand, "k").await.body, "(false, true)");
    assert_eq!(send(&unguarded, "k").await.body, "(false, false)");
}

/// The ends of a run in one transaction, and what each is answered with.
#[tokio::test]
async fn a_run_in_one_transaction_is_answered_by_its_end() {
    type Ran = Result<Executed, RunInError<&'static str>>;
    type End = (&'static str, fn() -> Ran, u16, &'static str);
    let paid = |request: &super::Asked| request.extensions().get::<Idempotent>().unwrap().clone();
    let ends: [End; 6] = [
        ("ran", || Ok(ran("paid")), 201, "paid"),
        ("mismatch", || Ok(Executed::Mismatch), 422, "key-reused"),
        (
            "nothing was committed",
            || Err(Error::unavailable("away", "x").into()),
            503,
            "store-unavailable",
        ),
        (
            "the commit's answer was lost",
            || Err(Error::unknown_outcome("lost", "x").into()),
            500,
            "outcome-unknown",
        ),
        (
            "the handler panicked",
            || Err(RunInError::Panicked(Panic::new(Box::new("x")))),
            500,
            "outcome-unknown",
        ),
        (
            "the handler failed",
            || Err(RunInError::Handler("out")),
            418,
            "out",
        ),
    ];
    for (end, ran, status, said) in ends {
        let (_, layer) = gated_layer();
        let service = layer.by_hand().layer(handler(move |request| async move {
            match paid(&request).answer_run(ran()) {
                Ok(answer) => {
                    answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())
                }
                Err(own) => {
                    let mut answer = Response::new(full(own));
                    *answer.status_mut() = StatusCode::IM_A_TEAPOT;
                    answer
                }
            }
        }));
        let answer = send(&service, "k").await;
        assert_eq!(answer.status, status, "{end}");
        let body = String::from_utf8_lossy(&answer.body);
        assert!(body.contains(said), "{end}: {body}");
    }
}

fn ran(body: &'static str) -> Executed {
    Executed::Ran {
        response: Stored::new(201).body(body),
        recorded: Recorded::Completed {
            remembered_for: Duration::from_secs(1),
        },
    }
}

#[tokio::test]
async fn the_reservation_is_that_of_the_request() {
    let (store, layer) = gated_layer();
    let service = layer.layer(handler(|request| async move {
        let reservation = request.extensions().get::<Reservation>().unwrap().clone();
        let operation = reservation.operation();
        assert_eq!(operation.record.key, Key::new("k").unwrap());
        assert_eq!(operation.record.scope, Scope::new("ana").unwrap());
        // The body is there, too, whole.
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "150");
        if reservation.attempt() == 1 {
            reservation.save_progress("charged").await.unwrap();
            let mut answer = Response::new(full("again"));
            *answer.status_mut() = StatusCode::BAD_GATEWAY;
            return answer;
        }
        let progress = reservation.progress().unwrap().as_bytes().to_vec();
        Response::new(full(progress))
    }));
    assert_eq!(send(&service, "k").await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(send(&service, "k").await.body, "charged");
    assert!(send(&service, "k").await.is_replayed());
    assert_eq!(store.on_complete.calls(), 1);
}

fn receipt() -> Stored {
    Stored::new(201)
        .header("x-b", "2")
        .header("x-a", "1")
        .header("x-b", &b"\xff"[..])
        .body("receipt")
}

fn assert_is_receipt(answer: &Seen, replayed: bool) {
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let headers = answer.headers_as_given();
    let lines: Vec<_> = headers
        .get_all("x-b")
        .iter()
        .map(|line| line.as_bytes())
        .collect();
    assert_eq!(lines, [&b"2"[..], b"\xff"]);
    assert_eq!((headers["x-a"].as_bytes(), headers.len()), (&b"1"[..], 3));
    assert_eq!(answer.body, "receipt");
    assert_eq!(answer.is_replayed(), replayed);
}

#[tokio::test]
async fn an_answer_that_its_handler_has_recorded_is_sent_and_not_recorded_again() {
    let (store, layer) = gated_layer();
    let records_to = store.inner.clone();
    let service = layer.layer(handler(move |request| {
        let store = records_to.clone();
        async move {
            let reservation = request.extensions().get::<Reservation>().unwrap();
            reservation.stop_heartbeat().await;
            // In a real store: inside of a transaction, with the effect.
            let answer = Answer::Full(receipt());
            let completion = store.complete(reservation.holder(), &answer).await;
            assert!(matches!(completion.unwrap(), Completion::Completed { .. }));
            let answer = RecordedAnswer(receipt()).into_http();
            answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())
        }
    }));
    assert_is_receipt(&send(&service, "k").await, false);
    assert_is_receipt(&send(&service, "k").await, true);
    assert_eq!(store.on_complete.calls(), 0);
    assert_eq!(store.on_abandon.calls(), 0);
    let record = store.record("k").await.unwrap();
    assert!(
        matches!(record.condition, Condition::Completed(Answer::Full(kept)) if kept == receipt())
    );
}

#[tokio::test]
async fn a_handler_that_works_by_hand_answers_all_that_can_come() {
    let store = GatedStore::new(MemoryStore::new());
    let idempotency = Idempotency::new(store.clone());
    let layer = IdempotencyLayer::new(idempotency.clone(), crate::support::by_client).by_hand();
    let service = layer.layer(handler(move |request| {
        let idempotency = idempotency.clone();
        async move {
            let idempotent = request.extensions().get::<Idempotent>().unwrap();
            let operation = idempotent.operation();
            let effect = async |_: Reservation| Ok::<_, Error>(receipt());
            let answer = match idempotency.execute(operation, effect).await {
                Ok(executed) => idempotent.answer(executed),
                Err(idem_core::ExecuteError::Store(error)) => idempotent.store_failed(&error),
                Err(error) => panic!("{error}"),
            };
            answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())
        }
    }));
    assert_is_receipt(&send(&service, "k").await, false);
    assert_is_receipt(&send(&service, "k").await, true);
    let other = service.clone().oneshot(super::post("k", full("151")));
    let other = collected(other.await.unwrap()).await;
    assert_eq!(other.problem().as_deref(), Some("key-reused"));
    store.on_reserve.fail(|| Error::corrupt("a bad byte"));
    let unreadable = send(&service, "k").await;
    assert_eq!(unreadable.problem().as_deref(), Some("record-unreadable"));
    assert_eq!(store.on_complete.calls(), 1);
}
