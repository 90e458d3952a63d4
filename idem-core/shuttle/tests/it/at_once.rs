//! Thirty at one instant: one effect, and the others are in conflict or get its answer.

use std::time::Duration;

use idem_core_shuttle::IdempotencyStore;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{World, all, is_completed, is_conflict, is_replayed, memory, one_answer};

async fn one_of_thirty_runs(store: impl IdempotencyStore + 'static) {
    let world = World::new(store, |builder| builder);
    let callers = world.spawn(30, async |world, n| {
        world.pay(Duration::ZERO, format!("{n}")).await
    });
    let executed = all(callers).await;
    assert_eq!(world.effects.count(), 1, "so many effects");
    let told = |one: &_| is_completed(one) || is_replayed(one) || is_conflict(one);
    assert!(executed.iter().all(told), "{executed:?}");
    one_answer(&executed);
    assert!(is_replayed(&world.pay(Duration::ZERO, "late").await));
}

#[test]
fn of_thirty_at_once_one_runs() {
    holds("thirty at once", WhenIdle, || one_of_thirty_runs(memory()));
}

#[test]
fn a_store_that_grants_twice_is_found() {
    fails("fault: grants twice", "so many effects", WhenIdle, || {
        one_of_thirty_runs(Faulty::new(Fault::GrantsTwice))
    });
}
