//! What the driver's errors mean.

use std::borrow::Cow;

use idem_core::Error;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::pooler;

/// What became of a statement that failed.
pub(crate) enum Failure {
    /// Another transaction was in the way (40001, 40P01): nothing was applied, and the same statement
    /// may succeed at once.
    Collided(sqlx::Error),
    /// It waited for a lock for as long as it may (55P03): nothing was applied.
    Blocked(sqlx::Error),
    /// It ran for as long as it may (57014, `statement_timeout`), or somebody cancelled it: nothing was
    /// applied.
    Cancelled(sqlx::Error),
    Other(Error),
}

impl Failure {
    /// As an error, for callers that do not try again.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Collided(error) => Error::unavailable("transactions collided in Postgres", error),
            Self::Blocked(error) => {
                Error::unavailable("the record is locked by a transaction in Postgres", error)
            }
            Self::Cancelled(error) => Error::unavailable(
                "Postgres cancelled the statement: it took longer than statement_timeout",
                error,
            ),
            Self::Other(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// A statement that was sent.
pub(crate) fn of_statement(error: sqlx::Error) -> Failure {
    let Some(database) = error.as_database_error() else {
        return Failure::Other(match error {
            // The answer could not be read, and so much more could not.
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                Error::unknown_outcome("the answer of Postgres cannot be read", error)
            }
            _ => Error::unknown_outcome("the connection to Postgres was lost", error),
        });
    };
    let code = database.code().unwrap_or_default().into_owned();
    match code.as_str() {
        "40001" | "40P01" => Failure::Collided(error),
        "55P03" => Failure::Blocked(error),
        "57014" => Failure::Cancelled(error),
        _ => Failure::Other(refused(&code, error)),
    }
}

/// The server said no. What it said so about was rolled back.
fn refused(code: &str, error: sqlx::Error) -> Error {
    let said: Cow<'static, str> = match code {
        "42P01" | "3F000" => {
            "the table of records is missing: run PostgresStore::migrate, or the SQL of \
             PostgresStore::schema"
                .into()
        }
        "42703" | "42804" => {
            "the table of records has other columns than this release reads: migrate it".into()
        }
        "42501" => {
            "the role may not use the table of records: grant it SELECT, INSERT, UPDATE, DELETE (to \
             migrate, connect as the table's owner)"
                .into()
        }
        "25006" => {
            "the server takes no writes, it is a standby or read-only: connect to the primary"
                .into()
        }
        "53100" => "the server's disk is full".into(),
        "08P01" if is_fatal(&error) => {
            "the connection was ended, by the server or by a pooler before it".into()
        }
        "26000" | "42P05" | "08P01" => pooler::REMEDY.into(),
        "25P02" => "the transaction has failed before: roll it back".into(),
        _ => format!("Postgres refused a statement (SQLSTATE {code})").into(),
    };
    match code.get(..2) {
        // The connection ends: the server may have got as far as to commit.
        Some("08" | "57" | "58" | "XX") => Error::unknown_outcome(said, error),
        // Too many connections, out of memory: it may pass.
        Some("53") => Error::unavailable(said, error),
        _ => Error::failed(said, error),
    }
}

/// Poolers end connections so that wait for too long. A statement that is not the one that was prepared
/// under its name is an error of a lower degree.
fn is_fatal(error: &sqlx::Error) -> bool {
    let error = error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

/// A connection that could not be had: nothing was sent.
pub(crate) fn of_connection(error: sqlx::Error) -> Error {
    let code = error
        .as_database_error()
        .and_then(DatabaseError::code)
        .map(Cow::into_owned);
    match (code.as_deref(), &error) {
        (Some("28P01" | "28000"), _) => Error::failed(
            "Postgres refused the role or its password: check the user, the password and pg_hba.conf",
            error,
        ),
        (Some("3D000"), _) => Error::failed("the database does not exist: create it", error),
        (Some("08P01"), sqlx::Error::Database(said)) if said.message().contains("startup") => {
            Error::failed(
                "a pooler refuses what the driver sends at the start of a connection: set \
                 PgConnectOptions::extra_float_digits(None), and no options",
                error,
            )
        }
        (_, sqlx::Error::PoolClosed) => Error::failed("the pool is closed", error),
        (_, sqlx::Error::Configuration(_)) => {
            Error::failed("the address of Postgres is not right", error)
        }
        (_, sqlx::Error::PoolTimedOut) => Error::unavailable(
            "no connection to Postgres in time: the pool is exhausted, or the server is away",
            error,
        ),
        _ => Error::unavailable("no connection to Postgres", error),
    }
}
