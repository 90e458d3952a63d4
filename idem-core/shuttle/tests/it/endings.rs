//! Handlers that end in every way, panics included: one at a time, nobody is left without an answer, and
//! what was completed stays.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idem_core_shuttle::{ExecuteError, Executed, IdempotencyStore, Reservation, Response, Verdict};
use tokio::time::Instant;
use tokio::time::Passing::WhenIdle;

use crate::explore::{fails, holds};
use crate::faults::{Fault, Faulty};
use crate::world::{
    LEASE, SECOND, World, all, any, is_completed, is_replayed, memory, one_answer, operation, pass,
    waiting,
};

/// How many handlers are between their beginning and their end.
#[derive(Default)]
struct Running {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Running {
    fn begin(&self) {
        let now = 1 + self.now.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn end(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A request whose handler ends in one of all ways. `None`: with an error or a panic.
async fn request(world: World, running: Arc<Running>, n: usize) -> Option<Executed> {
    let (effects, answer) = (world.effects, format!("{n}"));
    let handler = async move |reservation: Reservation| {
        running.begin();
        effects.happen(reservation.attempt());
        pass(SECOND).await;
        running.end();
        let response = Response::new(201).body(answer);
        match any(8) {
            0 => Err("the provider broke"),
            // Not `panic!`, which would say that the model failed.
            1 => resume_unwind(Box::new("the handler broke")),
            2 | 3 => Ok(Verdict::Abandon(response)),
            4 | 5 => Ok(Verdict::Release(response)),
            _ => Ok(Verdict::Complete(response)),
        }
    };
    match world
        .idempotency
        .execute_detached(operation(), handler)
        .await
    {
        Ok(executed) => Some(executed),
        Err(ExecuteError::Store(error)) => panic!("the store failed: {error}"),
        Err(_) => None,
    }
}

async fn one_at_a_time(store: impl IdempotencyStore + 'static) {
    let world = World::new(store, waiting(10 * LEASE));
    let running = Arc::new(Running::default());
    let asked = Instant::now();
    let callers = world.spawn(12, |world, n| request(world, Arc::clone(&running), n));
    let executed: Vec<_> = all(callers).await.into_iter().flatten().collect();
    let most = running.most.load(Ordering::SeqCst);
    assert!(most <= 1, "so many handlers at one time: {most}");
    let conflict = |one: &_| matches!(one, Executed::Conflict { .. } | Executed::Mismatch);
    assert!(!executed.iter().any(conflict), "{executed:?}");
    one_answer(&executed);
    let took = asked.elapsed();
    assert!(took < 13 * SECOND, "somebody waited for a lease: {took:?}");

    world.settle().await;
    let completed = executed.iter().any(is_completed);
    let retry = world.pay(SECOND, "retry").await;
    assert_eq!(is_replayed(&retry), completed, "{executed:?}, {retry:?}");
}

#[test]
fn handlers_that_end_in_every_way_run_one_at_a_time() {
    holds("twelve end in every way", WhenIdle, || {
        one_at_a_time(memory())
    });
}

#[test]
fn a_store_that_lets_two_in_is_found() {
    let expected = "so many handlers at one time";
    fails("fault: lets two in", expected, WhenIdle, || {
        one_at_a_time(Faulty::new(Fault::GrantsTwice))
    });
}
