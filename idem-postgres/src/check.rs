//! Whether the server is set up as the store needs it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use idem_core::Error;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use crate::schema::VERSION;
use crate::statement::{self, Statements};
use crate::{Danger, PostgresStore, failure, pooler};

impl PostgresStore {
    /// Looks at the settings of the server, of the role and of the table, as the store's own pool meets
    /// them, and gives what is dangerous: an empty list is as it should be. Nothing is changed.
    ///
    /// `one_call` is for how long the executor waits for a call: what
    /// [`store_timeouts`](idem_core::Builder::store_timeouts) was given, or its default of 2 s.
    ///
    /// Run it when the process starts, and log or refuse what it finds; and now and then in a health
    /// check for operators, since roles and servers change and primaries become standbys. It costs a few
    /// small reads, and behind [prepared statements](Statements::Prepared) a connection of its own: it
    /// belongs into no check that runs every second.
    ///
    /// ```no_run
    /// # use idem_postgres::*;
    /// # use std::time::Duration;
    /// # async fn check(store: PostgresStore) -> Result<(), Box<dyn std::error::Error>> {
    /// for danger in store.check(Duration::from_secs(2)).await? {
    ///     match danger {
    ///         // Nothing would work.
    ///         Danger::ReadOnly { .. } | Danger::Version { .. } => return Err(danger.to_string().into()),
    ///         danger => eprintln!("idempotency: {danger}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// What a managed server does not show is passed over. The server's clock is not judged: there is
    /// nothing to compare it with.
    ///
    /// # Errors
    /// [Unavailable](Error::is_unavailable) if the server cannot be asked; as for
    /// [`open`](Self::open) if the table is gone.
    pub async fn check(&self, one_call: Duration) -> Result<Vec<Danger>, Error> {
        let inner = self.inner();
        let mut connection = inner.acquire().await?;
        let mut asked = Asked {
            connection: &mut connection,
            statements: inner.statements,
        };
        let settings = asked.settings().await?;
        let standby = asked.is_standby().await?;
        let table = asked.table(&inner.table.to_string()).await?;
        let version = asked.version(&inner.table.version().to_string()).await?;

        let mut dangers = of_settings(&settings, one_call);
        if standby {
            dangers.retain(|danger| !matches!(danger, Danger::ReadOnly { .. }));
            dangers.push(Danger::ReadOnly { standby });
        }
        dangers.extend(of_table(table.as_ref()));
        if version.is_some_and(|found| found != Some(VERSION)) {
            dangers.push(Danger::Version {
                found: version.flatten(),
                needed: VERSION,
            });
        }
        // What was just asked was prepared: it would be seen.
        if inner.statements == Statements::Prepared
            && pooler::mixes_statements_up(&inner.pool).await
        {
            dangers.push(Danger::PreparedStatementsShared);
        }
        Ok(dangers)
    }
}

/// By name; without what the server does not show.
type Settings = BTreeMap<String, String>;

fn of_settings(settings: &Settings, one_call: Duration) -> Vec<Danger> {
    let mut dangers = Vec::new();
    let millis = |name| settings.get(name)?.parse().ok().map(Duration::from_millis);
    if let Some(limit) = millis("statement_timeout") {
        let found = Some(limit).filter(|limit| !limit.is_zero());
        if found.is_none_or(|limit| limit >= one_call) {
            dangers.push(Danger::StatementTimeout { found, one_call });
        }
    }
    if millis("idle_in_transaction_session_timeout").is_some_and(|limit| limit.is_zero()) {
        dangers.push(Danger::IdleInTransaction);
    }
    let is = |name, value| settings.get(name).is_some_and(|found| found == value);
    let off = |setting| Danger::AutovacuumOff { setting };
    for (name, dangerous, danger) in [
        ("synchronous_commit", "off", Danger::SynchronousCommitOff),
        ("fsync", "off", Danger::FsyncOff),
        ("full_page_writes", "off", Danger::FullPageWritesOff),
        ("autovacuum", "off", off("autovacuum")),
        ("track_counts", "off", off("track_counts")),
        (
            "default_transaction_read_only",
            "on",
            Danger::ReadOnly { standby: false },
        ),
    ] {
        if is(name, dangerous) {
            dangers.push(danger);
        }
    }
    dangers
}

/// What the catalogue says of the table.
struct TableFound {
    unlogged: bool,
    options: Settings,
    has_purge_index: bool,
}

fn of_table(table: Option<&TableFound>) -> Vec<Danger> {
    let mut dangers = Vec::new();
    let Some(table) = table else { return dangers };
    if table.unlogged {
        dangers.push(Danger::Unlogged);
    }
    let option = |name| table.options.get(name).map(String::as_str);
    // The server's parser of booleans takes these, and keeps what it was given.
    if let Some("off" | "false" | "no" | "0") = option("autovacuum_enabled") {
        dangers.push(Danger::AutovacuumOff {
            setting: "autovacuum_enabled of the table",
        });
    }
    let fillfactor: u32 = option("fillfactor").map_or(100, |it| it.parse().unwrap_or(100));
    if fillfactor >= 100 {
        dangers.push(Danger::Fillfactor);
    }
    if !table.has_purge_index {
        dangers.push(Danger::PurgeIndexMissing);
    }
    dangers
}

/// The questions. What the role may not ask has no answer.
struct Asked<'a> {
    connection: &'a mut PgConnection,
    statements: Statements,
}

impl Asked<'_> {
    async fn settings(&mut self) -> Result<Settings, Error> {
        // The view leaves out what the role may not see. Times are in milliseconds there.
        let rows = self
            .ask(
                "SELECT name, setting FROM pg_settings WHERE name IN ('statement_timeout', \
                 'idle_in_transaction_session_timeout', 'synchronous_commit', 'fsync', \
                 'full_page_writes', 'autovacuum', 'track_counts', 'default_transaction_read_only')",
            )
            .await?;
        let pair = |row: &PgRow| Some((row.try_get("name").ok()?, row.try_get("setting").ok()?));
        Ok(rows.iter().filter_map(pair).collect())
    }

    async fn is_standby(&mut self) -> Result<bool, Error> {
        let rows = self.ask("SELECT pg_is_in_recovery() AS standby").await?;
        let row = rows.first();
        Ok(row.is_some_and(|row| row.try_get("standby").unwrap_or(false)))
    }

    /// `table`: as it stands in statements; nothing in it ends a literal.
    async fn table(&mut self, table: &str) -> Result<Option<TableFound>, Error> {
        let rows = self
            .ask(&format!(
                "SELECT c.relpersistence = 'u' AS unlogged, \
                 array_to_string(c.reloptions, ',') AS options, \
                 EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a \
                 ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
                 WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL \
                 AND a.attname = 'purge_at') AS has_purge_index \
                 FROM pg_class AS c WHERE c.oid = to_regclass('{table}')"
            ))
            .await?;
        let found = |row: &PgRow| {
            let options: Option<String> = row.try_get("options").ok()?;
            let options = options.unwrap_or_default();
            let pairs = options.split(',').filter_map(|pair| pair.split_once('='));
            Some(TableFound {
                unlogged: row.try_get("unlogged").ok()?,
                options: pairs
                    .map(|(name, value)| (name.to_owned(), value.to_lowercase()))
                    .collect(),
                has_purge_index: row.try_get("has_purge_index").ok()?,
            })
        };
        Ok(rows.first().and_then(found))
    }

    /// The newest version that stands beside the table, if it may be seen.
    async fn version(&mut self, table: &str) -> Result<Option<Option<i64>>, Error> {
        let rows = self
            .ask(&format!("SELECT max(version) AS version FROM {table}"))
            .await?;
        Ok(rows.first().and_then(|row| row.try_get("version").ok()))
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<PgRow>, Error> {
        let sql: Arc<str> = sql.into();
        let asked = statement::fetch_all(self.connection, self.statements, &sql, Vec::new()).await;
        match asked {
            Ok(rows) => Ok(rows),
            Err(error) if is_refused(&error) => Ok(Vec::new()),
            Err(error) => Err(failure::of_statement(error).into_error()),
        }
    }
}

/// The role may not ask that here, or the server has no such thing.
fn is_refused(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("42501" | "42883" | "42704" | "0A000"))
}
