//! Time passes at any moment: leases lapse between any two steps, under whoever holds them. What is
//! recorded is the answer of the last attempt, and what is held runs once.

use idem_core_shuttle::{ExecuteError, Executed, IdempotencyStore, OnLapse};
use tokio::time::Passing::AtAnyMoment;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{
    LEASE, SECOND, World, all, any, body, is_completed, memory, one_answer, pass, waiting,
};

async fn ten(store: impl IdempotencyStore + 'static, on_lapse: OnLapse) -> World {
    let world = World::new(store, |builder| {
        waiting(20 * LEASE)(builder).on_lapse(on_lapse)
    });
    let callers = world.spawn(10, async |world, n| {
        pass(LEASE * any(2) as u32).await;
        world.try_pay(LEASE * any(3) as u32, format!("{n}")).await
    });
    // Whose lease was over before he could begin is told so.
    let began = |result: Result<Executed, _>| match result {
        Err(ExecuteError::Store(error)) if error.is_unavailable() || error.is_too_late() => None,
        result => Some(result.unwrap()),
    };
    let executed: Vec<_> = all(callers).await.into_iter().filter_map(began).collect();
    one_answer(&executed);
    for completed in executed.iter().filter(|one| is_completed(one)) {
        let attempt = format!("{}:", world.effects.last_attempt());
        assert!(
            body(completed).starts_with(attempt.as_bytes()),
            "a superseded attempt was recorded: {completed:?}, last {attempt}"
        );
    }
    world.settle().await;
    world
}

async fn one_answer_is_recorded(store: impl IdempotencyStore + 'static) {
    ten(store, OnLapse::RunAgain).await;
}

#[test]
fn whoever_lapses_one_answer_is_recorded() {
    holds("ten, time at any moment, run again", AtAnyMoment, || {
        one_answer_is_recorded(memory())
    });
}

#[test]
fn a_store_that_forgets_the_token_is_found() {
    let expected = "a superseded attempt was recorded";
    fails("fault: forgets the token", expected, AtAnyMoment, || {
        one_answer_is_recorded(Faulty::new(Fault::ForgetsTheToken))
    });
}

async fn one_effect(store: impl IdempotencyStore + 'static) {
    let world = ten(store, OnLapse::Hold).await;
    assert!(world.effects.count() <= 1, "it ran twice");
    let _ = world.try_pay(SECOND, "retry").await;
    assert!(world.effects.count() <= 1, "it ran twice");
}

#[test]
fn whoever_lapses_what_is_held_runs_once() {
    holds("ten, time at any moment, hold", AtAnyMoment, || {
        one_effect(memory())
    });
}

#[test]
fn a_store_that_ignores_hold_is_found() {
    fails("fault: ignores hold", "it ran twice", AtAnyMoment, || {
        one_effect(Faulty::new(Fault::IgnoresHold))
    });
}
