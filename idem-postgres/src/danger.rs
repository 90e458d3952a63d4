//! What [`check`](crate::PostgresStore::check) finds.

use std::fmt;
use std::time::Duration;

/// A setting of the server, of the role or of the table that takes something away from what the store
/// promises. It is shown with what was found and with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Danger {
    /// A statement may run for longer than its caller waits: blocked, it holds a connection for nobody,
    /// and what it writes may come when the caller has long been told that nobody knows.
    #[non_exhaustive]
    StatementTimeout {
        /// As it is for this role and connection; none if statements are not limited.
        found: Option<Duration>,
        /// For how long the executor waits for a call.
        one_call: Duration,
    },
    /// A process that hangs within a transaction keeps its key, its locks and its connection for good.
    IdleInTransaction,
    /// What was acknowledged is lost in a crash of the server: law D1 does not hold.
    SynchronousCommitOff,
    /// The same, and a crash of the machine may destroy the whole database.
    FsyncOff,
    /// A crash of the machine may leave pages half written.
    FullPageWritesOff,
    /// The server empties the table when it starts after a crash: every key is forgotten.
    Unlogged,
    /// Nothing can be reserved.
    #[non_exhaustive]
    ReadOnly {
        /// The server is a standby; otherwise the role, the database or the connection is read-only.
        standby: bool,
    },
    /// Each operation leaves old versions of its row behind, and nothing clears them away.
    #[non_exhaustive]
    AutovacuumOff {
        /// What is off: `autovacuum`, `track_counts`, or the table's `autovacuum_enabled`.
        setting: &'static str,
    },
    /// The pages of the table are filled to the brim: completing writes to every index, instead of being
    /// a HOT update.
    Fillfactor,
    /// No index leads with `purge_at`: each purge reads the whole table.
    PurgeIndexMissing,
    /// The table is not of the version that this release reads and writes.
    #[non_exhaustive]
    Version {
        /// As it stands beside the table; none if nothing does.
        found: Option<i64>,
        /// What this release needs.
        needed: i64,
    },
    /// Clients share the sessions of the server, and nothing tells their prepared statements apart.
    PreparedStatementsShared,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StatementTimeout { found, one_call } => {
                let found =
                    found.map_or_else(|| "not set".to_owned(), |limit| format!("{limit:?}"));
                write!(
                    f,
                    "statement_timeout is {found}: a blocked statement outlives its caller, who waits \
                     for {one_call:?}. Set a shorter one: ALTER ROLE … SET statement_timeout = '{}ms'",
                    shorter(*one_call)
                )
            }
            Self::IdleInTransaction => f.write_str(
                "idle_in_transaction_session_timeout is not set: a process that hangs within a transaction \
                 keeps its key for good. Set one that is longer than any transaction of yours: \
                 ALTER ROLE … SET idle_in_transaction_session_timeout = '30s'",
            ),
            Self::SynchronousCommitOff => f.write_str(
                "synchronous_commit is off: a crash of the server loses answers that were acknowledged. \
                 Set it for the role: ALTER ROLE … SET synchronous_commit = on",
            ),
            Self::FsyncOff => f.write_str(
                "fsync is off: a crash of the machine may destroy the database. Set fsync = on for the server",
            ),
            Self::FullPageWritesOff => f.write_str(
                "full_page_writes is off: a crash of the machine may leave pages half written. \
                 Set full_page_writes = on for the server",
            ),
            Self::Unlogged => f.write_str(
                "the table is unlogged: after a crash the server empties it, and every key is forgotten. \
                 ALTER TABLE … SET LOGGED",
            ),
            Self::ReadOnly { standby: true } => f.write_str(
                "the server is a standby, which takes no writes: connect to the primary",
            ),
            Self::ReadOnly { standby: false } => f.write_str(
                "default_transaction_read_only is on, so that nothing can be written: \
                 set it off for the role, the database and the connection",
            ),
            Self::AutovacuumOff { setting } => write!(
                f,
                "{setting} is off: the table grows, since nothing clears old versions of its rows away. \
                 Set it on"
            ),
            Self::Fillfactor => f.write_str(
                "the table has no fillfactor: completing is no HOT update, and writes to every index. \
                 ALTER TABLE … SET (fillfactor = 50)",
            ),
            Self::PurgeIndexMissing => f.write_str(
                "the table has no valid index on purge_at: each purge reads the whole table. \
                 Make the index of PostgresStore::schema",
            ),
            Self::Version {
                found: Some(found),
                needed,
            } if found > needed => write!(
                f,
                "the table of records is of version {found}, this release knows {needed}: update idem-postgres"
            ),
            Self::Version { found, needed } => write!(
                f,
                "the table of records is of version {}, this release needs {needed}: run PostgresStore::migrate",
                found.map_or_else(|| "none".to_owned(), |found| found.to_string())
            ),
            Self::PreparedStatementsShared => f.write_str(crate::pooler::REMEDY),
        }
    }
}

/// A limit that leaves the answer time to arrive.
fn shorter(one_call: Duration) -> u128 {
    (one_call.as_millis() * 3 / 4).max(1)
}
