//! A server for the test binary, and a schema in it for each store.
#![allow(dead_code, reason = "each test binary needs a part")]

pub(crate) mod requests;
pub(crate) mod statistics;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_postgres::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use idem_postgres::sqlx::{self, AssertSqlSafe, Executor as _, PgPool, Row as _};
use idem_postgres::{PostgresStore, Statements, Table};
use testkit::{PgBouncer, Postgres};

/// Never dropped: the rig ends it with the process.
pub(crate) static SERVER: LazyLock<Postgres> = LazyLock::new(|| {
    Postgres::builder()
        .setting("max_connections", "500")
        .setting("shared_buffers", "256MB")
        .start()
});

/// Fewer sessions than clients, and each transaction in another one than that before.
pub(crate) static BOUNCER: LazyLock<PgBouncer> = LazyLock::new(|| {
    PgBouncer::builder()
        .setting("default_pool_size", "5")
        .setting("server_round_robin", "1")
        .start(&SERVER)
});

static SCHEMAS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn options() -> PgConnectOptions {
    PgConnectOptions::new()
        .socket(SERVER.socket_folder())
        .port(SERVER.port_number())
        .username("postgres")
        .database("postgres")
}

/// Through a PgBouncer.
pub(crate) fn behind(bouncer: &PgBouncer) -> PgConnectOptions {
    options()
        .socket(bouncer.socket_folder())
        .port(bouncer.port_number())
        .extra_float_digits(None)
}

/// How a store is opened.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    connections: u32,
    isolation: &'static str,
    statements: Statements,
    pooled: bool,
}

impl Way {
    pub(crate) fn pool(connections: u32) -> Self {
        Self {
            connections,
            isolation: "read committed",
            statements: Statements::Prepared,
            pooled: false,
        }
    }

    /// Through [`BOUNCER`], where nothing can be prepared.
    pub(crate) fn behind_pgbouncer(connections: u32) -> Self {
        Self {
            pooled: true,
            ..Self::pool(connections).statements(Statements::Text)
        }
    }

    pub(crate) fn isolation(self, isolation: &'static str) -> Self {
        Self { isolation, ..self }
    }

    pub(crate) fn statements(self, statements: Statements) -> Self {
        Self { statements, ..self }
    }

    pub(crate) async fn connect(self) -> PgPool {
        let options = if self.pooled {
            // It takes no options from clients.
            behind(&BOUNCER)
        } else {
            let options = options().options([("default_transaction_isolation", self.isolation)]);
            // Where values stand in the statement, it must not matter how strings are read.
            match self.statements {
                Statements::Prepared => options,
                Statements::Text => options.options([("standard_conforming_strings", "off")]),
            }
        };
        PgPoolOptions::new()
            .max_connections(self.connections)
            .acquire_timeout(Duration::from_secs(20))
            .test_before_acquire(false)
            .connect_with(options)
            .await
            .unwrap()
    }
}

/// A store in a schema of its own. Dropped, its pool closes behind it.
pub(crate) struct Isolated {
    pub(crate) store: PostgresStore,
    pub(crate) table: Table,
    /// The schema, and the table in it.
    pub(crate) schema: String,
    pub(crate) name: String,
    way: Way,
}

impl Isolated {
    pub(crate) async fn open(way: Way) -> Self {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("s{number}");
        let table = Table::default().in_schema(&schema).unwrap();
        let pool = way.connect().await;
        PostgresStore::migrate(&pool, &table).await.unwrap();
        let store = PostgresStore::open_with(pool, table.clone(), way.statements).await;
        Self {
            store: store.unwrap(),
            name: format!("{schema}.idempotency_records"),
            table,
            schema,
            way,
        }
    }

    pub(crate) async fn reopen(self) -> Self {
        self.store.pool().close().await;
        let pool = self.way.connect().await;
        let store = PostgresStore::open_with(pool, self.table.clone(), self.way.statements).await;
        Self {
            store: store.unwrap(),
            ..self
        }
    }

    /// Moves the instants in the records back.
    pub(crate) async fn advance(&self, by: Duration) {
        let (name, by) = (&self.name, by.as_millis());
        self.run(&format!(
            "UPDATE {name} SET first_reserved_at = first_reserved_at - {by}, \
             last_reserved_at = last_reserved_at - {by}, lease_ends_at = lease_ends_at - {by}, \
             retention_ends_at = retention_ends_at - {by}, purge_at = purge_at - {by}"
        ))
        .await;
    }

    /// So many copies of a record of the store's own, with keys of their own, that expire `later` (in
    /// milliseconds, as SQL) than it, a millisecond apart, and not in the order in which they lie in the
    /// table.
    pub(crate) async fn copy(&self, of: &str, prefix: &str, count: u64, later: &str) {
        let name = &self.name;
        self.run(&format!(
            "INSERT INTO {name} SELECT scope, convert_to('{prefix}' || md5(n::text), 'UTF8'), fingerprint, \
             fingerprint_version, token, attempt, state, hold, started, first_reserved_at, last_reserved_at, \
             lease_ends_at + ({later}), retention, retention_ends_at + ({later}) + at, \
             purge_at + ({later}) + at, revision, written_at, progress, status, answer, body_length \
             FROM {name}, generate_series(1, {count}) AS n, LATERAL (SELECT n::bigint * 7919 % {count} AS at) AS a \
             WHERE key = '{of}'"
        ))
        .await;
    }

    /// Runs SQL of the test's own, in a transaction that fails for nobody else's sake.
    pub(crate) async fn run(&self, sql: &str) {
        for _ in 0..100 {
            let text = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
            match self.store.pool().execute(text).await {
                Ok(_) => return,
                // Under a strict isolation level others may be in the way.
                Err(error)
                    if error
                        .as_database_error()
                        .is_some_and(|e| e.code().as_deref() == Some("40001")) => {}
                Err(error) => panic!("{sql}: {error}"),
            }
        }
        panic!("others are in the way each time: {sql}");
    }

    /// One number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let text = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let row = self.store.pool().fetch_one(text).await.unwrap();
        row.try_get::<i64, _>(0).unwrap()
    }
}
