//! The table, as SQL.

use crate::Table;

/// The version of the table that this release reads and writes.
pub(crate) const VERSION: i64 = 1;

/// The statements that make the table: for [`PostgresStore::schema`](crate::PostgresStore::schema) and
/// [`migrate`](crate::PostgresStore::migrate).
///
/// - Keys and scopes are `bytea`: compared byte for byte, whatever the database's encoding and
///   collation.
/// - Instants are milliseconds since 1970 by the server's clock, as `bigint`: exact from 1 ms to the
///   longest retention, and what the state machine counts in. `to_timestamp(lease_ends_at / 1000.0)`
///   shows one.
/// - No index holds a column that completing or renewing changes (`purge_at` stays what it is, except
///   under `Hold`), and the pages have room: those are HOT updates.
/// - `CHECK` constraints make rows impossible that the state machine never writes.
pub(crate) fn schema(table: &Table) -> String {
    let name = table.name();
    let version = table.version();
    format!(
        r#"CREATE TABLE IF NOT EXISTS {table} (
    scope               bytea    NOT NULL CHECK (octet_length(scope) BETWEEN 1 AND 255),
    key                 bytea    NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    fingerprint         bytea    NOT NULL CHECK (octet_length(fingerprint) = 32),
    fingerprint_version smallint NOT NULL CHECK (fingerprint_version BETWEEN 0 AND 255),
    token               bytea    NOT NULL CHECK (octet_length(token) = 16),
    attempt             bigint   NOT NULL CHECK (attempt BETWEEN 1 AND 4294967295),
    state               text     NOT NULL CHECK (state IN ('in_flight', 'abandoned', 'completed')),
    hold                boolean  NOT NULL,
    started             boolean  NOT NULL,
    first_reserved_at   bigint   NOT NULL,
    last_reserved_at    bigint   NOT NULL,
    lease_ends_at       bigint   NOT NULL,
    retention           bigint   NOT NULL CHECK (retention > 0),
    retention_ends_at   bigint   NOT NULL,
    purge_at            bigint,
    revision            bigint   NOT NULL,
    written_at          bigint   NOT NULL,
    progress            bytea    CHECK (octet_length(progress) <= 65536),
    status              integer  CHECK (status BETWEEN 0 AND 65535),
    answer              bytea,
    body_length         numeric(20, 0) CHECK (body_length >= 0),
    PRIMARY KEY (scope, key),
    CONSTRAINT {name}_answered CHECK (
        CASE WHEN state = 'completed'
            THEN status IS NOT NULL AND (answer IS NULL) <> (body_length IS NULL)
            ELSE status IS NULL AND answer IS NULL AND body_length IS NULL
        END),
    CONSTRAINT {name}_purged CHECK (
        (purge_at IS NULL) = (state = 'in_flight' AND hold AND started))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX IF NOT EXISTS {name}_purge_idx ON {table} (purge_at);
CREATE TABLE IF NOT EXISTS {version} (version bigint NOT NULL);
INSERT INTO {version} SELECT {VERSION} WHERE NOT EXISTS (SELECT FROM {version});
"#
    )
}

/// The same as one statement that commits or does nothing, and that waits for whoever runs it too. If the
/// table is there, it takes no lock on it, and asks for no right but to read the version.
pub(crate) fn migration(table: &Table) -> String {
    let make_schema = match table.schema() {
        Some(schema) => format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n"),
        None => String::new(),
    };
    let schema = schema(table);
    let version = table.version();
    // One lock for all tables of ours: migrations are rare. The number is "idempote" in ASCII.
    format!(
        "DO $migrate$ BEGIN\n\
         PERFORM pg_advisory_xact_lock(7594028835893408869);\n\
         IF to_regclass('{version}') IS NOT NULL THEN\n\
         IF (SELECT max(version) FROM {version}) >= {VERSION} THEN RETURN; END IF;\n\
         END IF;\n\
         {make_schema}{schema}\
         END $migrate$"
    )
}
