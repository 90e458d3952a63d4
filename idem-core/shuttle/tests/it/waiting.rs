//! Twenty that wait: one runs, and all have its answer as soon as it is there, whether it comes while
//! they begin to wait or later.

use idem_core_shuttle::IdempotencyStore;
use tokio::time::Instant;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{
    LEASE, SECOND, World, all, any, is_completed, is_replayed, memory, one_answer, waiting,
};

async fn all_have_the_answer_at_once(store: impl IdempotencyStore + 'static) {
    let world = World::new(store, waiting(10 * LEASE));
    let asked = Instant::now();
    let callers = world.spawn(20, async |world, n| {
        world.pay(SECOND * any(2) as u32, format!("{n}")).await
    });
    let executed = all(callers).await;
    assert_eq!(world.effects.count(), 1, "so many effects");
    assert!(
        executed
            .iter()
            .all(|one| is_completed(one) || is_replayed(one))
    );
    one_answer(&executed);
    let took = asked.elapsed();
    assert!(took < 2 * SECOND, "a wake-up was lost: {took:?}");
}

#[test]
fn of_twenty_that_wait_all_have_the_answer_at_once() {
    holds("twenty wait", WhenIdle, || {
        all_have_the_answer_at_once(memory())
    });
}

#[test]
fn a_watch_that_begins_late_is_found() {
    fails(
        "fault: watches late",
        "a wake-up was lost",
        WhenIdle,
        || all_have_the_answer_at_once(Faulty::new(Fault::WatchesLate)),
    );
}

#[test]
fn an_executor_that_does_not_look_again_is_found() {
    fails(
        "fault: no second look",
        "a wake-up was lost",
        WhenIdle,
        || all_have_the_answer_at_once(Faulty::new(Fault::NoSecondLook)),
    );
}
