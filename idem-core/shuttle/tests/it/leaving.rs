//! Callers that go away at any await point: nothing is stuck under `RunAgain`, nothing runs twice under
//! `Hold`.

use idem_core_shuttle::{Executed, IdempotencyStore, OnLapse};
use tokio::time::Instant;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{
    LEASE, SECOND, World, all, any, dropped_after, is_completed, is_replayed, memory, one_answer,
    pass, waiting,
};

/// Of ten that wait, some go away; then all that they left behind has ended.
async fn some_leave(store: impl IdempotencyStore + 'static, on_lapse: OnLapse) -> World {
    let world = World::new(store, |builder| {
        waiting(10 * LEASE)(builder).on_lapse(on_lapse)
    });
    let callers = world.spawn(10, async |world, n| {
        let polls = if any(3) > 0 { 1 + any(8) } else { usize::MAX };
        dropped_after(polls, world.pay(SECOND, format!("{n}"))).await
    });
    one_answer(all(callers).await.iter().flatten());
    world.settle().await;
    world
}

async fn the_retry_never_waits(store: impl IdempotencyStore + 'static) {
    let asked = Instant::now();
    let world = some_leave(store, OnLapse::RunAgain).await;
    let retry = world.pay(SECOND, "retry").await;
    assert!(is_completed(&retry) || is_replayed(&retry), "{retry:?}");
    assert!(asked.elapsed() < 15 * SECOND, "somebody waited for a lease");
}

#[test]
fn under_run_again_the_retry_never_waits() {
    holds("ten, some leave, run again", WhenIdle, || {
        the_retry_never_waits(memory())
    });
}

#[test]
fn a_store_that_loses_an_abandon_is_found() {
    let expected = "somebody waited";
    fails("fault: loses an abandon", expected, WhenIdle, || {
        the_retry_never_waits(Faulty::new(Fault::LosesAbandon))
    });
}

async fn nothing_runs_twice(store: impl IdempotencyStore + 'static) {
    let world = some_leave(store, OnLapse::Hold).await;
    let before = world.effects.count();
    pass(LEASE).await;
    let retry = world.pay(SECOND, "retry").await;
    assert!(world.effects.count() <= 1, "it ran twice");
    match retry {
        Executed::Ran { .. } => assert_eq!(before, 0),
        Executed::Replayed(_) => {}
        other => assert_eq!(other, Executed::Conflict { retry_after: None }),
    }
}

#[test]
fn under_hold_nothing_runs_twice() {
    holds("ten, some leave, hold", WhenIdle, || {
        nothing_runs_twice(memory())
    });
}

#[test]
fn a_store_that_does_not_mark_what_has_started_is_found() {
    fails("fault: loses the start", "it ran twice", WhenIdle, || {
        nothing_runs_twice(Faulty::new(Fault::LosesRenewal))
    });
}
