//! A handler that takes ten leases: its heartbeat keeps everybody out.

use idem_core_shuttle::IdempotencyStore;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{
    LEASE, SECOND, World, all, any, is_completed, is_conflict, is_replayed, memory, one_answer,
    pass,
};

async fn a_long_handler_is_alone(store: impl IdempotencyStore + 'static) {
    let world = World::new(store, |builder| builder);
    let long = world.spawn(1, async |world, _| world.pay(10 * LEASE, "long").await);
    let others = world.spawn(15, async |world, n| {
        pass(SECOND + LEASE * any(12) as u32).await;
        world.pay(SECOND, format!("{n}")).await
    });
    let mut executed = all(others).await;
    let told = |one: &_| is_conflict(one) || is_replayed(one);
    assert_eq!(world.effects.count(), 1, "so many effects");
    assert!(executed.iter().all(told), "{executed:?}");
    executed.extend(all(long).await);
    assert!(is_completed(&executed[15]), "{executed:?}");
    one_answer(&executed);
}

#[test]
fn a_heartbeat_keeps_everybody_out() {
    holds("fifteen meet a long handler", WhenIdle, || {
        a_long_handler_is_alone(memory())
    });
}

#[test]
fn a_store_that_loses_renewals_is_found() {
    let expected = "so many effects";
    fails("fault: loses renewals", expected, WhenIdle, || {
        a_long_handler_is_alone(Faulty::new(Fault::LosesRenewal))
    });
}
