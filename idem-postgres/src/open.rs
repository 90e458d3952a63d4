//! Opening the store: everything that can be wrong is found here, with its remedy.

use std::sync::Arc;
use std::time::Duration;

use idem_core::Error;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgPool, Row as _};

use crate::schema::{self, VERSION};
use crate::statement::{self, Statements};
use crate::{PostgresStore, Table, failure, pooler};

impl PostgresStore {
    /// Opens the store over a pool of one's own. The table must be there: see
    /// [`migrate`](Self::migrate).
    ///
    /// # Errors
    /// [Unavailable](Error::is_unavailable) if the server cannot be reached. Otherwise what is wrong and
    /// what helps: no table, a table of an older or newer version, a standby, a refused role, a pooler
    /// that mixes prepared statements up (as far as a further connection, made for the moment, shows it).
    pub async fn open(pool: PgPool, table: Table) -> Result<Self, Error> {
        Self::open_with(pool, table, Statements::Prepared).await
    }

    /// The same, with [another way](Statements) for statements to reach the server.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_with(
        pool: PgPool,
        table: Table,
        statements: Statements,
    ) -> Result<Self, Error> {
        let store = Self::of(pool, table, statements);
        store.verify().await?;
        Ok(store)
    }

    /// Opens the store over a pool that it makes: for those whose own sqlx is of another version. It has
    /// at most `connections` connections.
    ///
    /// # Errors
    /// As for [`open`](Self::open); [failed](Error::failed) if `url` is not one.
    pub async fn connect(url: &str, connections: u32, table: Table) -> Result<Self, Error> {
        Self::connect_with(url, connections, table, Statements::Prepared).await
    }

    /// The same, with [another way](Statements) for statements to reach the server.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_with(
        url: &str,
        connections: u32,
        table: Table,
        statements: Statements,
    ) -> Result<Self, Error> {
        let options: PgConnectOptions = url.parse().map_err(failure::of_connection)?;
        // Poolers refuse it, and no number here is a float.
        let options = options.extra_float_digits(None);
        let options = match statements {
            Statements::Prepared => options,
            // The driver logs slow statements, and here the values are in them.
            Statements::Text => options.disable_statement_logging(),
        };
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            // Shorter than the executor waits for a call, so that it is told why.
            .acquire_timeout(Duration::from_millis(1500))
            // A look at each connection before each call would be a second round trip.
            .test_before_acquire(false)
            .before_acquire(|connection, idle| {
                Box::pin(async move {
                    if idle.idle_for > Duration::from_secs(1) {
                        sqlx::Connection::ping(connection).await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options)
            .await
            .map_err(failure::of_connection)?;
        Self::open_with(pool, table, statements).await
    }

    /// The SQL of the table, to paste into migrations of one's own.
    pub fn schema(table: &Table) -> String {
        schema::schema(table)
    }

    /// Makes the table, if it is not there, and brings it to this release's version. Safe from many
    /// processes at once: one does it, the others wait. It is one statement, which commits or does
    /// nothing; its own version is kept in a table beside, `…_version`. If there is nothing to do, it takes
    /// no lock on the table and needs no right to make one.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    ///
    /// Dropped: the migration may have been made, or may be later.
    pub async fn migrate(pool: &PgPool, table: &Table) -> Result<(), Error> {
        let mut connection = pool.acquire().await.map_err(failure::of_connection)?;
        let migration = AssertSqlSafe(schema::migration(table));
        let migrated = connection.execute(sqlx::raw_sql(migration)).await;
        migrated
            .map(|_| ())
            .map_err(|error| failure::of_statement(error).into_error())
    }

    async fn verify(&self) -> Result<(), Error> {
        let inner = self.inner();
        let mut connection = inner.pool.acquire().await.map_err(failure::of_connection)?;
        let read_only: Arc<str> = "SELECT pg_is_in_recovery() OR \
            current_setting('default_transaction_read_only')::boolean AS read_only"
            .into();
        let version: Arc<str> = format!(
            "SELECT max(version) AS version FROM {}",
            inner.table.version()
        )
        .into();
        let refused = |error| failure::of_statement(error).into_error();
        let row = statement::fetch(&mut connection, inner.statements, &read_only, Vec::new())
            .await
            .map_err(refused)?;
        if row.is_some_and(|row| row.try_get("read_only").unwrap_or(false)) {
            return Err(Error::failed(
                "the server takes no writes, it is a standby or read-only: connect to the primary",
                "pg_is_in_recovery() or default_transaction_read_only",
            ));
        }
        let row = statement::fetch(&mut connection, inner.statements, &version, Vec::new())
            .await
            .map_err(refused)?;
        let found: Option<i64> = row.and_then(|row| row.try_get("version").ok());
        match found {
            // What was just asked was prepared.
            Some(VERSION)
                if inner.statements == Statements::Prepared
                    && pooler::mixes_statements_up(&inner.pool).await =>
            {
                Err(Error::failed(
                    pooler::REMEDY,
                    "statements that others prepared are in this session",
                ))
            }
            Some(VERSION) => Ok(()),
            Some(older) if older < VERSION => Err(Error::failed(
                "the table of records is of an older version: run PostgresStore::migrate",
                format!("version {older}, this release needs {VERSION}"),
            )),
            Some(newer) => Err(Error::failed(
                "the table of records is of a newer version: update idem-postgres",
                format!("version {newer}, this release knows {VERSION}"),
            )),
            None => Err(Error::failed(
                "the table of versions is empty: run PostgresStore::migrate",
                "no version",
            )),
        }
    }
}
