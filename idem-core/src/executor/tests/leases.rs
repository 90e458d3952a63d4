//! Leases that are kept, that lapse, and that were over before the handler began.

use tokio::time::{Instant, sleep};

use super::faults::{Call, Fault};
use super::support::{LEASE, SECOND, World, body, is_ran, is_replayed, operation};
use crate::{
    Condition, Error, ExecuteError, Executed, IdempotencyStore, OnLapse, Reservation, Resolution,
    Response, resolve,
};

#[tokio::test(start_paused = true)]
async fn a_heartbeat_keeps_the_lease_of_a_slow_handler() {
    let world = World::new();
    let (first, ()) = tokio::join!(world.pay_slowly(10 * LEASE, "paid"), async {
        for _ in 0..9 {
            sleep(LEASE).await;
            let Executed::Conflict {
                retry_after: Some(hint),
            } = world.pay("k", "second").await
            else {
                panic!("not in conflict")
            };
            assert!(hint <= LEASE);
        }
    });
    assert!(is_ran(&first));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_heartbeat_ends_at_its_ceiling() {
    let world = World::with(|builder| builder.heartbeat_ceiling(2 * LEASE));
    let (first, second) = tokio::join!(world.pay_slowly(10 * LEASE, "first"), async {
        sleep(4 * LEASE).await;
        world.pay("k", "second").await
    });
    assert!(is_ran(&second));
    assert_eq!(
        body(&first),
        "second",
        "the one that came too late gets the answer that stands"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_finisher_is_answered_what_stands_and_overwrites_nothing() {
    let world = World::with(|builder| builder.no_heartbeat());
    let (first, second) = tokio::join!(world.pay_slowly(2 * LEASE, "first"), async {
        sleep(LEASE).await;
        world.pay("k", "second").await
    });
    assert!(is_ran(&second));
    assert!(is_replayed(&first));
    assert_eq!(body(&first), "second");
    assert_eq!(body(&world.pay("k", "third").await), "second");
    assert_eq!(world.idempotency.counters().superseded, 1);
    assert_eq!(world.idempotency.counters().taken_over, 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_finisher_takes_nothing_from_a_slow_successor() {
    let world = World::with(|builder| builder.no_heartbeat());
    let (first, second) = tokio::join!(world.pay_slowly(3 * LEASE, "first"), async {
        sleep(LEASE).await;
        // Its own lease has lapsed, too, when the first one comes back and reserves again.
        world.pay_slowly(4 * LEASE, "second").await
    });
    assert_eq!(
        first,
        Executed::Conflict {
            retry_after: Some(SECOND)
        }
    );
    assert!(
        is_ran(&second),
        "a lapsed lease that nobody took over is still current"
    );
    assert_eq!(body(&world.pay("k", "third").await), "second");
    assert_eq!(world.effects.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_superseded_caller_gives_back_what_it_wins_on_the_way() {
    let world = World::with(|builder| builder.no_heartbeat());
    let (first, ()) = tokio::join!(world.pay_slowly(3 * LEASE, "first"), async {
        sleep(LEASE).await;
        // Takes over, and says that it is safe to run again.
        let failing = async |_: Reservation| Err::<Response, _>("no");
        assert!(
            world
                .idempotency
                .execute(&operation("k"), failing)
                .await
                .is_err()
        );
    });
    assert_eq!(
        first,
        Executed::Conflict {
            retry_after: Some(SECOND)
        }
    );
    let record = world.record("k").await.unwrap();
    assert!(matches!(record.condition, Condition::Abandoned { .. }));
    assert_eq!(record.holder.attempt, 3);
    assert!(is_ran(&world.pay("k", "third").await));
}

#[tokio::test(start_paused = true)]
async fn a_handler_learns_that_it_was_superseded_and_its_answer_is_not_sent() {
    let world = World::new();
    let payment = operation("k");
    let (first, ()) = tokio::join!(
        world
            .idempotency
            .execute(&payment, async |reservation: Reservation| {
                reservation.superseded().await;
                assert!(reservation.is_superseded());
                assert!(
                    reservation
                        .save_progress("x")
                        .await
                        .unwrap_err()
                        .is_superseded()
                );
                Ok::<_, Error>(Response::new(201).body("first"))
            }),
        async {
            sleep(SECOND).await;
            let holder = world.record("k").await.unwrap().holder;
            resolve(world.store.inner(), &holder, Resolution::Forget, "it hangs")
                .await
                .unwrap();
            assert!(is_ran(&world.pay("k", "second").await));
        },
    );
    assert_eq!(body(&first.unwrap()), "second");
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_completed_stands() {
    let world = World::new();
    let (first, ()) = tokio::join!(world.pay_slowly(SECOND, "own"), async {
        sleep(SECOND / 2).await;
        let holder = world.record("k").await.unwrap().holder;
        let found = Resolution::Complete(Response::new(201).body("found").into());
        resolve(world.store.inner(), &holder, found, "found at the provider")
            .await
            .unwrap();
    });
    assert!(is_replayed(&first));
    assert_eq!(body(&first), "found");
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_successor() {
    let world = World::new();
    let first = async |reservation: Reservation| {
        assert_eq!(reservation.progress(), None);
        reservation.save_progress("charged").await.unwrap();
        Err::<Response, _>("crashed")
    };
    assert!(
        world
            .idempotency
            .execute(&operation("k"), first)
            .await
            .is_err()
    );
    let second = async |reservation: Reservation| {
        assert_eq!(reservation.attempt(), 2);
        assert_eq!(
            reservation.progress().unwrap().as_bytes().as_ref(),
            b"charged"
        );
        Ok::<_, Error>(Response::new(201))
    };
    assert!(is_ran(
        &world
            .idempotency
            .execute(&operation("k"), second)
            .await
            .unwrap()
    ));
}

#[tokio::test(start_paused = true)]
async fn under_hold_the_reservation_is_started_before_the_handler_runs() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    let handler = async |_: Reservation| {
        assert!(world.record("k").await.unwrap().started);
        Ok::<_, Error>(Response::new(201))
    };
    assert!(is_ran(
        &world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap()
    ));
    assert_eq!(
        world.store.calls(),
        [Call::Reserve, Call::Renew, Call::Complete]
    );
}

#[tokio::test(start_paused = true)]
async fn under_hold_no_handler_runs_if_the_starting_renewal_stays_unknown() {
    for fault in [Fault::LoseRequest, Fault::LoseAnswer, Fault::Refuse] {
        let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
        world.store.always(Call::Renew, fault);
        let error = world.try_pay("k", "paid").await.unwrap_err();
        assert!(matches!(error, ExecuteError::Store(error) if error.is_unavailable()));
        assert_eq!(world.effects.count(), 0);
        let condition = world.record("k").await.unwrap().condition;
        assert!(
            matches!(condition, Condition::Abandoned { .. }),
            "{fault:?}: {condition:?}"
        );
        world.store.heal();
        assert!(is_ran(&world.pay("k", "paid").await), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn under_hold_no_handler_runs_if_the_starting_renewal_is_refused() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    world.store.next(Call::Renew, Fault::DelayRequest(SECOND));
    let (first, ()) = tokio::join!(world.try_pay("k", "paid"), async {
        sleep(SECOND / 2).await;
        let holder = world.record("k").await.unwrap().holder;
        world.store.inner().abandon(&holder).await.unwrap();
    });
    assert!(matches!(first.unwrap_err(), ExecuteError::Store(_)));
    assert_eq!(world.effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn under_hold_a_reservation_that_never_started_is_taken_over() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    let request = crate::ReserveRequest::new(
        operation("k"),
        crate::Token::random(),
        crate::Terms::default(),
    );
    // A process that died between its reservation and the renewal that starts it.
    world
        .store
        .inner()
        .reserve(&request.on_lapse(OnLapse::Hold))
        .await
        .unwrap();
    sleep(LEASE).await;
    assert!(is_ran(&world.pay("k", "paid").await));
}

fn quick() -> impl FnOnce(crate::Builder) -> crate::Builder {
    // A lease that is over before a slow store has answered.
    |builder| {
        builder
            .lease(SECOND)
            .store_timeouts(10 * SECOND, 20 * SECOND)
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_starts_late_only_after_a_renewal() {
    let world = World::with(quick());
    world
        .store
        .next(Call::Reserve, Fault::DelayAnswer(3 * SECOND));
    assert!(is_ran(&world.pay("k", "paid").await));
    assert_eq!(
        world.store.calls(),
        [Call::Reserve, Call::Renew, Call::Complete]
    );
}

#[tokio::test(start_paused = true)]
async fn no_handler_starts_on_a_lapsed_lease_at_whichever_await_point_time_passes() {
    let mut renewed = 0;
    for yields in 0..12 {
        let world = World::new();
        let payment = operation("k");
        let handler = async |_: Reservation| {
            let condition = world.record("k").await.unwrap().condition;
            assert!(
                matches!(condition, Condition::Live { .. }),
                "after {yields}: {condition:?}"
            );
            Ok::<_, Error>(Response::new(201))
        };
        let request = world.idempotency.execute(&payment, handler);
        let (executed, ()) = tokio::join!(biased; request, async {
            while world.record("k").await.is_none() {
                tokio::task::yield_now().await;
            }
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(2 * LEASE).await;
        });
        assert!(is_ran(&executed.unwrap()));
        renewed += usize::from(world.store.calls().contains(&Call::Renew));
    }
    assert!(renewed > 0, "time never passed before the handler");
}

#[tokio::test(start_paused = true)]
async fn a_handler_does_not_start_late_if_another_took_over() {
    let world = World::with(quick());
    world
        .store
        .next(Call::Reserve, Fault::DelayAnswer(3 * SECOND));
    let (first, second) = tokio::join!(world.try_pay("k", "first"), async {
        sleep(2 * SECOND).await;
        world.pay("k", "second").await
    });
    assert!(is_ran(&second));
    assert!(matches!(first.unwrap_err(), ExecuteError::Store(_)));
    assert_eq!(world.effects.count(), 1);
    assert_eq!(body(&world.pay("k", "third").await), "second");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_with_a_longest_age_does_not_start_late() {
    let world = World::with(|builder| quick()(builder).longest_age(10 * SECOND));
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("k"), failing)
            .await
            .is_err()
    );
    world
        .store
        .next(Call::Reserve, Fault::DelayAnswer(3 * SECOND));
    assert!(matches!(
        world.try_pay("k", "late").await,
        Err(ExecuteError::Store(_))
    ));
    assert_eq!(world.effects.count(), 0);
    assert!(
        is_ran(&world.pay("k", "in time").await),
        "it was given back at once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_takeover_with_a_longest_age_does_not_start_on_what_a_resend_was_given() {
    // Granted just below the longest age, and the answer lost: the resend is given the same again, at
    // any age (law R10).
    let world = World::with(|builder| builder.longest_age(10 * SECOND));
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("k"), failing)
            .await
            .is_err()
    );
    sleep(9 * SECOND).await;
    world
        .store
        .next(Call::Reserve, Fault::DelayAnswer(3 * SECOND));
    assert!(matches!(
        world.try_pay("k", "late").await,
        Err(ExecuteError::Store(_))
    ));
    assert_eq!(world.effects.count(), 0);
    assert_eq!(
        world.pay("k", "again").await,
        Executed::Conflict { retry_after: None }
    );
}

#[tokio::test(start_paused = true)]
async fn the_starting_renewal_makes_a_takeover_no_younger() {
    let world = World::with(|builder| quick()(builder).longest_age(10 * SECOND));
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("k"), failing)
            .await
            .is_err()
    );
    let holding = world.another(|builder| {
        quick()(builder)
            .longest_age(10 * SECOND)
            .on_lapse(OnLapse::Hold)
    });
    holding
        .store
        .next(Call::Renew, Fault::DelayRequest(3 * SECOND));
    assert!(matches!(
        holding.try_pay("k", "late").await,
        Err(ExecuteError::Store(_))
    ));
    assert_eq!(world.effects.count(), 0);
    assert!(
        is_ran(&holding.pay("k", "in time").await),
        "it was given back at once"
    );
}

#[tokio::test(start_paused = true)]
async fn beyond_the_longest_age_only_a_person_resolves() {
    let world = World::with(|builder| builder.longest_age(5 * SECOND));
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("k"), failing)
            .await
            .is_err()
    );
    sleep(5 * SECOND).await;
    assert_eq!(
        world.pay("k", "again").await,
        Executed::Conflict { retry_after: None }
    );
    let holder = world.record("k").await.unwrap().holder;
    resolve(
        world.store.inner(),
        &holder,
        Resolution::Forget,
        "never charged",
    )
    .await
    .unwrap();
    assert!(is_ran(&world.pay("k", "again").await));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_survives_a_store_that_is_away_for_a_while() {
    let world = World::new();
    world.store.always(Call::Renew, Fault::Refuse);
    let (first, ()) = tokio::join!(world.pay_slowly(5 * LEASE, "paid"), async {
        sleep(LEASE - SECOND).await;
        world.store.heal();
        let healed = Instant::now();
        // A quarter of the rhythm of 20 s is the longest until the next try.
        sleep(6 * SECOND).await;
        assert!(healed.elapsed() < LEASE);
        assert!(matches!(
            world.record("k").await.unwrap().condition,
            Condition::Live { .. }
        ));
    });
    assert!(is_ran(&first));
}

#[tokio::test(start_paused = true)]
async fn the_last_heartbeat_is_heeded_even_if_the_handler_has_ended() {
    // Every 20 s; the first beat arrives at 21 s, after another attempt took over and answered.
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    let payment = operation("k");
    let failing = async |_: Reservation| {
        world.store.next(Call::Renew, Fault::DelayRequest(SECOND));
        sleep(20 * SECOND + SECOND * 3 / 4).await;
        Err::<Response, _>("an error that may carry an answer")
    };
    let (first, ()) = tokio::join!(world.idempotency.execute(&payment, failing), async {
        sleep(20 * SECOND + SECOND / 2).await;
        let holder = world.record("k").await.unwrap().holder;
        resolve(world.store.inner(), &holder, Resolution::Forget, "it hangs")
            .await
            .unwrap();
        assert!(is_ran(&world.pay("k", "second").await));
    });
    assert_eq!(body(&first.unwrap()), "second");
}
