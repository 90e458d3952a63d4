//! What it costs to call a provider inside a transaction: a pool of 2, 8 callers at once, and a query of
//! somebody else's. With `IDEM_EFFORT=10` the provider takes a second, as in the crate's docs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod support;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use idem_core::{
    Executed, Fingerprint, Idempotency, Key, Operation, Reservation, Response, Scope, Verdict,
};
use idem_postgres::sqlx::{Executor as _, PgPool};
use idem_postgres::{EffectConnection, PostgresStore, Reserved};
use support::{Isolated, Way};
use testkit::{effort, until};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const POOL: u32 = 2;
const CALLERS: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Reserve and commit; the provider; result and answer in one commit.
    ThreeSteps,
    /// What the docs say never to do.
    InsideTheTransaction,
}

/// A payment in this flow; `provider` is called once.
async fn pay<P>(flow: Flow, store: PostgresStore, number: u32, provider: P) -> Executed
where
    P: Future<Output = ()> + Send + 'static,
{
    let operation = Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(format!("{flow:?}-{number}")).unwrap(),
        Fingerprint::raw("150.00"),
    );
    let paid = Response::new(201).body("paid");
    match flow {
        Flow::InsideTheTransaction => {
            let handler = async move |_: EffectConnection, _: Reserved| {
                provider.await;
                Ok::<_, Infallible>(paid)
            };
            store
                .run_in(store.pool(), operation, handler)
                .await
                .unwrap()
        }
        Flow::ThreeSteps => {
            let handler = async |reservation: Reservation| {
                provider.await;
                let mut transaction = store.pool().begin().await.unwrap();
                let answer = paid.clone();
                let completing = store.complete_in(&mut transaction, &reservation, &answer);
                completing.await.unwrap();
                transaction.commit().await.unwrap();
                Ok::<_, Infallible>(Verdict::AlreadyRecorded(paid))
            };
            let idempotency = Idempotency::new(store.clone());
            idempotency.execute(&operation, handler).await.unwrap()
        }
    }
}

/// All callers at once; the provider says that it was called, and then takes its time.
fn callers<P>(
    flow: Flow,
    store: &PostgresStore,
    called: &Arc<Semaphore>,
    takes: impl Fn() -> P,
) -> JoinSet<Executed>
where
    P: Future<Output = ()> + Send + 'static,
{
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let (called, takes) = (Arc::clone(called), takes());
        let provider = async move {
            called.add_permits(1);
            takes.await;
        };
        callers.spawn(pay(flow, store.clone(), number, provider));
    }
    callers
}

/// Until so many providers are at work.
async fn at_work(called: &Semaphore, many: u32) {
    let waiting = tokio::time::timeout(PATIENCE, called.acquire_many(many));
    waiting.await.unwrap().unwrap().forget();
}

async fn ended(callers: JoinSet<Executed>) {
    for executed in callers.join_all().await {
        assert!(matches!(executed, Executed::Ran { .. }), "{executed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_inside_the_transaction_takes_the_whole_pool_and_beside_it_none() {
    for flow in [Flow::ThreeSteps, Flow::InsideTheTransaction] {
        let isolated = Isolated::open(Way::pool(POOL)).await;
        let pool = isolated.store.pool();
        let called = Arc::new(Semaphore::new(0));
        let gate = Arc::new(Semaphore::new(0));
        let running = callers(flow, &isolated.store, &called, || {
            let gate = Arc::clone(&gate);
            async move { gate.acquire().await.unwrap().forget() }
        });
        match flow {
            Flow::ThreeSteps => {
                at_work(&called, CALLERS).await;
                // They come back to the pool a moment later.
                let all = POOL as usize;
                let idle = || (pool.num_idle() == all).then_some(());
                tokio::task::block_in_place(|| until("an idle pool", PATIENCE, idle));
                assert!(pool.try_acquire().is_some());
            }
            Flow::InsideTheTransaction => {
                at_work(&called, POOL).await;
                assert_eq!((pool.size(), pool.num_idle()), (POOL, 0));
                assert!(
                    pool.try_acquire().is_none(),
                    "nobody else gets a connection"
                );
                assert_eq!(called.available_permits(), 0, "nor do the other callers");
            }
        }
        gate.add_permits(CALLERS as usize);
        ended(running).await;
    }
}

/// How long all callers take, and how long a query waits meanwhile that has nothing to do with them.
async fn measured(flow: Flow, takes: Duration) -> (Duration, Duration) {
    let isolated = Isolated::open(Way::pool(POOL)).await;
    let pool: &PgPool = isolated.store.pool();
    let called = Arc::new(Semaphore::new(0));
    let begun = Instant::now();
    let running = callers(flow, &isolated.store, &called, move || async move {
        tokio::time::sleep(takes).await; // why: this is the provider, and it takes so long
    });
    at_work(&called, POOL).await;
    let asked = Instant::now();
    pool.execute("SELECT 1").await.unwrap();
    let waited = asked.elapsed();
    ended(running).await;
    (begun.elapsed(), waited)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_measured_cost_of_a_provider_inside_a_transaction() {
    let provider = match effort() {
        1..10 => Duration::from_millis(200),
        _ => Duration::from_secs(1),
    };
    let (steps, steps_wait) = measured(Flow::ThreeSteps, provider).await;
    let (inside, inside_wait) = measured(Flow::InsideTheTransaction, provider).await;
    println!(
        "a pool of {POOL}, {CALLERS} callers, a provider that takes {provider:?}: \
         in three steps {steps:.2?}, and an unrelated query waits {steps_wait:.2?}; \
         inside the transaction {inside:.2?}, and it waits {inside_wait:.2?}: {:.1} times as long",
        inside.as_secs_f64() / steps.as_secs_f64(),
    );
    // Two at a time, whatever the machine does besides.
    assert!(inside >= provider * (CALLERS / POOL));
}
