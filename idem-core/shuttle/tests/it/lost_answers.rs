//! A few requests and answers of the store are lost: the resends find their own work.

use idem_core_shuttle::IdempotencyStore;
use tokio::time::Instant;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty, Unreliable};
use crate::world::{
    LEASE, SECOND, World, all, is_completed, is_replayed, memory, one_answer, waiting,
};

async fn resends_find_their_own_work(store: impl IdempotencyStore + 'static) {
    let world = World::new(Unreliable::new(store, 5), waiting(10 * LEASE));
    let asked = Instant::now();
    let callers = world.spawn(12, async |world, n| world.pay(SECOND, format!("{n}")).await);
    let executed = all(callers).await;
    assert_eq!(world.effects.count(), 1, "so many effects");
    assert!(
        executed
            .iter()
            .all(|one| is_completed(one) || is_replayed(one)),
        "{executed:?}"
    );
    one_answer(&executed);
    let took = asked.elapsed();
    assert!(took < LEASE, "in conflict with itself: {took:?}");
}

#[test]
fn lost_answers_cost_neither_an_effect_nor_a_lease() {
    holds("twelve, five lost answers", WhenIdle, || {
        resends_find_their_own_work(memory())
    });
}

#[test]
fn a_store_that_forgets_its_own_is_found() {
    let expected = "in conflict with itself";
    fails("fault: forgets its own", expected, WhenIdle, || {
        resends_find_their_own_work(Faulty::new(Fault::ForgetsItsOwn))
    });
}
