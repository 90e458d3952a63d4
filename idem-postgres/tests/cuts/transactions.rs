//! Each of the two ways in a transaction, cut at each of its requests: effect and answer are there
//! together or not at all, the caller is told which as far as it can be known, and the same operation,
//! asked again, ends with one effect and one answer.

use std::time::Duration;

use idem_core::{
    Applied, Condition, ExecuteError, Executed, Idempotency, Inspect as _, Recorded, Reservation,
    Response, Verdict,
};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, RunInError};
use testkit::Fault;
use tokio::time::timeout;

use crate::line::{FAULTS, Line, is_before};
use crate::operation;

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    RunIn,
    CompleteIn,
}

/// What the caller was told.
#[derive(Debug)]
enum Told {
    Answer(Response),
    /// Nothing was applied, says the library.
    NotApplied,
    /// It may have been applied, says the library.
    Unknown,
    InConflict,
}

/// A payment; `run` tells its answer from those of other runs.
async fn pay(
    way: Way,
    store: &PostgresStore,
    pool: &PgPool,
    line: &Line,
    key: &str,
    run: u32,
) -> Told {
    let response = Response::new(201).body(format!("run {run}"));
    let insert = format!(
        "INSERT INTO {}.payments VALUES ('{key}', 'run {run}')",
        line.direct.schema
    );
    match way {
        Way::RunIn => {
            let handler = async move |mut connection: EffectConnection, _: Reserved| {
                let insert = sqlx::raw_sql(AssertSqlSafe(insert));
                connection.execute(insert).await?;
                Ok::<_, sqlx::Error>(response)
            };
            match store.run_in(pool, operation(key), handler).await {
                Ok(executed) => told(&executed),
                // The handler's own error: it rolled back.
                Err(RunInError::Handler(_)) => Told::NotApplied,
                Err(RunInError::Store(error)) if error.applied() == Applied::No => Told::NotApplied,
                Err(RunInError::Store(_)) => Told::Unknown,
                Err(error) => panic!("{error:?}"),
            }
        }
        // The store itself is asked by the good line: the transaction is what is cut.
        Way::CompleteIn => {
            let idempotency = Idempotency::builder(line.direct.store.clone())
                .no_heartbeat()
                .build()
                .unwrap();
            let handler = async |reservation: Reservation| {
                let mut transaction = pool.begin().await?;
                let insert = sqlx::raw_sql(AssertSqlSafe(insert));
                transaction.execute(insert).await?;
                let answer = response.clone();
                store
                    .complete_in(&mut transaction, &reservation, &answer)
                    .await?;
                transaction.commit().await?;
                Ok::<_, Box<dyn std::error::Error>>(Verdict::AlreadyRecorded(response))
            };
            match idempotency.execute(&operation(key), handler).await {
                Ok(executed) => told(&executed),
                // The executor has abandoned: it found no answer.
                Err(ExecuteError::Handler(_)) => Told::NotApplied,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

fn told(executed: &Executed) -> Told {
    match executed {
        Executed::Ran {
            response,
            recorded: Recorded::Completed { .. } | Recorded::ByHandler,
        } => Told::Answer(response.clone()),
        Executed::Replayed(_) => Told::Answer(executed.response().unwrap().clone()),
        Executed::Conflict {
            retry_after: Some(_),
        } => Told::InConflict,
        other => panic!("{other:?}"),
    }
}

/// The effects of the operation: how often it was paid.
async fn payments(line: &Line, key: &str) -> i64 {
    let payments = &line.direct.schema;
    let count = format!("SELECT count(*) FROM {payments}.payments WHERE key = '{key}'");
    line.direct.number(&count).await
}

/// The answer that is recorded.
async fn recorded(line: &Line, key: &str) -> Option<Response> {
    let record = line
        .direct
        .store
        .get(&operation(key).record)
        .await
        .unwrap()?;
    match record.condition {
        Condition::Completed(idem_core::Answer::Full(response)) => Some(response),
        _ => None,
    }
}

/// False if it had no request of that number. Otherwise whether the cut left the caller without an
/// answer that was there.
async fn cut(way: Way, line: &Line, nth: u64, fault: Fault) -> Option<bool> {
    let key = format!("{way:?}, request {nth}, {fault:?}");
    let store = line.through(1).await;
    let seen = line.cut(nth, fault);
    let first = pay(way, &store, store.pool(), line, &key, 1);
    let first = timeout(PATIENCE, first).await.expect("it ends");
    let is_met = seen.met().is_some();

    // Together or not at all.
    let (paid, answer) = (payments(line, &key).await, recorded(line, &key).await);
    assert_eq!(paid, i64::from(answer.is_some()), "{key}");
    match &first {
        Told::Answer(told) => assert_eq!(Some(told), answer.as_ref(), "{key}"),
        Told::NotApplied => assert_eq!(paid, 0, "{key}"),
        Told::Unknown => assert!(paid == 0 || !is_before(fault), "{key}"),
        Told::InConflict => panic!("{key}: with nobody"),
    }
    assert!(
        is_met || matches!(first, Told::Answer(_)),
        "{key}: {first:?}"
    );

    // Asked again, until the server has noticed that the line is gone.
    let direct = &line.direct.store;
    let again = async {
        loop {
            match pay(way, direct, direct.pool(), line, &key, 2).await {
                Told::InConflict => {}
                Told::Answer(told) => break told,
                other => panic!("{key}: {other:?}"),
            }
        }
    };
    let again = timeout(PATIENCE, again).await.expect("nothing is stuck");
    if let Some(answer) = &answer {
        assert_eq!(&again, answer, "{key}: it stands");
    }
    assert_eq!(payments(line, &key).await, 1, "{key}");
    assert_eq!(recorded(line, &key).await, Some(again), "{key}");
    store.pool().close().await;
    is_met.then_some(paid == 1 && !matches!(first, Told::Answer(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_cut_at_any_request_leaves_effect_and_answer_together_or_neither() {
    let line = Line::open().await;
    let schema = &line.direct.schema;
    let create = format!("CREATE TABLE {schema}.payments (key text, answer text)");
    line.direct.run(&create).await;
    for way in [Way::RunIn, Way::CompleteIn] {
        let (mut cuts, mut lost, mut last) = (0, Vec::new(), 0);
        'requests: for nth in 1.. {
            for fault in FAULTS {
                let Some(answer_lost) = cut(way, &line, nth, fault).await else {
                    break 'requests;
                };
                (cuts, last) = (cuts + 1, nth);
                if answer_lost {
                    lost.push((nth, fault));
                }
            }
        }
        println!(
            "{way:?}: {last} requests, {cuts} cuts; applied, and the caller was not told: {lost:?}"
        );
        match way {
            // Only of the commit it cannot be known.
            Way::RunIn => {
                let commit: Vec<_> = FAULTS.into_iter().filter(|f| !is_before(*f)).collect();
                let commit: Vec<_> = commit.into_iter().map(|fault| (last, fault)).collect();
                assert_eq!(lost, commit);
            }
            // The executor asks the store, and answers with what stands.
            Way::CompleteIn => assert_eq!(lost, []),
        }
    }
}
