//! Payments, each done in one of the ways that the crate's docs tell, or wrong in one way.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use idem_core::{
    Executed, Fingerprint, Idempotency, Key, Operation, Recorded, Reservation, Response, Scope,
    Terms, Verdict,
};
use idem_postgres::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool};
use idem_postgres::{EffectConnection, PostgresStore, Reserved, Table};
use testkit::{LedgerClient, Marker};
use tokio::task::block_in_place;

use crate::child::Job;

/// Who is killed leaves its operations alone for so long.
const LEASE: Duration = Duration::from_millis(250);
const RETENTION: Duration = Duration::from_secs(3600);

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// How a payment is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The executor reserves; the provider charges, by the derived key; the executor records.
    Plain,
    /// The same, but result and answer commit together, by `complete_in`.
    ThreeSteps,
    /// Key and effect in one commit, by `run_in`.
    OneTransaction,
    /// Planted: three steps, and the provider is not given the derived key.
    WithoutDerivedKey,
    /// Planted: the effect of the one transaction is written outside of it.
    EffectOutside,
    /// Planted: the answer is recorded first, then the effect happens.
    AnswerFirst,
}

impl Way {
    pub(crate) const ALL: [Self; 6] = [
        Self::Plain,
        Self::ThreeSteps,
        Self::OneTransaction,
        Self::WithoutDerivedKey,
        Self::EffectOutside,
        Self::AnswerFirst,
    ];

    /// Whether the effect is at the provider.
    pub(crate) fn charges(self) -> bool {
        matches!(
            self,
            Self::Plain | Self::ThreeSteps | Self::WithoutDerivedKey
        )
    }

    /// Whether the effect, or its result, is a row.
    pub(crate) fn writes_rows(self) -> bool {
        self != Self::Plain
    }

    /// Where to kill it: between effect and completion the most often.
    pub(crate) fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[
                "received",
                "charged",
                "reserved",
                "charging",
                "charged",
                "completed",
            ],
            Self::ThreeSteps | Self::WithoutDerivedKey => &[
                "received",
                "charged",
                "reserved",
                "charging",
                "written",
                "completed",
            ],
            Self::OneTransaction | Self::EffectOutside | Self::AnswerFirst => {
                &["received", "effected", "reserved", "effected", "completed"]
            }
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The operation that a client calls by this name.
pub(crate) fn operation(name: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(name).unwrap(),
        Fingerprint::raw("150.00 BRL"),
    )
}

pub(crate) struct Service {
    way: Way,
    store: PostgresStore,
    idempotency: Idempotency,
    rig: Arc<Rig>,
}

/// What the ways do besides.
struct Rig {
    ledger: SocketAddr,
    marker: Marker,
    payments: String,
}

impl Service {
    pub(crate) async fn open(job: &Job) -> Self {
        let options = PgConnectOptions::new()
            .socket(&job.socket_folder)
            .username("postgres")
            .database("postgres");
        let pool = PgPoolOptions::new()
            .max_connections(8)
            .test_before_acquire(false)
            .connect_with(options)
            .await
            .unwrap();
        let table = Table::default().in_schema(&job.schema).unwrap();
        let store = PostgresStore::open(pool, table).await.unwrap();
        let idempotency = Idempotency::builder(store.clone())
            .lease(LEASE)
            .retention(RETENTION)
            .build()
            .unwrap();
        Self {
            way: job.way,
            store,
            idempotency,
            rig: Arc::new(Rig {
                ledger: job.ledger,
                marker: Marker::from_env(),
                payments: format!("{}.payments", job.schema),
            }),
        }
    }

    /// What the client is told.
    pub(crate) async fn pay(&self, name: &str) -> (u16, String) {
        self.rig.reach("received", name);
        let executed = match self.way {
            Way::Plain => self.plain(name).await,
            Way::ThreeSteps | Way::WithoutDerivedKey => self.three_steps(name).await,
            Way::OneTransaction | Way::EffectOutside => self.one_transaction(name).await,
            Way::AnswerFirst => self.answer_first(name).await,
        };
        match executed {
            // An answer that nobody has acknowledged may be another one later.
            Ok(Executed::Ran {
                recorded: Recorded::Unrecorded,
                ..
            }) => (503, "not recorded".to_owned()),
            Ok(Executed::Conflict { .. }) => (409, "in flight".to_owned()),
            Ok(Executed::Mismatch) => (422, "mismatch".to_owned()),
            Ok(executed) => {
                if !executed.is_replayed() {
                    self.rig.reach("completed", name);
                }
                let response = executed.response().unwrap();
                let body = String::from_utf8(response.body_bytes().to_vec());
                (response.status(), body.unwrap())
            }
            Err(error) => (503, error.to_string()),
        }
    }

    async fn plain(&self, name: &str) -> Result<Executed, Failed> {
        let handler = async |reservation: Reservation| {
            let charge = self.charge(&reservation, name)?;
            Ok::<_, Failed>(paid(&charge, reservation.attempt()))
        };
        let executed = self.idempotency.execute(&operation(name), handler).await;
        executed.map_err(|error| error.to_string().into())
    }

    async fn three_steps(&self, name: &str) -> Result<Executed, Failed> {
        let handler = async |reservation: Reservation| {
            let charge = self.charge(&reservation, name)?;
            let response = paid(&charge, reservation.attempt());
            reservation.stop_heartbeat().await;
            let mut transaction = self.store.pool().begin().await?;
            self.rig.write(&mut transaction, name, &response).await?;
            let answer = response.clone();
            self.store
                .complete_in(&mut transaction, &reservation, &answer)
                .await?;
            self.rig.reach("written", name);
            transaction.commit().await?;
            Ok::<_, Failed>(Verdict::AlreadyRecorded(response))
        };
        let executed = self.idempotency.execute(&operation(name), handler).await;
        executed.map_err(|error| error.to_string().into())
    }

    async fn one_transaction(&self, name: &str) -> Result<Executed, Failed> {
        let (rig, name) = (Arc::clone(&self.rig), name.to_owned());
        let outside = (self.way == Way::EffectOutside).then(|| self.pool().clone());
        let operation = operation(&name);
        let handler = async move |mut connection: EffectConnection, reserved: Reserved| {
            rig.reach("reserved", &name);
            let response = paid("row", reserved.attempt());
            match outside {
                None => rig.write(&mut connection, &name, &response).await?,
                Some(pool) => {
                    let mut other = pool.acquire().await?;
                    rig.write(&mut other, &name, &response).await?;
                }
            }
            rig.reach("effected", &name);
            Ok::<_, sqlx::Error>(response)
        };
        let running = self.transactions().run_in(self.pool(), operation, handler);
        Ok(running.await?)
    }

    async fn answer_first(&self, name: &str) -> Result<Executed, Failed> {
        let handler = async |_: EffectConnection, reserved: Reserved| {
            Ok::<_, sqlx::Error>(paid("row", reserved.attempt()))
        };
        let running = self
            .transactions()
            .run_in(self.pool(), operation(name), handler);
        let executed = running.await?;
        if let Executed::Ran { response, .. } = &executed {
            self.rig.reach("recorded", name);
            let mut connection = self.pool().acquire().await?;
            self.rig.write(&mut connection, name, response).await?;
        }
        Ok(executed)
    }

    fn transactions(&self) -> idem_postgres::Transactions {
        let terms = Terms::new(LEASE, RETENTION).unwrap();
        self.store.transactions().terms(terms)
    }

    fn pool(&self) -> &PgPool {
        self.store.pool()
    }

    /// At the provider, which reports the marks before and after its effect itself.
    fn charge(&self, reservation: &Reservation, name: &str) -> Result<String, Failed> {
        self.rig.reach("reserved", name);
        let key = reservation.derived_key("charge").to_string();
        let key = (self.way != Way::WithoutDerivedKey).then_some(&*key);
        block_in_place(|| {
            let mut provider = LedgerClient::connect(&self.rig.ledger.to_string())?;
            Ok(provider.charge(name, key)?)
        })
    }
}

/// No two runs have the same answer: a record that was written twice, or lost, is seen by it.
fn paid(by: &str, attempt: u32) -> Response {
    let process = std::process::id();
    Response::new(201).body(format!("{by}, attempt {attempt}, process {process}"))
}

impl Rig {
    fn reach(&self, mark: &str, name: &str) {
        block_in_place(|| self.marker.reach(mark, name));
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        name: &str,
        response: &Response,
    ) -> Result<(), sqlx::Error> {
        let insert = format!("INSERT INTO {} VALUES ($1, $2)", self.payments);
        let answer = String::from_utf8_lossy(response.body_bytes()).into_owned();
        let insert = sqlx::query(AssertSqlSafe(insert)).bind(name).bind(answer);
        connection.execute(insert).await.map(|_| ())
    }
}
