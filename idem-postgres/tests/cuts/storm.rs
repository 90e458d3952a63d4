//! Many callers over a line that is cut, slow and late at random: no effect twice, no acknowledged answer
//! lost or changed, nothing stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_core::{
    Executed, Idempotency, Inspect as _, Recorded, Reservation, Response, Terms, Verdict,
};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool, Row as _};
use idem_postgres::{EffectConnection, PostgresStore, Reserved};
use testkit::{Fault, Plan, Seed, effort};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::line::Line;
use crate::operation;

const TEST: &str = "a_storm_of_cuts_loses_no_answer_and_repeats_no_effect";
/// Shorter than the longest delay: writes arrive that are too late.
const LEASE: Duration = Duration::from_millis(150);
const LATE: Duration = Duration::from_millis(450);
const OPERATIONS: u64 = 120;
/// Of each operation, at the same time.
const COPIES: u64 = 2;
const AT_ONCE: usize = 12;
const PATIENCE: Duration = Duration::from_secs(60);

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// In the test's own process: it knows a key again.
#[derive(Default)]
struct Provider {
    charges: Mutex<BTreeMap<String, u64>>,
}

impl Provider {
    fn charge(&self, key: &str) {
        *self
            .charges
            .lock()
            .unwrap()
            .entry(key.to_owned())
            .or_default() += 1;
    }
}

struct Service {
    store: PostgresStore,
    idempotency: Idempotency,
    provider: Provider,
    payments: String,
    runs: AtomicU64,
}

impl Service {
    fn new(store: PostgresStore, payments: &str) -> Self {
        let idempotency = Idempotency::builder(store.clone())
            .lease(LEASE)
            .retention(Duration::from_secs(3600))
            .store_timeouts(Duration::from_millis(250), Duration::from_secs(1))
            .build()
            .unwrap();
        Self {
            store,
            idempotency,
            provider: Provider::default(),
            payments: payments.to_owned(),
            runs: AtomicU64::new(0),
        }
    }

    /// The answer, if one may rely on it. The number decides on the way; every run has an answer of its
    /// own.
    async fn pay(&self, number: u64) -> Option<String> {
        let key = format!("op-{number}");
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let response = Response::new(201).body(format!("run {run}"));
        let executed = match number % 3 {
            0 => self.plain(&key, response).await,
            1 => self.three_steps(&key, response).await,
            _ => self.one_transaction(&key, response).await,
        };
        match executed.ok()? {
            // An answer that nobody has acknowledged may be another one later.
            Executed::Ran {
                recorded: Recorded::Unrecorded,
                ..
            }
            | Executed::Conflict { .. } => None,
            Executed::Mismatch => panic!("{key}: nobody asked for anything else"),
            executed => {
                let response = executed.response().unwrap();
                Some(String::from_utf8(response.body_bytes().to_vec()).unwrap())
            }
        }
    }

    async fn plain(&self, key: &str, response: Response) -> Result<Executed, Failed> {
        let handler = async |reservation: Reservation| {
            self.provider
                .charge(reservation.derived_key("charge").as_str());
            Ok::<_, Failed>(response)
        };
        let executed = self.idempotency.execute(&operation(key), handler).await;
        executed.map_err(|error| error.to_string().into())
    }

    async fn three_steps(&self, key: &str, response: Response) -> Result<Executed, Failed> {
        let handler = async |reservation: Reservation| {
            self.provider
                .charge(reservation.derived_key("charge").as_str());
            reservation.stop_heartbeat().await;
            let mut transaction = self.store.pool().begin().await?;
            transaction.execute(self.insert(key, &response)).await?;
            let answer = response.clone();
            self.store
                .complete_in(&mut transaction, &reservation, &answer)
                .await?;
            transaction.commit().await?;
            Ok::<_, Failed>(Verdict::AlreadyRecorded(response))
        };
        let executed = self.idempotency.execute(&operation(key), handler).await;
        executed.map_err(|error| error.to_string().into())
    }

    async fn one_transaction(&self, key: &str, response: Response) -> Result<Executed, Failed> {
        let insert = self.insert(key, &response);
        let handler = async move |mut connection: EffectConnection, _: Reserved| {
            connection.execute(insert).await?;
            Ok::<_, sqlx::Error>(response)
        };
        let terms = Terms::new(LEASE, Duration::from_secs(3600)).unwrap();
        let transactions = self.store.transactions().terms(terms);
        let running = transactions.run_in(self.store.pool(), operation(key), handler);
        running.await.map_err(|error| error.to_string().into())
    }

    fn insert(&self, key: &str, response: &Response) -> sqlx::RawSql {
        let answer = String::from_utf8_lossy(response.body_bytes());
        let payments = &self.payments;
        let insert = format!("INSERT INTO {payments} VALUES ('{key}', '{answer}')");
        sqlx::raw_sql(AssertSqlSafe(insert))
    }

    /// Asked until it is answered.
    async fn pay_for_sure(&self, number: u64) -> String {
        loop {
            if let Some(answer) = self.pay(number).await {
                return answer;
            }
            // why: retries without a pause would keep the others from the connections
            sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn rows(pool: &PgPool, payments: &str) -> Vec<(String, String)> {
    let select = format!("SELECT key, answer FROM {payments}");
    let rows = pool.fetch_all(sqlx::raw_sql(AssertSqlSafe(select))).await;
    let rows = rows.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_cuts_loses_no_answer_and_repeats_no_effect() {
    let seed = Seed::of(TEST);
    let line = Line::open().await;
    let payments = format!("{}.payments", line.direct.schema);
    let create = format!("CREATE TABLE {payments} (key text, answer text)");
    line.direct.run(&create).await;
    let service = Arc::new(Service::new(line.through(8).await, &payments));
    let faults = Fault::of_every_kind(LATE);
    line.proxy.follow(Plan::seeded(&seed, 12, faults));

    let operations = OPERATIONS * effort();
    let (mut asked, mut running) = (0..operations * COPIES, JoinSet::new());
    let mut told: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(copy) = asked.next()
        {
            let service = Arc::clone(&service);
            running
                .spawn(async move { (copy / COPIES, service.pay_for_sure(copy / COPIES).await) });
        }
        let next = timeout(PATIENCE, running.join_next()).await;
        let Some(answered) = next.unwrap_or_else(|_| panic!("stuck: {seed}")) else {
            break;
        };
        let (number, answer) = answered.unwrap();
        told.entry(number).or_default().insert(answer);
    }
    let counts = line.proxy.counts();
    line.proxy.follow(Plan::none());
    println!("{operations} operations, {counts:?}; {seed}");
    assert_eq!(service.idempotency.drain(PATIENCE).await, 0);

    // Everybody was told the same, and is again.
    for (number, answers) in &told {
        let again = service.pay_for_sure(*number).await;
        assert_eq!(*answers, BTreeSet::from([again]), "op-{number}: {seed}");
    }
    // A provider's charge by one derived key, a row by itself: once.
    let rows = rows(line.direct.store.pool(), &payments).await;
    let written: BTreeMap<_, _> = rows.iter().cloned().collect();
    assert_eq!(written.len(), rows.len(), "an effect twice: {seed}");
    for (number, answers) in &told {
        if number % 3 == 0 {
            continue;
        }
        let row = written.get(&format!("op-{number}"));
        assert_eq!(row, answers.first(), "op-{number}: {seed}");
    }
    let charged = service.provider.charges.lock().unwrap().len() as u64;
    assert_eq!(
        charged,
        (0..operations).filter(|n| n % 3 < 2).count() as u64
    );
    let lapsed = line.direct.store.lapsed(None, 10).await.unwrap();
    assert_eq!(lapsed.records, []);
    let cut = counts.requests_dropped + counts.requests_cut;
    let lost = counts.answers_dropped + counts.answers_cut;
    assert!(
        cut >= operations / 10 && lost >= operations / 10,
        "{counts:?}"
    );
}
