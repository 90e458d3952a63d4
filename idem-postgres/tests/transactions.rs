//! Key and effect commit together, or not at all.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use idem_core::{
    Applied, Condition, Entry, Executed, Fingerprint, Idempotency, IdempotencyStore, Inspect, Key,
    OnLapse, Operation, Outcome, Recorded, ReserveRequest, Response, Scope, Terms, Token, Verdict,
};
use idem_postgres::sqlx::postgres::PgConnection;
use idem_postgres::sqlx::{self, AssertSqlSafe, Connection as _, Executor as _};
use idem_postgres::{EffectConnection, NotCompleted, Reserved, RunInError, Settled};
use support::requests::{operation, paid, request};
use support::{Isolated, Way};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Nothing takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

fn asking(key: &str, amount: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw(amount),
    )
}

struct World(Isolated);

impl World {
    async fn open(way: Way) -> Self {
        let isolated = Isolated::open(way).await;
        let schema = &isolated.schema;
        isolated
            .run(&format!("CREATE TABLE {schema}.payments (key text)"))
            .await;
        Self(isolated)
    }

    /// The effect: one row.
    fn insert(&self, key: &str) -> String {
        format!("INSERT INTO {}.payments VALUES ('{key}')", self.0.schema)
    }

    async fn payments(&self) -> i64 {
        self.0
            .number(&format!("SELECT count(*) FROM {}.payments", self.0.schema))
            .await
    }

    /// Pays in one transaction, and settles it so.
    async fn pay(&self, key: &str, settled: Settled) -> Result<Executed, RunInError<Infallible>> {
        let insert = self.insert(key);
        let handler = async move |mut connection: EffectConnection, _: Reserved| {
            effect(&mut connection, insert).await;
            Ok::<Settled, Infallible>(settled)
        };
        let store = &self.0.store;
        store.run_in(store.pool(), operation(key), handler).await
    }

    async fn is_vacant(&self, key: &str) -> bool {
        let record = self.0.store.get(&operation(key).record).await;
        record.unwrap().is_none()
    }
}

async fn effect(connection: &mut PgConnection, insert: String) {
    let insert = sqlx::raw_sql(AssertSqlSafe(insert));
    connection.execute(insert).await.unwrap();
}

fn is_ran(executed: &Executed) -> bool {
    matches!(executed, Executed::Ran { .. })
}

#[tokio::test]
async fn effect_and_answer_commit_together_and_a_repeat_replays() {
    for way in [
        Way::pool(1),
        Way::pool(4).isolation("serializable"),
        Way::behind_pgbouncer(4),
    ] {
        let world = World::open(way).await;
        let first = world.pay("k", paid().into()).await.unwrap();
        assert!(matches!(
            first,
            Executed::Ran {
                recorded: Recorded::Completed { .. },
                ..
            }
        ));
        let repeat = world.pay("k", paid().into()).await.unwrap();
        assert!(matches!(repeat, Executed::Replayed(_)));
        assert_eq!(repeat.response(), Some(&paid()));
        assert_eq!(world.payments().await, 1);

        let store = &world.0.store;
        let other = store.run_in(store.pool(), asking("k", "1.00"), async |_, _| {
            Ok::<_, Infallible>(paid())
        });
        assert_eq!(other.await.unwrap(), Executed::Mismatch);
    }
}

#[tokio::test]
async fn a_declined_answer_is_kept_and_what_its_effect_wrote_is_not() {
    let world = World::open(Way::pool(2)).await;
    let declined = Response::new(402).body("declined");
    let settled = Settled::CompleteWithoutEffect(declined.clone());
    assert!(is_ran(&world.pay("k", settled).await.unwrap()));
    let repeat = world.pay("k", paid().into()).await.unwrap();
    assert_eq!(repeat.response(), Some(&declined));
    assert_eq!(world.payments().await, 0);
}

#[tokio::test]
async fn what_is_rolled_back_has_not_happened_and_the_key_is_free() {
    let world = World::open(Way::pool(1)).await;
    let busy = Settled::RollBack(Response::new(503));
    assert!(is_ran(&world.pay("k", busy).await.unwrap()));
    assert!(world.is_vacant("k").await);

    let store = &world.0.store;
    let insert = world.insert("k");
    let fails = async move |mut connection: EffectConnection, _: Reserved| {
        effect(&mut connection, insert).await;
        Err::<Response, _>("out of stock")
    };
    let failed = store.run_in(store.pool(), operation("k"), fails).await;
    assert!(matches!(failed, Err(RunInError::Handler("out of stock"))));

    let insert = world.insert("k");
    let panics = async move |mut connection: EffectConnection, _: Reserved| {
        effect(&mut connection, insert).await;
        if true {
            panic!("a bug of the handler");
        }
        Ok::<_, Infallible>(paid())
    };
    let panicked = store.run_in(store.pool(), operation("k"), panics).await;
    let Err(error @ RunInError::Panicked(_)) = panicked else {
        panic!("{panicked:?}")
    };
    // As `?` does in a handler of a server.
    let _: Box<dyn std::error::Error + Send + Sync> = error.into();

    assert!(world.is_vacant("k").await);
    assert_eq!(world.payments().await, 0);
    assert!(is_ran(&world.pay("k", paid().into()).await.unwrap()));
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn of_20_callers_in_20_transactions_one_has_the_effect() {
    for (way, wait) in [
        (Way::pool(20), Duration::from_millis(1)),
        (Way::pool(20), PATIENCE),
        (Way::pool(20).isolation("serializable"), PATIENCE),
        (Way::pool(20).isolation("repeatable read"), PATIENCE),
        (Way::pool(3), PATIENCE),
        (Way::behind_pgbouncer(20), PATIENCE),
    ] {
        let world = World::open(way).await;
        let mut callers = JoinSet::new();
        for _ in 0..20 {
            let store = world.0.store.clone();
            let insert = world.insert("k");
            callers.spawn(async move {
                let handler = async move |mut connection: EffectConnection, _: Reserved| {
                    effect(&mut connection, insert).await;
                    Ok::<Settled, Infallible>(paid().into())
                };
                let transactions = store.transactions().wait(wait);
                let pool = store.pool().clone();
                transactions.run_in(&pool, operation("k"), handler).await
            });
        }
        let mut seen = BTreeMap::new();
        for executed in timeout(PATIENCE, callers.join_all()).await.unwrap() {
            let what = match executed.unwrap() {
                Executed::Ran { .. } => "ran",
                Executed::Replayed(_) => "replayed",
                Executed::Conflict { .. } => "conflict",
                Executed::Mismatch => "mismatch",
            };
            *seen.entry(what).or_insert(0) += 1;
        }
        assert_eq!(seen.get("ran"), Some(&1), "{seen:?}");
        assert_eq!(seen.get("mismatch"), None);
        if wait == PATIENCE {
            assert_eq!(seen.get("replayed"), Some(&19), "{seen:?}");
        }
        assert_eq!(world.payments().await, 1);
    }
}

#[tokio::test]
async fn who_meets_an_uncommitted_reservation_is_in_conflict_for_a_second_at_most() {
    let world = World::open(Way::pool(4)).await;
    let store = &world.0.store;
    let gate = Arc::new(Semaphore::new(0));
    let reached = Arc::new(Semaphore::new(0));
    let running = {
        let (store, insert) = (store.clone(), world.insert("k"));
        let (gate, reached) = (Arc::clone(&gate), Arc::clone(&reached));
        tokio::spawn(async move {
            let handler = async move |mut connection: EffectConnection, _: Reserved| {
                effect(&mut connection, insert).await;
                reached.add_permits(1);
                gate.acquire().await.unwrap().forget();
                Ok::<_, Infallible>(paid())
            };
            let pool = store.pool().clone();
            store.run_in(&pool, operation("k"), handler).await
        })
    };
    reached.acquire().await.unwrap().forget();

    // By an autocommit call, by a transaction, and in one's own transaction, which stays usable.
    let short = Terms::new(Duration::from_millis(700), Duration::from_secs(60)).unwrap();
    for (terms, most) in [(Terms::default(), 1000), (short, 700)] {
        let request = ReserveRequest::new(operation("k"), Token::random(), terms);
        let Outcome::Conflict { retry_after } = store.reserve(&request).await.unwrap() else {
            panic!("not in conflict")
        };
        assert_eq!(retry_after, Some(Duration::from_millis(most)));
    }
    // Nobody is in conflict with himself: what blocks could be an earlier send.
    let resend = store.reserve(&request("k").resent()).await.unwrap_err();
    assert!(resend.is_transient());
    let second = world.pay("k", paid().into()).await.unwrap();
    assert!(matches!(
        second,
        Executed::Conflict {
            retry_after: Some(_)
        }
    ));
    let mut own = store.pool().begin().await.unwrap();
    let outcome = store
        .reserve_in(&mut own, &request("k"), Duration::from_millis(10))
        .await;
    assert!(matches!(outcome.unwrap(), Outcome::Conflict { .. }));
    own.execute("SELECT 1").await.unwrap();
    own.rollback().await.unwrap();

    gate.add_permits(1);
    assert!(is_ran(&running.await.unwrap().unwrap()));
    let repeat = world.pay("k", paid().into()).await.unwrap();
    assert!(matches!(repeat, Executed::Replayed(_)));
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn two_keys_in_opposite_order_end_in_a_conflict_and_in_no_deadlock() {
    let world = World::open(Way::pool(4)).await;
    let store = &world.0.store;
    let wait = Duration::from_millis(200);
    let mut one = store.pool().begin().await.unwrap();
    let mut other = store.pool().begin().await.unwrap();
    for (transaction, key) in [(&mut one, "a"), (&mut other, "b")] {
        let outcome = store.reserve_in(transaction, &request(key), wait).await;
        assert!(matches!(outcome.unwrap(), Outcome::Reserved { .. }));
    }
    let (b, a) = (request("b"), request("a"));
    let (first, second) = tokio::join!(
        store.reserve_in(&mut one, &b, wait),
        store.reserve_in(&mut other, &a, wait)
    );
    assert!(matches!(first.unwrap(), Outcome::Conflict { .. }));
    assert!(matches!(second.unwrap(), Outcome::Conflict { .. }));
    one.rollback().await.unwrap();
    other.rollback().await.unwrap();
    assert!(world.is_vacant("a").await && world.is_vacant("b").await);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_open_transaction_behind() {
    let world = World::open(Way::pool(1)).await;
    for round in 0..50 {
        let key = format!("{round}");
        let paying = world.pay(&key, paid().into());
        // At some point of it.
        let _ = timeout(Duration::from_micros(round * 40), paying).await;
    }
    // On the one connection everything is committed: another session sees it.
    let first = world.pay("last", paid().into()).await.unwrap();
    assert!(is_ran(&first));
    let another = Way::pool(1).connect().await;
    let count = format!(
        "SELECT count(*) FROM {}.payments WHERE key = 'last'",
        world.0.schema
    );
    let row = another
        .fetch_one(sqlx::raw_sql(AssertSqlSafe(count)))
        .await
        .unwrap();
    assert_eq!(sqlx::Row::get::<i64, _>(&row, 0), 1);
    // What was begun has ended: the key of each round is settled or free.
    for round in 0..50 {
        let key = format!("{round}");
        let executed = world.pay(&key, paid().into()).await.unwrap();
        assert!(!matches!(
            executed,
            Executed::Conflict { .. } | Executed::Mismatch
        ));
    }
    assert_eq!(world.payments().await, 51);
}

#[tokio::test]
async fn three_steps_reserve_then_the_provider_then_result_and_answer_together() {
    for way in [
        Way::pool(3),
        Way::pool(3).isolation("serializable"),
        Way::behind_pgbouncer(3),
    ] {
        let world = World::open(way).await;
        let store = world.0.store.clone();
        let idempotency = Idempotency::builder(store.clone())
            .lease(Duration::from_millis(600))
            .build()
            .unwrap();
        let insert = world.insert("k");
        let handler = async |reservation: idem_core::Reservation| {
            let provider_key = reservation.derived_key("charge").to_string();
            assert_eq!(provider_key.len(), 36);
            // Under a strict isolation level a renewal after the snapshot would be in the way.
            reservation.stop_heartbeat().await;
            let mut transaction = store.pool().begin().await.unwrap();
            effect(&mut transaction, insert).await;
            let answer = paid();
            store
                .complete_in(&mut transaction, &reservation, &answer)
                .await
                .unwrap();
            transaction.commit().await.unwrap();
            Ok::<_, Infallible>(Verdict::AlreadyRecorded(answer))
        };
        let first = idempotency.execute(&operation("k"), handler).await.unwrap();
        assert!(matches!(
            first,
            Executed::Ran {
                recorded: Recorded::ByHandler,
                ..
            }
        ));
        let repeat = idempotency.reserve(&operation("k")).await.unwrap();
        assert!(matches!(repeat, Entry::Replayed(_)));
        assert_eq!(world.payments().await, 1);
    }
}

#[tokio::test]
async fn who_was_taken_over_cannot_complete_in_a_transaction_and_its_effect_rolls_back() {
    let world = World::open(Way::pool(3)).await;
    let store = &world.0.store;
    let executor = Idempotency::builder(store.clone())
        .no_heartbeat()
        .build()
        .unwrap();
    let Entry::Won(slow) = executor.reserve(&operation("k")).await.unwrap() else {
        panic!("not won")
    };
    world.0.advance(Duration::from_secs(61)).await;
    let second = world.pay("k", paid().into()).await.unwrap();
    assert!(is_ran(&second), "{second:?}");

    let mut transaction = store.pool().begin().await.unwrap();
    effect(&mut transaction, world.insert("k")).await;
    let late = Response::new(201).body("late");
    let refused = store
        .complete_in(&mut transaction, slow.reservation(), &late)
        .await;
    assert!(matches!(refused, Err(NotCompleted::Superseded)));
    transaction.rollback().await.unwrap();
    assert_eq!(world.payments().await, 1);
    drop(slow);
}

#[tokio::test]
async fn a_reservation_that_rolls_back_leaves_what_was_there_before() {
    let world = World::open(Way::pool(2)).await;
    let store = &world.0.store;
    let terms = Terms::default();
    let lapsed = ReserveRequest::new(operation("k"), Token::random(), terms);
    store.reserve(&lapsed).await.unwrap();
    world.0.advance(Duration::from_secs(61)).await;
    let before = store.get(&operation("k").record).await.unwrap().unwrap();
    let busy = Settled::RollBack(Response::new(503));
    assert!(is_ran(&world.pay("k", busy).await.unwrap()));
    let after = store.get(&operation("k").record).await.unwrap().unwrap();
    assert_eq!(after.holder, before.holder);
    assert!(matches!(after.condition, Condition::Lapsed { .. }));

    // Under hold nothing is taken over in a transaction either.
    let held =
        ReserveRequest::new(operation("held"), Token::random(), terms).on_lapse(OnLapse::Hold);
    let Outcome::Reserved { attempt, .. } = store.reserve(&held).await.unwrap() else {
        panic!("not reserved")
    };
    let holder = idem_core::Holder::new(operation("held").record, held.token, attempt);
    store.renew(&holder, terms, None).await.unwrap();
    world.0.advance(Duration::from_secs(61)).await;
    let refused = world.pay("held", paid().into()).await.unwrap();
    assert_eq!(refused, Executed::Conflict { retry_after: None });
}

#[tokio::test]
async fn a_pool_of_one_waits_and_transacts_without_a_deadlock() {
    let world = World::open(Way::pool(1)).await;
    let store = world.0.store.clone();
    let won = store.reserve(&request("k")).await.unwrap();
    assert!(matches!(won, Outcome::Reserved { .. }));
    let waiters: JoinSet<()> = (0..5)
        .map(|_| {
            let store = store.clone();
            async move { store.changed(&operation("k").record, PATIENCE).await }
        })
        .collect();
    for n in 0..5 {
        let executed = timeout(PATIENCE, world.pay(&format!("{n}"), paid().into())).await;
        assert!(is_ran(&executed.unwrap().unwrap()));
    }
    world.0.advance(Duration::from_secs(61)).await;
    assert!(is_ran(&world.pay("k", paid().into()).await.unwrap()));
    timeout(PATIENCE, waiters.join_all()).await.unwrap();
}

#[tokio::test]
async fn a_savepoint_of_the_handler_is_its_own() {
    let world = World::open(Way::pool(2)).await;
    let (kept, dropped) = (world.insert("kept"), world.insert("dropped"));
    let handler = async move |mut connection: EffectConnection, _: Reserved| {
        effect(&mut connection, kept).await;
        let mut inner = connection.begin().await.unwrap();
        effect(&mut inner, dropped).await;
        inner.rollback().await.unwrap();
        Ok::<_, Infallible>(paid())
    };
    let store = &world.0.store;
    let executed = store.run_in(store.pool(), operation("k"), handler).await;
    assert!(is_ran(&executed.unwrap()));
    assert_eq!(world.payments().await, 1);
}

/// Ends the session of this connection from another one, so that its next statement fails.
async fn end_session(connection: &mut PgConnection, pool: &sqlx::PgPool) {
    let row = connection
        .fetch_one("SELECT pg_backend_pid()")
        .await
        .unwrap();
    let pid: i32 = sqlx::Row::get(&row, 0);
    let end = format!("SELECT pg_terminate_backend({pid}, 5000)");
    let end = sqlx::raw_sql(AssertSqlSafe(end));
    pool.execute(end).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_is_lost_before_the_commit_has_not_applied_anything() {
    let world = World::open(Way::pool(2)).await;
    let store = &world.0.store;
    for answers in [true, false] {
        let (pool, insert) = (store.pool().clone(), world.insert("k"));
        let handler = async move |mut connection: EffectConnection, _: Reserved| {
            effect(&mut connection, insert).await;
            end_session(&mut connection, &pool).await;
            if answers {
                Ok(paid())
            } else {
                Err("out of stock")
            }
        };
        match store.run_in(store.pool(), operation("k"), handler).await {
            Err(RunInError::Store(error)) if answers => {
                assert_eq!(error.applied(), Applied::No, "{error:?}");
            }
            // The handler's own error is not lost with the connection.
            Err(RunInError::Handler("out of stock")) if !answers => {}
            other => panic!("{other:?}"),
        }
        assert!(world.is_vacant("k").await);
        assert_eq!(world.payments().await, 0);
    }
}

#[tokio::test]
async fn a_connection_that_the_handler_keeps_rolls_back() {
    let world = World::open(Way::pool(2)).await;
    let store = &world.0.store;
    let (keep, mut kept) = tokio::sync::mpsc::channel(1);
    let insert = world.insert("k");
    let handler = async move |mut connection: EffectConnection, _: Reserved| {
        effect(&mut connection, insert).await;
        keep.send(connection).await.unwrap();
        Ok::<_, Infallible>(paid())
    };
    let refused = store.run_in(store.pool(), operation("k"), handler).await;
    assert!(
        matches!(refused, Err(RunInError::Store(error)) if error.applied() == Applied::Unknown)
    );
    drop(kept.recv().await);
    assert!(is_ran(&world.pay("k", paid().into()).await.unwrap()));
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn a_transaction_waits_for_locks_afterwards_as_it_did_before() {
    let world = World::open(Way::pool(3)).await;
    let store = &world.0.store;
    let mut holding = store.pool().begin().await.unwrap();
    let held = store
        .reserve_in(&mut holding, &request("held"), Duration::MAX)
        .await;
    assert!(matches!(held.unwrap(), Outcome::Reserved { .. }));
    let mut own = store.pool().begin().await.unwrap();
    own.execute("SET LOCAL lock_timeout = '7s'").await.unwrap();
    for (key, is_reserved) in [("free", true), ("held", false)] {
        let wait = Duration::from_millis(5);
        let outcome = store
            .reserve_in(&mut own, &request(key), wait)
            .await
            .unwrap();
        assert_eq!(matches!(outcome, Outcome::Reserved { .. }), is_reserved);
        let row = own.fetch_one("SHOW lock_timeout").await.unwrap();
        assert_eq!(sqlx::Row::get::<String, _>(&row, 0), "7s", "{key}");
    }
}
