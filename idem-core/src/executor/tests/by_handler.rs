//! Handlers that do by themselves what the executor does otherwise: complete their record, leave out
//! its body, stop the heartbeat, end a reservation by hand.

use tokio::time::sleep; // why: under paused time only

use super::faults::Call;
use super::support::{LEASE, SECOND, World, body, is_ran, is_replayed, operation};
use crate::{
    Answer, Completion, Condition, Entry, Error, Executed, IdempotencyStore, OnLapse, Recorded,
    Reservation, Response, Verdict,
};

fn calls(world: &World, call: Call) -> usize {
    let calls = world.store.calls();
    calls.iter().filter(|&&made| made == call).count()
}

/// Completes the record as a transaction of the handler's own would.
async fn complete_by_hand(world: &World, reservation: &Reservation) -> Response {
    let answer = Response::new(201).body("paid in one transaction");
    let completed = world
        .store
        .inner()
        .complete(reservation.holder(), &answer.clone().into())
        .await
        .unwrap();
    assert!(matches!(completed, Completion::Completed { .. }));
    answer
}

#[tokio::test(start_paused = true)]
async fn what_the_handler_recorded_is_answered_and_the_store_is_told_nothing_more() {
    for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
        let world = World::with(|builder| builder.on_lapse(on_lapse));
        let handler = async |reservation: Reservation| {
            reservation.stop_heartbeat().await;
            let answer = complete_by_hand(&world, &reservation).await;
            // For longer than a heartbeat would have waited.
            sleep(LEASE).await;
            Ok::<_, Error>(Verdict::AlreadyRecorded(answer))
        };
        let first = world.idempotency.execute(&operation("k"), handler).await;
        let first = first.unwrap();
        assert!(matches!(
            first,
            Executed::Ran {
                recorded: Recorded::ByHandler,
                ..
            }
        ));
        assert_eq!(calls(&world, Call::Complete), 0);
        assert_eq!(calls(&world, Call::Abandon), 0);
        assert_eq!(calls(&world, Call::Release), 0);
        let repeat = world.pay("k", "second").await;
        assert!(is_replayed(&repeat));
        assert_eq!(repeat.response(), first.response());
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_came_after_the_handlers_completion_does_not_take_its_answer_away() {
    let world = World::new();
    let handler = async |reservation: Reservation| {
        let answer = complete_by_hand(&world, &reservation).await;
        sleep(LEASE).await;
        assert!(reservation.is_superseded(), "the heartbeat was told so");
        Ok::<_, Error>(Verdict::AlreadyRecorded(answer))
    };
    let first = world.idempotency.execute(&operation("k"), handler).await;
    assert!(is_ran(&first.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_was_stopped_renews_no_more() {
    let world = World::new();
    let handler = async |reservation: Reservation| {
        sleep(LEASE / 2).await;
        let renewals = calls(&world, Call::Renew);
        assert!(renewals > 0);
        reservation.stop_heartbeat().await;
        reservation.clone().stop_heartbeat().await;
        sleep(10 * LEASE).await;
        assert_eq!(calls(&world, Call::Renew), renewals);
        Ok::<_, Error>(Response::new(201))
    };
    assert!(is_ran(
        &world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap()
    ));

    let world = World::with(|builder| builder.no_heartbeat());
    let handler = async |reservation: Reservation| {
        reservation.stop_heartbeat().await;
        Ok::<_, Error>(Response::new(201))
    };
    assert!(is_ran(
        &world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap()
    ));
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_body_is_not_kept_completes_and_is_not_run_again() {
    let world = World::new();
    let handler = async |_: Reservation| {
        Ok::<_, Error>(Verdict::CompleteWithoutBody {
            response: Response::new(200).body("the beginning"),
            body_length: 10_000_000,
        })
    };
    let first = world.idempotency.execute(&operation("k"), handler).await;
    let first = first.unwrap();
    assert_eq!(body(&first), "the beginning");
    assert!(matches!(
        first,
        Executed::Ran {
            recorded: Recorded::CompletedWithoutBody { .. },
            ..
        }
    ));
    let Executed::Replayed(replay) = world.pay("k", "second").await else {
        panic!("run again")
    };
    assert_eq!(
        replay.answer,
        Answer::NotRetained {
            status: 200,
            body_length: 10_000_000
        }
    );
    assert_eq!(world.effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_by_hand_that_failed_ends_as_a_handler_that_failed() {
    for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
        let world = World::with(|builder| builder.on_lapse(on_lapse));
        let Ok(Entry::Won(held)) = world.idempotency.reserve(&operation("k")).await else {
            panic!("not won")
        };
        assert_eq!(held.fail().await, None);
        assert_eq!(world.idempotency.counters().handler_errors, 1);
        sleep(2 * LEASE + SECOND).await;
        let condition = world.record("k").await.unwrap().condition;
        match on_lapse {
            OnLapse::RunAgain => assert!(matches!(condition, Condition::Abandoned { .. })),
            OnLapse::Hold => assert!(matches!(condition, Condition::Unresolved { .. })),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reservation_by_hand_that_failed_too_late_is_told_what_stands() {
    let world = World::with(|builder| builder.no_heartbeat());
    let Ok(Entry::Won(held)) = world.idempotency.reserve(&operation("k")).await else {
        panic!("not won")
    };
    sleep(2 * LEASE).await;
    assert!(is_ran(&world.pay("k", "second").await));
    let standing = held.fail().await.unwrap();
    assert!(is_replayed(&standing));
    assert_eq!(body(&standing), "second");
}
