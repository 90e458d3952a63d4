//! What a cache spares the database, counted at the server.

use idem_core::{Cached, Executed, IdempotencyStore as _, Outcome, Response};
use idem_postgres::{EffectConnection, Reserved, Statements, Transactions, sqlx};
use tokio::sync::oneshot;

use crate::nodes::{PATIENCE, a_cache};
use crate::support::statistics::Statistics;
use crate::{operation, paid, request, reserve};

const REPEATS: usize = 20;

/// Two nodes before a server that counts, and a Redis between them. A busy machine must neither turn the cache off nor
/// outlive a mark.
macro_rules! nodes {
    ($statistics:ident, $a:ident, $b:ident) => {
        let mut $statistics = Statistics::start();
        let store = $statistics.store(4, Statements::Prepared).await;
        let (cache, _) = a_cache().await;
        let $a = Cached::new(store, cache)
            .cache_timeout(PATIENCE)
            .marks(PATIENCE);
        let $b = $a.clone();
        $statistics.new_statements();
    };
}

#[tokio::test]
async fn repeats_of_what_runs_and_of_what_was_answered_reach_no_database() {
    nodes!(statistics, a, b);
    let first = request("k");
    let holder = reserve(&a, &first).await;
    assert_eq!(statistics.new_statements().len(), 1);
    for _ in 0..REPEATS {
        let repeat = b.reserve(&request("k")).await.unwrap();
        assert!(matches!(repeat, Outcome::Conflict { .. }), "{repeat:?}");
    }
    assert_eq!(statistics.new_statements(), Vec::<String>::new());
    a.complete(&holder, &paid().into()).await.unwrap();
    assert_eq!(statistics.new_statements().len(), 1);
    for _ in 0..REPEATS {
        let Outcome::Replay(replay) = b.reserve(&request("k")).await.unwrap() else {
            panic!("no replay")
        };
        assert_eq!(replay.answer, paid().into());
    }
    assert_eq!(statistics.new_statements(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_open_no_transaction() {
    nodes!(statistics, a, b);
    let pool = a.store().pool().clone();
    let (runs, running) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let effect = async move |_: EffectConnection, _: Reserved| {
        runs.send(()).unwrap();
        may_go_on.await.unwrap();
        Ok::<Response, sqlx::Error>(paid())
    };
    let never = async |_: EffectConnection, _: Reserved| -> Result<Response, sqlx::Error> {
        panic!("it runs twice")
    };
    let transactions = Transactions::behind(&a);
    let its_pool = pool.clone();
    let first =
        tokio::spawn(async move { transactions.run_in(&its_pool, operation("k"), effect).await });
    running.await.unwrap();
    let begun = statistics.new_statements();
    let begins = begun.iter().filter(|line| line.ends_with("BEGIN")).count();
    assert_eq!(begins, 1, "{begun:?}");

    let repeat = async || {
        let repeat = Transactions::behind(&b).run_in(&pool, operation("k"), never);
        repeat.await.unwrap()
    };
    for _ in 0..REPEATS {
        let repeat = repeat().await;
        assert!(matches!(repeat, Executed::Conflict { .. }), "{repeat:?}");
    }
    assert_eq!(statistics.new_statements(), Vec::<String>::new());
    go_on.send(()).unwrap();
    let ran = first.await.unwrap().unwrap();
    assert!(matches!(ran, Executed::Ran { .. }), "{ran:?}");
    statistics.new_statements();
    for _ in 0..REPEATS {
        let Executed::Replayed(replay) = repeat().await else {
            panic!("no replay")
        };
        assert_eq!(replay.answer, paid().into());
    }
    assert_eq!(statistics.new_statements(), Vec::<String>::new());
}
