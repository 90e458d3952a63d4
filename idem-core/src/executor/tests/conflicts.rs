//! Requests whose operation is in flight: rejected, or waiting for their turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::faults::{Call, Fault};
use super::support::{LEASE, SECOND, World, body, dropped_after, is_ran, is_replayed, operation};
use crate::{Error, Executed, OnConflict, OnLapse, Reservation, Response};

fn waiting(up_to: Duration) -> impl Fn(crate::Builder) -> crate::Builder {
    move |builder| builder.on_conflict(OnConflict::Wait { up_to })
}

/// Twenty requests at one instant; the handler of the winner ends once `release` says so.
async fn twenty_at_once(world: &World, release: Arc<Notify>) -> Vec<Executed> {
    let barrier = Arc::new(Barrier::new(20));
    let mut requests = JoinSet::new();
    for _ in 0..20 {
        let (idempotency, effects) = (world.idempotency.clone(), Arc::clone(&world.effects));
        let (barrier, release) = (Arc::clone(&barrier), Arc::clone(&release));
        requests.spawn(async move {
            barrier.wait().await;
            let handler = async |_: Reservation| {
                effects.happen();
                release.notified().await;
                Ok::<_, Error>(Response::new(201).body("paid"))
            };
            idempotency.execute(&operation("k"), handler).await.unwrap()
        });
    }
    let mut rejected = 0;
    let mut executed = Vec::new();
    while let Some(next) = requests.join_next().await {
        executed.push(next.unwrap());
        rejected += 1;
        if rejected == 19 {
            release.notify_one();
        }
    }
    executed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_at_once_one_runs_and_the_others_are_in_conflict() {
    let world = World::new();
    let executed = twenty_at_once(&world, Arc::default()).await;
    assert_eq!(world.effects.count(), 1);
    assert_eq!(
        executed.iter().filter(|executed| is_ran(executed)).count(),
        1
    );
    let hinted = |executed: &&Executed| {
        matches!(executed, Executed::Conflict { retry_after: Some(hint) }
            if !hint.is_zero() && *hint <= LEASE)
    };
    assert_eq!(executed.iter().filter(hinted).count(), 19);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_that_wait_one_runs_and_all_have_the_same_answer() {
    let world = World::with(waiting(600 * SECOND));
    let release = Arc::new(Notify::new());
    release.notify_one();
    let executed = twenty_at_once(&world, release).await;
    assert_eq!(world.effects.count(), 1);
    assert_eq!(
        executed.iter().filter(|executed| is_ran(executed)).count(),
        1
    );
    assert_eq!(
        executed
            .iter()
            .filter(|executed| is_replayed(executed))
            .count(),
        19
    );
    assert!(
        executed
            .iter()
            .all(|one| one.response() == executed[0].response())
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_by_the_answer_and_not_by_the_time() {
    let world = World::with(waiting(10 * LEASE));
    let started = Instant::now();
    let (first, second) = tokio::join!(world.pay_slowly(7 * SECOND, "paid"), async {
        sleep(SECOND).await;
        world.pay("k", "second").await
    });
    assert!(is_ran(&first) && is_replayed(&second));
    assert_eq!(body(&second), "paid");
    assert_eq!(started.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_missed_wherever_a_waiter_stands_when_it_is_recorded() {
    // The waiter is stopped after each of its polls in turn; meanwhile the answer is recorded.
    for polls in 1..40 {
        let world = World::with(waiting(10 * LEASE));
        let gate = Arc::new(Notify::new());
        let holder = {
            let (world, gate) = (world.another(|builder| builder), Arc::clone(&gate));
            tokio::spawn(async move {
                let handler = async |_: Reservation| {
                    gate.notified().await;
                    Ok::<_, Error>(Response::new(201).body("paid"))
                };
                world
                    .idempotency
                    .execute(&operation("k"), handler)
                    .await
                    .unwrap()
            })
        };
        while world.record("k").await.is_none() {
            tokio::task::yield_now().await;
        }
        let asked = Instant::now();
        let mut waiter = Box::pin(world.pay("k", "second"));
        let early = timeout(SECOND / 2, dropped_after(polls, waiter.as_mut())).await;
        gate.notify_one();
        holder.await.unwrap();
        let answer = match early {
            Ok(Some(answer)) => answer,
            _ => waiter.await,
        };
        assert_eq!(body(&answer), "paid");
        assert!(
            asked.elapsed() < SECOND,
            "{polls} polls: waited for {:?}",
            asked.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_takes_over_when_the_holder_dies() {
    let world = World::with(waiting(10 * LEASE));
    let dying = world.another(|builder| builder.on_lapse(OnLapse::RunAgain));
    // Its process is gone before anything can be abandoned.
    dying.store.always(Call::Abandon, Fault::LoseRequest);
    let died = Instant::now();
    let handler = async |_: Reservation| std::future::pending::<Result<Response, Error>>().await;
    let dead = timeout(SECOND, dying.idempotency.execute(&operation("k"), handler)).await;
    assert!(dead.is_err());
    assert!(is_ran(&world.pay("k", "second").await));
    assert!(
        died.elapsed() >= LEASE && died.elapsed() < LEASE + SECOND,
        "{:?}",
        died.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiter_takes_over_at_once_when_the_holder_abandons() {
    let world = World::with(waiting(10 * LEASE));
    let started = Instant::now();
    let failing = async {
        let handler = async |_: Reservation| {
            sleep(5 * SECOND).await;
            Err::<Response, _>("no")
        };
        world
            .idempotency
            .execute(&operation("k"), handler)
            .await
            .unwrap_err()
    };
    let (_, second) = tokio::join!(failing, async {
        sleep(SECOND).await;
        world.pay("k", "second").await
    });
    assert!(is_ran(&second));
    assert_eq!(started.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_gives_up_when_its_time_is_over() {
    let world = World::with(waiting(3 * SECOND));
    let asked = Instant::now();
    let (_, second) = tokio::join!(world.pay_slowly(7 * SECOND, "paid"), async {
        tokio::task::yield_now().await;
        let second = world.pay("k", "second").await;
        assert_eq!(asked.elapsed().as_secs(), 3);
        second
    });
    assert!(matches!(
        second,
        Executed::Conflict {
            retry_after: Some(_)
        }
    ));
    assert_eq!(world.effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unresolved_operation_is_not_waited_for() {
    let world = World::with(|builder| waiting(10 * LEASE)(builder).on_lapse(OnLapse::Hold));
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("k"), failing)
            .await
            .is_err()
    );
    sleep(LEASE).await;
    let asked = Instant::now();
    assert_eq!(
        world.pay("k", "again").await,
        Executed::Conflict { retry_after: None }
    );
    assert!(asked.elapsed() < SECOND);
}
