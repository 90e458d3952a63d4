//! How a run can end, and what the next request finds.

use super::faults::{Call, Fault};
use super::support::{LEASE, World, asking, body, is_ran, is_replayed, operation};
use crate::{
    Answer, Condition, Error, ExecuteError, Executed, OnLapse, Recorded, Replay, Reservation,
    Response, Verdict,
};

#[tokio::test(start_paused = true)]
async fn a_repeat_replays_the_first_answer_byte_for_byte() {
    let world = World::new();
    let first = world.pay("k", "paid").await;
    assert!(matches!(
        first,
        Executed::Ran { recorded: Recorded::Completed { remembered_for }, .. }
            if remembered_for.as_secs() == 24 * 3600
    ));
    let repeat = world.pay("k", "another answer").await;
    assert!(is_replayed(&repeat));
    assert_eq!(repeat.response(), first.response());
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_for_something_else_is_a_mismatch_in_flight_and_afterwards() {
    let world = World::new();
    let mut seen_in_flight = None;
    let payment = operation("k");
    let outer = world.idempotency.execute(&payment, async |_: Reservation| {
        let other = async |_: Reservation| Ok::<_, Error>(Response::new(201));
        seen_in_flight = world
            .idempotency
            .execute(&asking("k", "1.00"), other)
            .await
            .ok();
        Ok::<_, Error>(Response::new(201).body("paid"))
    });
    assert!(is_ran(&outer.await.unwrap()));
    assert_eq!(seen_in_flight, Some(Executed::Mismatch));

    let other = async |_: Reservation| Ok::<_, Error>(Response::new(201));
    let seen_afterwards = world
        .idempotency
        .execute(&asking("k", "1.00"), other)
        .await
        .unwrap();
    assert_eq!(seen_afterwards, Executed::Mismatch);
    assert_eq!(body(&world.pay("k", "again").await), "paid");
}

async fn say(world: &World, verdict: Verdict) -> Executed {
    let handler = async move |_: Reservation| Ok::<_, Error>(verdict);
    world
        .idempotency
        .execute(&operation("k"), handler)
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_run_answers_its_caller_and_the_next_request_runs_again() {
    for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
        let world = World::with(|builder| builder.on_lapse(on_lapse));
        let busy = say(&world, Verdict::Abandon(Response::new(503).body("busy"))).await;
        assert_eq!(body(&busy), "busy");
        assert!(matches!(
            busy,
            Executed::Ran {
                recorded: Recorded::Abandoned,
                ..
            }
        ));

        let other = async |_: Reservation| Ok::<_, Error>(Response::new(201));
        let other = world
            .idempotency
            .execute(&asking("k", "1.00"), other)
            .await
            .unwrap();
        assert_eq!(other, Executed::Mismatch, "the fingerprint is kept");

        assert!(is_ran(&world.pay("k", "paid").await));
        assert_eq!(world.record("k").await.unwrap().holder.attempt, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_run_answers_its_caller_and_leaves_nothing() {
    let world = World::new();
    let refused = say(
        &world,
        Verdict::Release(Response::new(429).body("slow down")),
    )
    .await;
    assert_eq!(body(&refused), "slow down");
    assert!(matches!(
        refused,
        Executed::Ran {
            recorded: Recorded::Released,
            ..
        }
    ));
    assert_eq!(world.record("k").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_release_after_the_first_attempt_keeps_what_the_earlier_ones_left() {
    let world = World::new();
    assert!(failing(&world).await.is_err());
    let refused = say(
        &world,
        Verdict::Release(Response::new(429).body("slow down")),
    )
    .await;
    assert_eq!(body(&refused), "slow down");
    assert!(matches!(
        refused,
        Executed::Ran {
            recorded: Recorded::Abandoned,
            ..
        }
    ));
    assert_eq!(world.record("k").await.unwrap().holder.attempt, 2);
    assert!(is_ran(&world.pay("k", "paid").await));
}

async fn failing(world: &World) -> Result<Executed, ExecuteError<&'static str>> {
    let handler = async |_: Reservation| {
        world.effects.happen();
        Err::<Response, _>("the connection to the provider broke")
    };
    world.idempotency.execute(&operation("k"), handler).await
}

async fn panicking(world: &World) -> Result<Executed, ExecuteError<Error>> {
    let handler = async |_: Reservation| -> Result<Response, Error> {
        world.effects.happen();
        panic!("planted")
    };
    world.idempotency.execute(&operation("k"), handler).await
}

#[tokio::test(start_paused = true)]
async fn an_error_is_given_back_and_under_run_again_the_next_request_runs_at_once() {
    let world = World::new();
    let error = failing(&world).await.unwrap_err();
    assert!(matches!(
        error,
        ExecuteError::Handler("the connection to the provider broke")
    ));
    assert!(is_ran(&world.pay("k", "paid").await));
    assert_eq!(world.effects.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_error_under_hold_stays_unresolved_and_never_runs_a_second_time() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    assert!(failing(&world).await.is_err());
    tokio::time::sleep(LEASE).await;
    for _ in 0..3 {
        let repeat = world.pay("k", "paid").await;
        assert_eq!(repeat, Executed::Conflict { retry_after: None });
    }
    assert_eq!(world.effects.count(), 1);
    let condition = world.record("k").await.unwrap().condition;
    assert!(matches!(condition, Condition::Unresolved { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_panic_goes_on_to_the_caller_after_the_operation_was_abandoned() {
    let world = std::sync::Arc::new(World::new());
    let panicked = tokio::spawn({
        let world = std::sync::Arc::clone(&world);
        async move { panicking(&world).await.is_ok() }
    });
    assert!(panicked.await.unwrap_err().is_panic());
    let condition = world.record("k").await.unwrap().condition;
    assert!(matches!(condition, Condition::Abandoned { .. }));
    assert!(is_ran(&world.pay("k", "paid").await));
}

#[tokio::test(start_paused = true)]
async fn a_panic_under_hold_is_unresolved_once_the_lease_lapses() {
    let world = std::sync::Arc::new(World::with(|builder| builder.on_lapse(OnLapse::Hold)));
    let panicked = tokio::spawn({
        let world = std::sync::Arc::clone(&world);
        async move { panicking(&world).await.is_ok() }
    });
    assert!(panicked.await.unwrap_err().is_panic());
    tokio::time::sleep(LEASE).await;
    assert_eq!(
        world.pay("k", "paid").await,
        Executed::Conflict { retry_after: None }
    );
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_response_over_the_limit_reaches_its_caller_and_is_never_run_again() {
    let whole = Response::new(200).body(vec![7; 1000]).encoded_len();
    for (limit, kept) in [(whole, true), (whole - 1, false)] {
        let world = World::with(|builder| builder.response_limit(limit));
        let large = say(&world, Response::new(200).body(vec![7; 1000]).into()).await;
        assert_eq!(large.response().unwrap().body_bytes().len(), 1000);
        let Executed::Replayed(Replay { answer, .. }) = world.pay("k", "again").await else {
            panic!("not replayed")
        };
        if kept {
            assert_eq!(answer.full().unwrap().body_bytes().len(), 1000);
        } else {
            assert_eq!(
                answer,
                Answer::NotRetained {
                    status: 200,
                    body_length: 1000
                }
            );
        }
        assert_eq!(world.effects.count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_over_the_store_s_own_limit_is_recorded_without_its_body() {
    let world = World::new();
    world.store.next(Call::Complete, Fault::TooLarge);
    assert!(is_ran(&world.pay("k", "paid").await));
    let Executed::Replayed(replay) = world.pay("k", "again").await else {
        panic!("not replayed")
    };
    assert_eq!(
        replay.answer,
        Answer::NotRetained {
            status: 201,
            body_length: 4
        }
    );
}

#[tokio::test(start_paused = true)]
async fn by_hand_it_is_the_same() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    let crate::Entry::Won(held) = world.idempotency.reserve(&operation("k")).await.unwrap() else {
        panic!("not reserved")
    };
    assert!(
        world.record("k").await.unwrap().started,
        "under Hold it counts as started"
    );
    let conflict = world.idempotency.reserve(&operation("k")).await.unwrap();
    assert!(matches!(
        conflict,
        crate::Entry::Conflict {
            retry_after: Some(_)
        }
    ));
    let finished = held.finish(Response::new(201).body("paid")).await;
    assert!(is_ran(&finished));
    let replay = world.idempotency.reserve(&operation("k")).await.unwrap();
    assert!(matches!(replay, crate::Entry::Replayed(_)));
    let mismatch = world
        .idempotency
        .reserve(&asking("k", "1.00"))
        .await
        .unwrap();
    assert!(matches!(mismatch, crate::Entry::Mismatch));
}
