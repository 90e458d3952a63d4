//! A cache before transactions: it has no answer that was not committed, and refuses for no longer than a mark.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem_core::{
    Cached, Entry, Executed, Idempotency, IdempotencyStore as _, Outcome, Response, RunInError,
    Settled, Verdict,
};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Transactions};
use idem_redis::RedisCache;
use tokio::sync::oneshot;

use crate::nodes::{Nodes, PATIENCE};
use crate::{operation, paid, request};

/// A busy machine must not outlive it.
const LONGEST_MARK: Duration = PATIENCE;

fn node(nodes: &Nodes) -> Cached<PostgresStore, RedisCache> {
    nodes.node().marks(LONGEST_MARK)
}

type Ran = Result<Executed, RunInError<sqlx::Error>>;

/// Runs at one node of several.
async fn run<F, V>(
    nodes: &Nodes,
    key: &str,
    effect: impl FnOnce(EffectConnection, Reserved) -> F + Send + 'static,
) -> Ran
where
    F: Future<Output = Result<V, sqlx::Error>> + Send,
    V: Into<Settled> + Send + 'static,
{
    let transactions = Transactions::behind(&node(nodes));
    let pool = nodes.database.store.pool();
    transactions.run_in(pool, operation(key), effect).await
}

async fn pay(_: EffectConnection, _: Reserved) -> Result<Response, sqlx::Error> {
    Ok(paid())
}

async fn known(nodes: &Nodes, key: &str) -> Option<Outcome> {
    node(nodes).look_up(&operation(key)).await
}

#[tokio::test]
async fn what_rolled_back_is_neither_an_answer_nor_in_the_way() {
    let nodes = Nodes::open().await;
    let failed =
        async |_: EffectConnection, _: Reserved| Err::<Response, _>(sqlx::Error::RowNotFound);
    let failed = run(&nodes, "failed", failed).await;
    assert!(matches!(failed, Err(RunInError::Handler(_))), "{failed:?}");
    let undone = async |_: EffectConnection, _: Reserved| Ok(Settled::RollBack(paid()));
    run(&nodes, "undone", undone).await.unwrap();
    let panics = async |_: EffectConnection, _: Reserved| -> Result<Response, sqlx::Error> {
        panic!("planted")
    };
    let panicked = run(&nodes, "panicked", panics).await;
    assert!(matches!(panicked, Err(RunInError::Panicked(_))));
    for key in ["failed", "undone", "panicked"] {
        assert_eq!(known(&nodes, key).await, None, "{key}");
        // The transaction of a handler that panicked is still being rolled back.
        let again = node(&nodes);
        let again = Transactions::behind(&again).wait(Duration::from_secs(20));
        let pool = nodes.database.store.pool();
        let again = again.run_in(pool, operation(key), pay).await.unwrap();
        assert!(matches!(again, Executed::Ran { .. }), "{key}: {again:?}");
    }
}

#[tokio::test]
async fn a_commit_that_is_refused_leaves_no_answer() {
    let nodes = Nodes::open().await;
    let schema = &nodes.database.schema;
    let table = format!("CREATE TABLE {schema}.once (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    nodes.database.run(&table).await;
    let insert = AssertSqlSafe(format!("INSERT INTO {schema}.once VALUES (1), (1)"));
    let twice = async move |mut connection: EffectConnection, _: Reserved| {
        connection.execute(sqlx::raw_sql(insert)).await?;
        Ok::<_, sqlx::Error>(paid())
    };
    let refused = run(&nodes, "k", twice).await;
    assert!(matches!(refused, Err(RunInError::Store(_))), "{refused:?}");
    assert_eq!(known(&nodes, "k").await, None);
    let again = run(&nodes, "k", pay).await.unwrap();
    assert!(matches!(again, Executed::Ran { .. }), "{again:?}");
}

/// As when its process died between the commit and the put.
#[tokio::test]
async fn what_was_committed_and_not_kept_is_kept_by_the_next_repeat() {
    let nodes = Nodes::open().await;
    let store = &nodes.database.store;
    let ran = store.run_in(store.pool(), operation("k"), pay).await;
    assert!(matches!(ran, Ok(Executed::Ran { .. })));
    assert_eq!(known(&nodes, "k").await, None);
    let repeat = run(&nodes, "k", pay).await.unwrap();
    assert_eq!(repeat.response(), Some(&paid()));
    let known = known(&nodes, "k").await;
    assert!(matches!(known, Some(Outcome::Replay(replay)) if replay.answer == paid().into()));
}

/// A mark that is left by a process that died, and one that lands after the commit.
#[tokio::test]
async fn a_mark_that_is_left_refuses_until_it_ends() {
    let nodes = Nodes::open().await;
    let leave = async |key: &str| {
        let front = node(&nodes).front();
        front.reserved(&request(key), Duration::ZERO).await;
    };
    run(&nodes, "landed", pay).await.unwrap();
    for key in ["died", "landed"] {
        leave(key).await;
        let refused = run(&nodes, key, pay).await.unwrap();
        let Executed::Conflict { retry_after } = refused else {
            panic!("{key}: {refused:?}")
        };
        assert!(retry_after.unwrap() <= LONGEST_MARK, "{retry_after:?}");
    }
    nodes.advance(LONGEST_MARK).await;
    let ran = run(&nodes, "died", pay).await.unwrap();
    assert!(matches!(ran, Executed::Ran { .. }), "{ran:?}");
    let replayed = run(&nodes, "landed", pay).await.unwrap();
    assert!(matches!(replayed, Executed::Replayed(_)), "{replayed:?}");
}

#[tokio::test]
async fn who_is_to_wait_for_the_commit_waits_and_replays() {
    let nodes = Nodes::open().await;
    let (runs, running) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let first = async move |_: EffectConnection, _: Reserved| {
        runs.send(()).unwrap();
        may_go_on.await.unwrap();
        Ok::<_, sqlx::Error>(paid())
    };
    let waiting = async {
        running.await.unwrap();
        assert!(known(&nodes, "k").await.is_some(), "it is marked");
        let node = node(&nodes);
        let waits = Transactions::behind(&node).wait(Duration::from_secs(20));
        let pool = nodes.database.store.pool();
        let second = waits.run_in(pool, operation("k"), pay);
        let blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let released = async {
            let deadline = Instant::now() + Duration::from_secs(20);
            while nodes.database.number(blocked).await == 0 {
                assert!(Instant::now() < deadline, "it does not wait");
            }
            go_on.send(()).unwrap();
        };
        tokio::join!(second, released).0
    };
    let (first, second) = tokio::join!(run(&nodes, "k", first), waiting);
    assert!(matches!(first, Ok(Executed::Ran { .. })), "{first:?}");
    assert!(matches!(second, Ok(Executed::Replayed(_))), "{second:?}");
}

/// Reserved through the cache, and completed in a transaction of the caller's own.
#[tokio::test]
async fn three_steps_may_tell_the_cache_and_need_not() {
    let nodes = Nodes::open().await;
    for (key, tells) in [("told", true), ("not told", false)] {
        let idempotency = Idempotency::new(node(&nodes));
        let Entry::Won(held) = idempotency.reserve(&operation(key)).await.unwrap() else {
            panic!("not reserved")
        };
        let reservation = held.reservation().clone();
        let (store, front) = (&nodes.database.store, node(&nodes).front());
        reservation.stop_heartbeat().await;
        if tells {
            front.ends(&operation(key).record).await;
        }
        let transaction = store.pool().begin().await.unwrap();
        let committed = store.commit_in(transaction, &reservation, &paid()).await;
        let remembered_for = committed.unwrap();
        if tells {
            front
                .committed(
                    &operation(key),
                    &paid().into(),
                    remembered_for,
                    Duration::ZERO,
                )
                .await;
        }
        held.finish(Verdict::AlreadyRecorded(paid())).await;
    }
    let told = known(&nodes, "told").await;
    assert!(matches!(told, Some(Outcome::Replay(_))), "{told:?}");
    let not_told = known(&nodes, "not told").await;
    assert!(
        matches!(not_told, Some(Outcome::Conflict { .. })),
        "{not_told:?}"
    );
    nodes.advance(LONGEST_MARK).await;
    let repeat = node(&nodes).reserve(&request("not told")).await.unwrap();
    assert!(matches!(repeat, Outcome::Replay(_)), "{repeat:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_many_nodes_exactly_one_has_its_effect() {
    static EFFECTS: AtomicUsize = AtomicUsize::new(0);
    let nodes = Nodes::open().await;
    for round in 0..5 {
        let key = format!("k{round}");
        let pool = nodes.database.store.pool().clone();
        let at_once = (0..20).map(|_| {
            let (transactions, pool) = (Transactions::behind(&node(&nodes)), pool.clone());
            let operation = operation(&key);
            tokio::spawn(async move {
                let count = async |_: EffectConnection, _: Reserved| {
                    EFFECTS.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, sqlx::Error>(paid())
                };
                transactions.run_in(&pool, operation, count).await
            })
        });
        let mut ran = 0;
        for one in at_once.collect::<Vec<_>>() {
            match one.await.unwrap().unwrap() {
                Executed::Ran { .. } => ran += 1,
                Executed::Replayed(replay) => assert_eq!(replay.answer, paid().into()),
                Executed::Conflict { .. } => {}
                Executed::Mismatch => panic!("they are the same"),
            }
        }
        assert_eq!((ran, EFFECTS.load(Ordering::Relaxed)), (1, round + 1));
    }
}
