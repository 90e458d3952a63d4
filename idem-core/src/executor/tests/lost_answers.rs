//! Store calls whose outcome is unknown: resent with the same token, or finished in the background.

use tokio::time::{Instant, sleep};

use super::faults::{Call, Fault};
use super::support::{LEASE, SECOND, World, body, is_ran, is_replayed, operation};
use crate::{
    Condition, Error, ExecuteError, Executed, OnLapse, Recorded, Reservation, Response, Verdict,
};

#[tokio::test(start_paused = true)]
async fn one_lost_answer_of_any_call_changes_nothing() {
    for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
        for call in [Call::Reserve, Call::Renew, Call::Complete] {
            for fault in [
                Fault::LoseRequest,
                Fault::LoseAnswer,
                Fault::DelayAnswer(3 * SECOND),
            ] {
                let world = World::with(|builder| builder.on_lapse(on_lapse));
                world.store.next(call, fault);
                let first = world.pay("k", "paid").await;
                assert!(is_ran(&first), "{call:?} {fault:?}: {first:?}");
                assert_eq!(body(&first), "paid", "{call:?} {fault:?}");
                assert!(
                    is_replayed(&world.pay("k", "again").await),
                    "{call:?} {fault:?}"
                );
                assert_eq!(world.effects.count(), 1, "{call:?} {fault:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_resent_withdrawal_that_finds_its_work_done_is_done() {
    for (call, verdict) in [
        (
            Call::Release,
            Verdict::Release(Response::new(429).body("slow down")),
        ),
        (
            Call::Abandon,
            Verdict::Abandon(Response::new(503).body("slow down")),
        ),
    ] {
        let world = World::new();
        world.store.next(call, Fault::LoseAnswer);
        let handler = async move |_: Reservation| Ok::<_, Error>(verdict);
        let executed = world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap();
        assert!(is_ran(&executed), "{call:?}: {executed:?}");
        assert_eq!(body(&executed), "slow down");
        assert!(is_ran(&world.pay("k", "paid").await));
    }
}

#[tokio::test(start_paused = true)]
async fn a_withdrawal_that_was_superseded_at_once_is_not_answered() {
    for verdict in [
        Verdict::Release(Response::new(429).body("slow down")),
        Verdict::Abandon(Response::new(503).body("slow down")),
    ] {
        let world = World::with(|builder| builder.no_heartbeat());
        let handler = async |_: Reservation| {
            sleep(2 * LEASE).await;
            Ok::<_, Error>(verdict)
        };
        let operation = operation("k");
        let (first, second) = tokio::join!(world.idempotency.execute(&operation, handler), async {
            sleep(LEASE).await;
            world.pay("k", "paid").await
        });
        assert!(is_ran(&second));
        assert_eq!(body(&first.unwrap()), "paid");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reserve_that_stays_unknown_fails_closed_and_is_given_back() {
    for fault in [Fault::LoseRequest, Fault::LoseAnswer] {
        let world = World::new();
        world.store.always(Call::Reserve, fault);
        let asked = Instant::now();
        let error = world.try_pay("k", "paid").await.unwrap_err();
        let ExecuteError::Store(error) = error else {
            panic!("the handler ran")
        };
        assert_eq!(error.applied(), crate::Applied::Unknown);
        assert!(
            asked.elapsed() <= 7 * SECOND,
            "bounded: {:?}",
            asked.elapsed()
        );
        assert_eq!(world.effects.count(), 0);

        world.store.heal();
        assert_eq!(world.idempotency.drain(10 * SECOND).await, 0);
        assert_eq!(
            world.record("k").await,
            None,
            "{fault:?}: given back, so the retry runs"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_waited_for_within_bounds() {
    let world = World::new();
    world
        .store
        .always(Call::Reserve, Fault::DelayRequest(1000 * SECOND));
    let asked = Instant::now();
    assert!(matches!(
        world.try_pay("k", "paid").await,
        Err(ExecuteError::Store(_))
    ));
    assert!(
        asked.elapsed() <= 7 * SECOND,
        "bounded: {:?}",
        asked.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_earlier_unknown_send_outweighs_a_later_refusal() {
    let world = World::new();
    world.store.next(Call::Reserve, Fault::LoseAnswer);
    world.store.always(Call::Reserve, Fault::Refuse);
    let error = world.try_pay("k", "paid").await.unwrap_err();
    let ExecuteError::Store(error) = error else {
        panic!("the handler ran")
    };
    assert_eq!(error.applied(), crate::Applied::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_completion_without_an_answer_is_sent_on_in_the_background() {
    for on_lapse in [OnLapse::RunAgain, OnLapse::Hold] {
        for fault in [Fault::LoseRequest, Fault::LoseAnswer, Fault::Refuse] {
            let world = World::with(|builder| builder.on_lapse(on_lapse));
            world.store.always(Call::Complete, fault);
            let first = world.pay("k", "paid").await;
            assert_eq!(body(&first), "paid");
            assert!(matches!(
                first,
                Executed::Ran {
                    recorded: Recorded::Unrecorded,
                    ..
                }
            ));
            assert_eq!(world.idempotency.counters().unrecorded, 1);

            // For as long as it takes, the key is held and nothing runs again.
            sleep(3 * LEASE).await;
            let repeat = world.pay("k", "again").await;
            assert!(!is_ran(&repeat), "{fault:?}: {repeat:?}");

            world.store.heal();
            assert_eq!(world.idempotency.drain(60 * SECOND).await, 0);
            assert_eq!(body(&world.pay("k", "again").await), "paid", "{fault:?}");
            assert_eq!(world.effects.count(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_gives_up_what_the_store_never_answers() {
    let world = World::new();
    world.store.always(Call::Complete, Fault::Refuse);
    assert!(is_ran(&world.pay("k", "paid").await));
    assert_eq!(world.idempotency.drain(SECOND).await, 1);
    // Its lease lapses now, as after a crash.
    sleep(2 * LEASE).await;
    let condition = world.record("k").await.unwrap().condition;
    assert!(
        matches!(condition, Condition::Lapsed { .. }),
        "{condition:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_completion_in_the_background_never_overwrites_a_successor() {
    // A process that cannot reach the store for longer than its lease.
    let world = World::with(|builder| builder.no_heartbeat());
    let cut_off = async {
        let handler = async |_: Reservation| {
            world.store.always(Call::Complete, Fault::Refuse);
            Ok::<_, Error>(Response::new(201).body("first"))
        };
        world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap()
    };
    assert!(is_ran(&cut_off.await));
    let holder = world.record("k").await.unwrap().holder;
    crate::IdempotencyStore::abandon(world.store.inner(), &holder)
        .await
        .unwrap();
    world.store.heal();
    // Another process runs it before the first one comes back.
    let other = world.another(|builder| builder);
    assert!(is_ran(&other.pay("k", "second").await));
    assert_eq!(world.idempotency.drain(60 * SECOND).await, 0);
    assert_eq!(body(&other.pay("k", "third").await), "second");
}
