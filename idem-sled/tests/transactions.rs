//! Effect and key in one transaction: both, or neither.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_core::{
    Answer, ExecuteError, Executed, Idempotency, IdempotencyStore as _, Inspect as _, ManualClock,
    Outcome, Recorded, Reservation, Response, Verdict,
};
use idem_sled::{EffectTree, NotCompleted, RunInError, Settled, SledStore, sled};
use support::{LEASE, copy, open_at, operation, request, reserve, terms};
use testkit::Folder;

struct World {
    folder: Folder,
    clock: ManualClock,
    store: SledStore,
    payments: EffectTree,
}

impl World {
    async fn new() -> Self {
        let (folder, clock) = (Folder::new(), ManualClock::new());
        let store = open_at(folder.path(), &clock).await;
        let payments = store.effect_tree("payments").await.unwrap();
        Self {
            folder,
            clock,
            store,
            payments,
        }
    }

    fn rows(&self) -> usize {
        self.payments.tree().len()
    }

    /// Pays in one transaction; each run leaves a row of its own.
    async fn pay(&self, key: &str) -> Executed {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let run = self
            .store
            .run_in([&self.payments], operation(key), |[payments], _| {
                let run = RUNS.fetch_add(1, Ordering::SeqCst);
                payments.insert(format!("row {run}"), "150.00");
                Ok::<_, sled::Error>(Response::new(201).body(format!("paid by run {run}")))
            });
        run.await.unwrap()
    }
}

fn ran(executed: &Executed) -> bool {
    matches!(
        executed,
        Executed::Ran {
            recorded: Recorded::Completed { .. },
            ..
        }
    )
}

#[tokio::test]
async fn effect_and_key_commit_together_and_a_repeat_replays() {
    let world = World::new().await;
    let first = world.pay("k").await;
    assert!(ran(&first), "{first:?}");
    let again = world.pay("k").await;
    assert!(matches!(again, Executed::Replayed(_)), "{again:?}");
    assert_eq!(again.response(), first.response());
    assert_eq!(world.rows(), 1);
    // The other way in finds it, too.
    let outcome = world.store.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(_)));
    let mismatch = idem_core::Operation {
        fingerprint: idem_core::Fingerprint::raw("other"),
        ..operation("k")
    };
    let mismatch = world.store.run_in([], mismatch, |[], _| {
        Ok::<_, sled::Error>(Response::new(201))
    });
    assert!(matches!(mismatch.await.unwrap(), Executed::Mismatch));
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill_both_halves_of_it() {
    let world = World::new().await;
    let first = world.pay("k").await;
    let left = Folder::new();
    copy(world.folder.path(), left.path());
    let store = open_at(left.path(), &world.clock).await;
    let payments = store.effect_tree("payments").await.unwrap();
    assert_eq!(payments.tree().len(), 1);
    let Outcome::Replay(replay) = store.reserve(&request("k")).await.unwrap() else {
        panic!("not completed");
    };
    assert_eq!(
        Some(replay.answer),
        first.response().cloned().map(Answer::Full)
    );
}

#[tokio::test]
async fn a_handler_that_fails_or_panics_has_not_happened() {
    let world = World::new().await;
    let failed = world
        .store
        .run_in([&world.payments], operation("k"), |[payments], _| {
            payments.insert("row", "150.00");
            Err::<Response, _>("no")
        });
    assert!(matches!(failed.await, Err(RunInError::Handler("no"))));
    let panicked = world
        .store
        .run_in([&world.payments], operation("k"), |[payments], _| {
            payments.insert("row", "150.00");
            std::panic::resume_unwind(Box::new("planted"));
            #[allow(unreachable_code, reason = "it has a type")]
            Ok::<Response, sled::Error>(Response::new(201))
        });
    let Err(RunInError::Panicked(panic)) = panicked.await else {
        panic!("it did not panic");
    };
    assert_eq!(panic.into_inner().downcast_ref(), Some(&"planted"));
    assert_eq!(world.rows(), 0);
    assert_eq!(world.store.get(&operation("k").record).await.unwrap(), None);
    assert!(ran(&world.pay("k").await), "the store goes on");
}

#[tokio::test]
async fn an_answer_without_the_effect_and_no_answer_at_all() {
    let world = World::new().await;
    let settle = async |settled: Settled| {
        let run = world
            .store
            .run_in([&world.payments], operation("k"), move |[payments], _| {
                payments.insert("row", "150.00");
                Ok::<_, sled::Error>(settled.clone())
            });
        run.await.unwrap()
    };
    let rolled_back = settle(Settled::RollBack(Response::new(500))).await;
    let released = matches!(
        rolled_back,
        Executed::Ran {
            recorded: Recorded::Released,
            ..
        }
    );
    assert!(released, "{rolled_back:?}");
    assert_eq!(world.store.get(&operation("k").record).await.unwrap(), None);
    let declined = settle(Settled::CompleteWithoutEffect(Response::new(402))).await;
    assert!(ran(&declined), "{declined:?}");
    assert_eq!(world.rows(), 0);
    assert!(matches!(world.pay("k").await, Executed::Replayed(_)));
    assert_eq!(world.rows(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_are_one_effect_beside_reserves_of_the_plain_kind() {
    let world = Arc::new(World::new().await);
    for key in 0..20 {
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..12 {
            let world = Arc::clone(&world);
            tasks.spawn(async move {
                let key = key.to_string();
                if caller % 4 < 3 {
                    return ran(&world.pay(&key).await);
                }
                // In and out again, unless somebody holds it.
                let request = request(&key);
                let outcome = world.store.reserve(&request).await.unwrap();
                if let Outcome::Reserved { attempt, .. } = outcome {
                    let record = request.operation.record.clone();
                    let holder = idem_core::Holder::new(record, request.token, attempt);
                    world.store.release(&holder).await.unwrap();
                }
                false
            });
        }
        let runs = tasks
            .join_all()
            .await
            .into_iter()
            .filter(|ran| *ran)
            .count();
        assert!(runs <= 1, "{runs} ran");
        world.pay(&key.to_string()).await;
        assert_eq!(world.rows(), key + 1);
    }
}

#[tokio::test]
async fn a_reservation_that_others_see_is_in_the_way_until_it_lapses() {
    let world = World::new().await;
    let first = reserve(&world.store, "k").await;
    world.store.renew(&first, terms(), None).await.unwrap();
    let conflict = world.pay("k").await;
    assert!(
        matches!(
            conflict,
            Executed::Conflict {
                retry_after: Some(_)
            }
        ),
        "{conflict:?}"
    );
    world.clock.advance(LEASE);
    assert!(ran(&world.pay("k").await));
    let answer = Response::new(201);
    let late = world
        .store
        .complete_held_in([&world.payments], &first, &answer, |[payments]| {
            payments.insert("late", "150.00");
            Ok::<_, sled::Error>(())
        });
    assert!(matches!(late.await, Err(NotCompleted::Superseded)));
    assert_eq!(world.rows(), 1);
}

#[tokio::test]
async fn three_steps_end_in_one_transaction() {
    let world = World::new().await;
    let holder = reserve(&world.store, "k").await;
    let complete = async |row: &'static str, outcome: Result<(), &'static str>| {
        let answer = Response::new(201).body("paid");
        let completing =
            world
                .store
                .complete_held_in([&world.payments], &holder, answer, move |[payments]| {
                    payments.insert(row, "150.00");
                    assert_eq!(
                        payments.get(row).unwrap().unwrap(),
                        b"150.00",
                        "it sees its own"
                    );
                    payments.remove("not there");
                    outcome
                });
        completing.await
    };
    let failed = complete("failed", Err("no")).await;
    assert!(
        matches!(failed, Err(NotCompleted::Effect("no"))),
        "{failed:?}"
    );
    let conflict = world.store.reserve(&request("k")).await.unwrap();
    assert!(matches!(conflict, Outcome::Conflict { .. }), "{conflict:?}");
    let remembered_for = complete("row", Ok(())).await.unwrap();
    assert_eq!(remembered_for, support::RETENTION);
    let again = complete("again", Ok(())).await;
    let Err(NotCompleted::Standing(replay)) = again else {
        panic!("{again:?}");
    };
    assert_eq!(replay.answer, Response::new(201).body("paid").into());
    assert_eq!(world.rows(), 1);
}

#[tokio::test]
async fn under_the_executor_the_handler_records_by_itself() {
    let world = World::new().await;
    let idempotency = Idempotency::new(world.store.clone());
    let pay = async || {
        let handler = async |reservation: Reservation| {
            let answer = Response::new(201).body("paid");
            let row = reservation.derived_key("charge").to_string();
            let full = Answer::Full(answer.clone());
            let completing = world
                .store
                .complete_in([&world.payments], &reservation, full, {
                    move |[payments]| {
                        payments.insert(row.as_str(), "150.00");
                        Ok::<_, sled::Error>(())
                    }
                });
            completing.await.map_err(|error| error.to_string())?;
            Ok::<_, String>(Verdict::AlreadyRecorded(answer))
        };
        let executed = idempotency.execute(&operation("k"), handler).await;
        executed
            .map_err(|error: ExecuteError<String>| error.to_string())
            .unwrap()
    };
    let first = pay().await;
    let by_handler = matches!(
        first,
        Executed::Ran {
            recorded: Recorded::ByHandler,
            ..
        }
    );
    assert!(by_handler, "{first:?}");
    let again = pay().await;
    assert!(matches!(again, Executed::Replayed(_)), "{again:?}");
    assert_eq!((again.response(), world.rows()), (first.response(), 1));
}

#[tokio::test]
async fn a_transaction_wakes_who_waits_and_goes_on_when_it_is_dropped() {
    let world = World::new().await;
    let holder = reserve(&world.store, "k").await;
    let waiting = world.store.changed(&holder.record, Duration::from_secs(60));
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let begun = std::sync::Mutex::new(Some(begun));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let answer = Response::new(201);
    let completing =
        world
            .store
            .complete_held_in([&world.payments], &holder, answer, move |[payments]| {
                payments.insert("row", "150.00");
                begun.lock().unwrap().take().unwrap().send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
                Ok::<_, sled::Error>(())
            });
    tokio::select! {
        _ = completing => panic!("it waits"),
        begun = has_begun => begun.unwrap(),
    }
    go.send(()).unwrap();
    waiting.await;
    world.store.flush().await.unwrap();
    assert_eq!(world.rows(), 1);
    let outcome = world.store.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(_)), "{outcome:?}");
}

#[tokio::test]
async fn trees_that_are_not_the_users_own_are_refused() {
    let (world, other) = (World::new().await, World::new().await);
    for name in ["idem_records", "idem_facts", "idem_"] {
        assert!(
            world
                .store
                .effect_tree(name)
                .await
                .unwrap_err()
                .is_invalid()
        );
    }
    let pay = async |trees: [&EffectTree; 2]| {
        let run = world.store.run_in(trees, operation("k"), |_, _| {
            Ok::<_, sled::Error>(Response::new(201))
        });
        match run.await {
            Err(RunInError::Store(error)) => error.is_invalid(),
            other => panic!("{other:?}"),
        }
    };
    assert!(pay([&world.payments, &other.payments]).await);
    assert!(pay([&world.payments, &world.payments]).await);
}

#[tokio::test]
async fn two_trees_change_together() {
    let world = World::new().await;
    let balances = world.store.effect_tree("balances").await.unwrap();
    let run = world.store.run_in(
        [&world.payments, &balances],
        operation("k"),
        |[payments, balances], reserved| {
            assert_eq!(reserved.attempt(), 1);
            payments.insert("row", "150.00");
            balances.insert("acct", "850.00");
            Ok::<_, sled::Error>(Response::new(201))
        },
    );
    assert!(ran(&run.await.unwrap()));
    assert_eq!((world.rows(), balances.tree().len()), (1, 1));
}
