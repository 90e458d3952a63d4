//! The caller goes away at every await point in turn; then a retry must behave by the laws.

use tokio::time::sleep;

use super::faults::{Call, Fault};
use super::support::{LEASE, SECOND, World, body, dropped_after, is_ran, is_replayed, operation};
use crate::{Condition, Entry, Error, Executed, OnLapse, Recorded, Reservation, Response, Verdict};

/// More polls than any request here takes.
const ENOUGH: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    Complete,
    Abandon,
    Release,
    Error,
}

/// A request whose handler has two await points and its effect between them.
async fn request(world: &World, says: Says) {
    let handler = async |_: Reservation| {
        sleep(SECOND).await;
        world.effects.happen();
        sleep(SECOND).await;
        let response = Response::new(201).body("first");
        match says {
            Says::Complete => Ok(Verdict::Complete(response)),
            Says::Abandon => Ok(Verdict::Abandon(response)),
            Says::Release => Ok(Verdict::Release(response)),
            Says::Error => Err("the provider broke"),
        }
    };
    let _ = world.idempotency.execute(&operation("k"), handler).await;
}

/// Drops the request after each number of polls until one comes through; `check` sees the world after
/// all that goes on in the background has ended.
async fn at_every_await_point(
    settings: impl Fn(crate::Builder) -> crate::Builder,
    says: Says,
    faults: &[(Call, Fault)],
    check: impl AsyncFn(&World, usize),
) {
    for polls in 1..ENOUGH {
        let world = World::with(&settings);
        faults
            .iter()
            .for_each(|(call, fault)| world.store.next(*call, *fault));
        let came_through = dropped_after(polls, request(&world, says)).await.is_some();
        assert_eq!(
            world.idempotency.drain(30 * SECOND).await,
            0,
            "{says:?}, {polls} polls"
        );
        check(&world, polls).await;
        if came_through {
            assert!(polls > 6, "there are await points to drop at");
            return;
        }
    }
    panic!("the request takes more than {ENOUGH} polls");
}

const FAULTS: &[&[(Call, Fault)]] = &[
    &[],
    &[
        (Call::Reserve, Fault::LoseAnswer),
        (Call::Renew, Fault::LoseAnswer),
    ],
    &[
        (Call::Complete, Fault::LoseAnswer),
        (Call::Abandon, Fault::LoseAnswer),
    ],
    &[
        (Call::Complete, Fault::LoseRequest),
        (Call::Release, Fault::LoseAnswer),
    ],
];

#[tokio::test(start_paused = true)]
async fn under_run_again_the_retry_never_waits_and_never_gets_another_answer() {
    for says in [Says::Complete, Says::Abandon, Says::Release, Says::Error] {
        for faults in FAULTS {
            at_every_await_point(
                |builder| builder,
                says,
                faults,
                async |world, polls| {
                    // At once, without waiting for a lease: it runs or it is replayed.
                    let retry = world.pay("k", "retry").await;
                    let effects = world.effects.count();
                    if is_replayed(&retry) {
                        assert_eq!(body(&retry), "first", "{says:?}, {polls} polls");
                        assert_eq!((says, effects), (Says::Complete, 1));
                    } else {
                        assert!(is_ran(&retry), "{says:?}, {polls} polls: {retry:?}");
                    }
                    assert_eq!(body(&world.pay("k", "third").await), body(&retry));
                    assert_eq!(world.effects.count(), effects);
                },
            )
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn under_hold_the_effect_never_happens_twice() {
    for says in [Says::Complete, Says::Error] {
        for faults in FAULTS {
            let hold = |builder: crate::Builder| builder.on_lapse(OnLapse::Hold);
            at_every_await_point(hold, says, faults, async |world, polls| {
                let before = world.effects.count();
                sleep(LEASE).await;
                let retry = world.pay("k", "retry").await;
                assert!(
                    world.effects.count() <= 1,
                    "{says:?}, {polls} polls: ran twice"
                );
                match &retry {
                    Executed::Ran { .. } => assert_eq!(before, 0, "{polls} polls"),
                    Executed::Replayed(_) => assert_eq!(body(&retry), "first"),
                    Executed::Conflict { retry_after } => {
                        assert_eq!(*retry_after, None, "unresolved, not stuck");
                        let condition = world.record("k").await.unwrap().condition;
                        assert!(matches!(condition, Condition::Unresolved { .. }));
                    }
                    Executed::Mismatch => panic!("{polls} polls: mismatch"),
                }
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn once_the_handler_has_ended_its_answer_is_recorded_whoever_goes_away() {
    for faults in FAULTS {
        for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
            let settings = |builder: crate::Builder| builder.on_lapse(on_lapse);
            at_every_await_point(settings, Says::Complete, faults, async |world, polls| {
                // The completion was asked for: so the handler had ended.
                if world.store.calls().contains(&Call::Complete) {
                    let retry = world.pay("k", "retry").await;
                    assert!(is_replayed(&retry), "{polls} polls: {retry:?}");
                    assert_eq!(body(&retry), "first");
                }
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_caller_in_a_slow_store_finishes_within_bounds() {
    // The first completion hangs; its caller leaves while it does.
    let world = World::new();
    world
        .store
        .next(Call::Complete, Fault::DelayRequest(1000 * SECOND));
    let left = tokio::time::timeout(3 * SECOND, request(&world, Says::Complete)).await;
    assert!(left.is_err());
    assert_eq!(world.idempotency.drain(30 * SECOND).await, 0);
    assert_eq!(body(&world.pay("k", "retry").await), "first");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_superseded_caller_leaves_no_reservation_behind() {
    for polls in 1..ENOUGH {
        let world = World::with(|builder| builder.no_heartbeat());
        let slow = async {
            let handler = async |_: Reservation| {
                sleep(2 * LEASE).await;
                Ok::<_, Error>(Response::new(201).body("first"))
            };
            world.idempotency.execute(&operation("k"), handler).await
        };
        let (first, ()) = tokio::join!(dropped_after(polls, slow), async {
            sleep(LEASE).await;
            let failing = async |_: Reservation| Err::<Response, _>("no");
            let _ = world.idempotency.execute(&operation("k"), failing).await;
        });
        sleep(2 * LEASE).await;
        assert_eq!(world.idempotency.drain(30 * SECOND).await, 0);
        let retry = world.pay("k", "retry").await;
        assert!(
            is_ran(&retry) || is_replayed(&retry),
            "{polls} polls: {retry:?}"
        );
        if first.is_some() {
            assert!(polls > 6, "there are await points to drop at");
            return;
        }
    }
    panic!("the request takes more than {ENOUGH} polls");
}

#[tokio::test(start_paused = true)]
async fn a_reservation_by_hand_that_is_dropped_is_abandoned_or_left() {
    for (on_lapse, retried_at_once) in [(OnLapse::RunAgain, true), (OnLapse::Hold, false)] {
        let world = World::with(|builder| builder.on_lapse(on_lapse));
        let Entry::Won(held) = world.idempotency.reserve(&operation("k")).await.unwrap() else {
            panic!("not reserved")
        };
        drop(held);
        assert_eq!(world.idempotency.drain(SECOND).await, 0);
        assert_eq!(is_ran(&world.pay("k", "retry").await), retried_at_once);
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_by_hand_is_recorded_whoever_goes_away() {
    for polls in 1..ENOUGH {
        let world = World::new();
        let Entry::Won(held) = world.idempotency.reserve(&operation("k")).await.unwrap() else {
            panic!("not reserved")
        };
        let finished = dropped_after(polls, held.finish(Response::new(201).body("first"))).await;
        assert_eq!(world.idempotency.drain(SECOND).await, 0);
        assert_eq!(
            body(&world.pay("k", "retry").await),
            "first",
            "{polls} polls"
        );
        if let Some(executed) = finished {
            assert!(matches!(
                executed,
                Executed::Ran {
                    recorded: Recorded::Completed { .. },
                    ..
                }
            ));
            return;
        }
    }
    panic!("finishing takes more than {ENOUGH} polls");
}

#[tokio::test(start_paused = true)]
async fn a_detached_handler_runs_to_its_end_whoever_goes_away() {
    for polls in 1..ENOUGH {
        let world = World::new();
        let effects = std::sync::Arc::clone(&world.effects);
        let handler = move |_: Reservation| async move {
            sleep(SECOND).await;
            effects.happen();
            sleep(SECOND).await;
            Ok::<_, Error>(Response::new(201).body("first"))
        };
        let detached = world.idempotency.execute_detached(operation("k"), handler);
        let through = dropped_after(polls, detached).await;
        assert_eq!(world.idempotency.drain(30 * SECOND).await, 0);
        assert_eq!(
            body(&world.pay("k", "retry").await),
            "first",
            "{polls} polls"
        );
        assert_eq!(world.effects.count(), 1);
        if let Some(executed) = through {
            assert!(is_ran(&executed.unwrap()));
            return;
        }
    }
    panic!("the request takes more than {ENOUGH} polls");
}

#[tokio::test(start_paused = true)]
async fn a_drain_counts_a_detached_handler_that_is_still_running() {
    let world = World::new();
    let handler = async |_: Reservation| {
        sleep(10 * SECOND).await;
        Ok::<_, Error>(Response::new(201).body("first"))
    };
    let detached = world.idempotency.execute_detached(operation("k"), handler);
    assert!(dropped_after(1, detached).await.is_none());
    assert_eq!(world.idempotency.drain(SECOND).await, 1);
    assert_eq!(world.idempotency.drain(30 * SECOND).await, 0);
    assert_eq!(body(&world.pay("k", "retry").await), "first");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_detached_handler_is_an_error_and_the_operation_is_abandoned() {
    let world = World::new();
    let handler = |_: Reservation| async { panic!("planted") };
    let executed = world
        .idempotency
        .execute_detached::<_, _, Response, Error>(operation("k"), handler)
        .await;
    let Err(crate::ExecuteError::Panicked(panic)) = executed else {
        panic!("{executed:?}")
    };
    assert_eq!(panic.into_inner().downcast_ref(), Some(&"planted"));
    assert!(is_ran(&world.pay("k", "retry").await));
}
