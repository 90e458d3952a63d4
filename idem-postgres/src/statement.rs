//! A statement and its values, for a server that prepares statements and for one behind a pooler where
//! nothing can be prepared.

use std::fmt::Write as _;
use std::sync::Arc;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Executor as _, Postgres};

/// How statements reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Statements {
    /// Prepared once for each connection, then one round trip each.
    #[default]
    Prepared,
    /// As text with the values in it, by the simple query protocol: one round trip each, and nothing is
    /// prepared. For poolers in transaction mode that do not track prepared statements (PgBouncer before
    /// 1.21, or with `max_prepared_statements = 0`).
    ///
    /// **Whoever logs statements logs keys and answers then**, in hexadecimal digits. The driver logs slow
    /// ones: [`connect_with`](crate::PostgresStore::connect_with) turns that off; for a pool of your own there is
    /// `PgConnectOptions::disable_statement_logging`. The server logs those that fail, if only because a key was
    /// in use: set `log_min_error_statement = panic` and no `log_min_duration_statement` for the role.
    ///
    /// What else such a pooler asks for:
    /// - It may refuse what the driver sends at the start of a connection: `extra_float_digits`, which
    ///   [`connect`](crate::PostgresStore::connect) leaves out, and for a pool of your own
    ///   `PgConnectOptions::extra_float_digits(None)`; and `options`, so set limits for the role instead.
    /// - Statements of your own are prepared, too, unless they are `sqlx::raw_sql` or
    ///   `query(…).persistent(false)`, the latter in a transaction only.
    Text,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bytes(Vec<u8>),
    OptionalBytes(Option<Vec<u8>>),
    Int(i64),
    OptionalInt(Option<i64>),
    /// In decimal.
    OptionalNumber(Option<u64>),
    Bool(bool),
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

/// Runs one statement, and gives its first row.
///
/// It names every value by `$1`, `$2`, …; `$` stands nowhere else in it.
pub(crate) async fn fetch(
    connection: &mut PgConnection,
    statements: Statements,
    sql: &Arc<str>,
    values: Vec<Value>,
) -> Result<Option<PgRow>, sqlx::Error> {
    match statements {
        Statements::Prepared => bound(sql, values).fetch_optional(connection).await,
        Statements::Text => {
            let text = sqlx::raw_sql(AssertSqlSafe(with_literals(sql, &values)));
            connection.fetch_optional(text).await
        }
    }
}

/// The same, with all of its rows.
pub(crate) async fn fetch_all(
    connection: &mut PgConnection,
    statements: Statements,
    sql: &Arc<str>,
    values: Vec<Value>,
) -> Result<Vec<PgRow>, sqlx::Error> {
    match statements {
        Statements::Prepared => bound(sql, values).fetch_all(connection).await,
        Statements::Text => {
            let text = sqlx::raw_sql(AssertSqlSafe(with_literals(sql, &values)));
            connection.fetch_all(text).await
        }
    }
}

fn bound(sql: &Arc<str>, values: Vec<Value>) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
    values.into_iter().fold(query, |query, value| match value {
        Value::Bytes(bytes) => query.bind(bytes),
        Value::OptionalBytes(bytes) => query.bind(bytes),
        Value::Int(number) => query.bind(number),
        Value::OptionalInt(number) => query.bind(number),
        Value::OptionalNumber(number) => query.bind(number.map(|number| number.to_string())),
        Value::Bool(truth) => query.bind(truth),
    })
}

/// The statement with its values in it. Bytes are hexadecimal digits and no more: nothing in them can end a
/// literal, nor mean something else where `standard_conforming_strings` is off.
fn with_literals(sql: &str, values: &[Value]) -> String {
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        let value = number
            .parse::<usize>()
            .ok()
            .and_then(|number| values.get(number.checked_sub(1)?));
        match value {
            Some(value) => push_literal(&mut text, value),
            // The server refuses it, and a test of ours with it.
            None => text.push('$'),
        }
        text.push_str(rest);
    }
    text
}

fn push_literal(text: &mut String, value: &Value) {
    match value {
        Value::Bytes(bytes) | Value::OptionalBytes(Some(bytes)) => {
            text.reserve(2 * bytes.len() + 20);
            text.push_str("decode('");
            for byte in bytes {
                // Writing to a string does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            text.push_str("', 'hex')");
        }
        Value::OptionalBytes(None) => text.push_str("NULL::bytea"),
        Value::Int(number) | Value::OptionalInt(Some(number)) => {
            // As text: of a bare number the sign is not a part.
            let _ = write!(text, "'{number}'::bigint");
        }
        Value::OptionalNumber(Some(number)) => {
            let _ = write!(text, "'{number}'::text");
        }
        Value::OptionalNumber(None) => text.push_str("NULL::text"),
        Value::OptionalInt(None) => text.push_str("NULL::bigint"),
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals_that_nothing_in_them_can_end() {
        let values = [
            Value::Bytes(b"a'; --\\".to_vec()),
            Value::Int(-5),
            Value::OptionalBytes(None),
            Value::Bool(true),
        ];
        assert_eq!(
            with_literals("a = $1 AND b < $2, $3 OR $4 IS $1", &values),
            "a = decode('61273b202d2d5c', 'hex') AND b < '-5'::bigint, NULL::bytea OR true IS \
             decode('61273b202d2d5c', 'hex')"
        );
    }
}
