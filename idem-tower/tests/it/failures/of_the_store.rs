//! A store that is away, hangs, forgets to answer, or holds what cannot be read.

use std::time::Duration;

use idem_core::{Builder, Condition, Error, OnLapse};
use idem_tower::{IdempotencyLayer, StoreDown};
use tokio::time::Instant;

use super::{First, World, assert_in_flight, assert_paid, assert_problem};
use crate::support::gate::soon;

const SECOND: Duration = Duration::from_secs(1);

/// Each way to be away: refused, lost on the way, and down for good (a missing table, say).
const AWAY: [fn() -> Error; 3] = [
    || Error::unavailable("refused", "by the test"),
    || Error::unknown_outcome("lost", "by the test"),
    || Error::failed("no such table", "by the test"),
];

/// It answered, and not that it is away.
const UNREADABLE: [fn() -> Error; 3] = [
    || Error::corrupt("a bad byte"),
    || Error::invalid("no such key"),
    || Error::too_large("key", 256, 255),
];

fn closed() -> World {
    World::new(First::Pays)
}

fn open() -> World {
    let open = |layer: IdempotencyLayer| layer.store_down(StoreDown::Open);
    World::with(First::Pays, |builder| builder, open)
}

#[tokio::test(start_paused = true)]
async fn away_at_the_reservation_it_is_answered_503_and_the_handler_does_not_run() {
    for away in AWAY {
        let world = closed();
        world.store.on_reserve.fail(away);
        let began = Instant::now();
        for _ in 0..2 {
            assert_problem(&world.pay().await, 503, "store-unavailable", Some("1"));
        }
        assert!(began.elapsed() < 20 * SECOND, "{:?}", began.elapsed());
        assert_eq!(world.attempts().len(), 0);
        world.store.on_reserve.mend();
        assert_eq!(world.layer.drain(Duration::MAX).await, 0);
        assert_paid(&world.pay().await, 1, false);
        assert_eq!(world.attempts(), [1]);
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_at_the_reservation_it_is_answered_503_after_a_bounded_time() {
    for has_reserved in [false, true] {
        let world = closed();
        let reserve = &world.store.on_reserve;
        let gate = if has_reserved {
            &reserve.after
        } else {
            &reserve.before
        };
        gate.close();
        let began = Instant::now();
        assert_problem(&world.pay().await, 503, "store-unavailable", Some("1"));
        assert!(began.elapsed() < 10 * SECOND, "{:?}", began.elapsed());
        assert_eq!(world.attempts().len(), 0);
        gate.open();
        // What it may have reserved is given back.
        assert_eq!(world.layer.drain(Duration::MAX).await, 0);
        assert_eq!(world.store.record("k").await, None);
        assert_paid(&world.pay().await, 1, false);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_for_good_is_not_away_and_nothing_runs_even_if_open() {
    let world = open();
    world.store.on_reserve.fail(AWAY[2]);
    assert_problem(&world.pay().await, 503, "store-unavailable", Some("1"));
    assert_eq!(world.attempts().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn under_hold_or_with_a_longest_age_nothing_runs_without_the_store_even_if_open() {
    for kept in [
        (|builder: Builder| builder.on_lapse(OnLapse::Hold)) as fn(Builder) -> Builder,
        |builder| builder.longest_age(SECOND),
    ] {
        let world = World::with(First::Pays, kept, |layer| layer.store_down(StoreDown::Open));
        world.store.on_reserve.fail(AWAY[0]);
        assert_problem(&world.pay().await, 503, "store-unavailable", Some("1"));
        assert_eq!(world.attempts().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn away_at_the_reservation_the_handler_runs_unprotected_if_that_is_asked() {
    for away in [AWAY[0], AWAY[1]] {
        let world = open();
        world.store.on_reserve.fail(away);
        for _ in 0..2 {
            assert_paid(&world.pay().await, 0, false);
        }
        assert_eq!(world.effects(), [None, None]);
        assert_eq!(world.store.on_complete.calls(), 0);
        world.store.on_reserve.mend();
        assert_eq!(world.layer.drain(Duration::MAX).await, 0);
        assert_eq!(world.store.record("k").await, None);
        assert_paid(&world.pay().await, 1, false);
        assert_paid(&world.pay().await, 1, true);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_500_and_nothing_runs_even_if_open() {
    for unreadable in UNREADABLE {
        for world in [closed(), open()] {
            world.store.on_reserve.fail(unreadable);
            assert_problem(&world.pay().await, 500, "record-unreadable", None);
            assert_eq!(world.effects().len(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn away_at_the_completion_its_own_answer_is_sent_and_recorded_later() {
    for away in AWAY {
        let world = closed();
        world.store.on_complete.fail(away);
        assert_paid(&world.pay().await, 1, false);
        assert_eq!(world.idempotency.counters().unrecorded, 1);
        // The key is not given up meanwhile.
        assert_in_flight(&world.pay().await);
        world.store.on_complete.mend();
        let draining = world.layer.drain(Duration::MAX);
        assert_eq!(draining.await, 0);
        assert_paid(&world.pay().await, 1, true);
        assert_eq!(world.attempts(), [1]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_completion_whose_answer_was_lost_is_still_its_own_answer() {
    let world = closed();
    let answers = &world.store.on_complete.after;
    answers.close();
    let resent = async {
        answers.reached(2).await;
        answers.open();
    };
    let (first, ()) = soon(async { tokio::join!(world.pay(), resent) }).await;
    assert_paid(&first, 1, false);
    assert_paid(&world.pay().await, 1, true);
    assert_eq!(world.attempts(), [1]);
    let record = world.store.record("k").await.unwrap();
    assert!(matches!(record.condition, Condition::Completed(_)));
}

#[tokio::test(start_paused = true)]
async fn away_when_a_panic_is_to_be_told_the_caller_is_answered_all_the_same() {
    let world = World::new(First::PanicsAfterAnAwait);
    world.first_passes.close();
    let fails = async {
        world.first_passes.reached(1).await;
        world.store.on_abandon.fail(AWAY[0]);
        world.first_passes.open();
    };
    let (first, ()) = tokio::join!(world.pay(), fails);
    super::assert_outcome_unknown(&first);
    // Nobody could be told: its lease has to lapse.
    assert_in_flight(&world.pay().await);
    world.clock.advance(super::LEASE);
    assert_paid(&world.pay().await, 2, false);
    assert_eq!(world.attempts(), [1, 2]);
}
