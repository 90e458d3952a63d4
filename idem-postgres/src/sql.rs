//! Every statement on records, in one place.
//!
//! Reserving and replaying read the record and leave the decision to the state machine itself; what
//! the machine then wants written is written if the record is still the one that was read. The four
//! writes of a holder restate the machine's conditions, so that they cost one round trip.
//!
//! Each write takes another number of values, some an idle `true` for that: a pooler that mixes prepared
//! statements up can then never have one run with the values of another. It would be a renewal that is
//! stored as an answer.

use std::sync::Arc;
use std::time::Duration;

use crate::Table;

/// The server's clock at this very moment, also after a wait for a lock.
const NOW: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The server's clock when the statement arrived: before it read anything, so that nothing it reads
/// has lapsed later than that without being read as lapsed.
const ARRIVED: &str = "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint";

/// What a row is read from: see [`row`](crate::row).
const COLUMNS: &str = "fingerprint, fingerprint_version, token, attempt, state, hold, started, \
    first_reserved_at, last_reserved_at, lease_ends_at, retention, retention_ends_at, revision, \
    written_at, progress, status, answer, body_length::text AS body_length";

#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) reserve: Arc<str>,
    pub(crate) put: Arc<str>,
    pub(crate) complete: Arc<str>,
    pub(crate) renew: Arc<str>,
    pub(crate) abandon: Arc<str>,
    pub(crate) release: Arc<str>,
    pub(crate) get: Arc<str>,
    pub(crate) lapsed: Arc<str>,
    pub(crate) purge: Arc<str>,
    pub(crate) revision: Arc<str>,
}

/// Not expired: the machine's `is_expired`, the other way round.
fn is_remembered(now: &str) -> String {
    format!(
        "CASE WHEN r.state <> 'in_flight' THEN r.retention_ends_at > {now} \
         WHEN r.hold AND r.started THEN true \
         ELSE GREATEST(r.retention_ends_at, r.lease_ends_at) > {now} END"
    )
}

/// The machine's `count_retention`: counted anew from now if less than half would be left at `after`.
fn counted(after: &str, retention: &str) -> String {
    format!(
        "CASE WHEN GREATEST(r.retention_ends_at - ({after}), 0) * 2 < {retention} \
         THEN GREATEST(r.retention_ends_at, c.now + {retention}) ELSE r.retention_ends_at END"
    )
}

impl Sql {
    /// `lock_wait`: for how long a statement waits for another one's lock. `None`: as the transaction
    /// that it runs in says.
    pub(crate) fn new(table: &Table, lock_wait: Option<Duration>) -> Self {
        // `set_config` in a CTE of the statement itself: it takes effect before the first lock of a row. The
        // lock of the table, which only DDL is in the way of, is taken before it.
        let (limits, from_limits) = match lock_wait.map(|wait| wait.as_millis().max(1)) {
            Some(wait) => (
                format!(
                    "limits AS MATERIALIZED (SELECT set_config('lock_timeout', '{wait}ms', true)), "
                ),
                "FROM limits",
            ),
            None => (String::new(), ""),
        };
        let with_limits = match limits.strip_suffix(", ") {
            Some(limits) => format!("WITH {limits} "),
            None => String::new(),
        };
        let using_limits = from_limits.replace("FROM", "USING");
        let remembered = is_remembered(NOW);
        let held = format!(
            "r.scope = $1 AND r.key = $2 AND r.token = $3 AND r.attempt = $4 AND {remembered}"
        );
        let and_limits = if from_limits.is_empty() {
            ""
        } else {
            "FROM limits "
        };
        Self {
            reserve: format!(
                "WITH {limits}seen AS MATERIALIZED \
                 (SELECT {COLUMNS} FROM {table} WHERE scope = $1 AND key = $2), \
                 made AS (INSERT INTO {table} (scope, key, fingerprint, fingerprint_version, token, \
                 attempt, state, hold, started, first_reserved_at, last_reserved_at, lease_ends_at, \
                 retention, retention_ends_at, purge_at, revision, written_at) \
                 SELECT $1, $2, $3, $4::smallint, $5, 1, 'in_flight', $6, false, c.now, c.now, \
                 c.now + $7, $8, c.now + $8, c.now + $8, 1, c.now \
                 FROM (SELECT {NOW} AS now {from_limits}) AS c WHERE NOT EXISTS (SELECT FROM seen) AND $9 \
                 ON CONFLICT (scope, key) DO NOTHING RETURNING true) \
                 SELECT EXISTS (SELECT FROM made) AS made, {ARRIVED} AS now, seen.* \
                 FROM (SELECT 1) AS one LEFT JOIN seen ON true"
            )
            .into(),
            put: format!(
                "{with_limits}UPDATE {table} AS r SET fingerprint = $7, fingerprint_version = $8::smallint, \
                 token = $9, attempt = $10, state = 'in_flight', hold = $11, started = $12, \
                 first_reserved_at = $13, last_reserved_at = $14, lease_ends_at = $15, retention = $16, \
                 retention_ends_at = $17, purge_at = $18, progress = $19, status = NULL, answer = NULL, \
                 body_length = NULL, revision = r.revision + 1, written_at = {NOW} {and_limits}\
                 WHERE r.scope = $1 AND r.key = $2 AND r.token = $3 AND r.attempt = $4 \
                 AND r.revision = $5 AND r.lease_ends_at = $6 RETURNING true AS done"
            )
            .into(),
            complete: format!(
                "{with_limits}UPDATE {table} AS r SET (state, status, answer, body_length, progress, \
                 retention_ends_at, purge_at, revision, written_at) = (SELECT 'completed', $5::integer, $6, \
                 $7::numeric, NULL::bytea, n.ends, n.ends, r.revision + 1, n.now \
                 FROM (SELECT c.now, {counted} AS ends FROM (SELECT {NOW} AS now) AS c) AS n) {and_limits}\
                 WHERE {held} AND r.state <> 'completed' \
                 RETURNING GREATEST(r.retention_ends_at - {NOW}, 0) AS remembered_for",
                counted = counted("c.now", "r.retention"),
            )
            .into(),
            renew: format!(
                "{with_limits}UPDATE {table} AS r SET (started, lease_ends_at, retention, \
                 retention_ends_at, purge_at, progress, revision, written_at) = (SELECT true, n.lease, $6, n.ends, \
                 CASE WHEN r.hold THEN NULL ELSE GREATEST(n.ends, n.lease) END, \
                 COALESCE($7, r.progress), r.revision + 1, n.now FROM (SELECT c.now, c.lease, {counted} AS ends FROM \
                 (SELECT t.now, GREATEST(r.lease_ends_at, t.now + $5) AS lease \
                 FROM (SELECT {NOW} AS now) AS t) AS c) AS n) {and_limits}\
                 WHERE {held} AND r.state = 'in_flight' AND $8 RETURNING true AS done",
                counted = counted("c.lease", "$6"),
            )
            .into(),
            abandon: format!(
                "{with_limits}UPDATE {table} AS r SET (state, lease_ends_at, retention_ends_at, purge_at, \
                 revision, written_at) = (SELECT 'abandoned', c.now, n.ends, n.ends, r.revision + 1, c.now \
                 FROM (SELECT {NOW} AS now) AS c, LATERAL (SELECT {counted} AS ends) AS n) {and_limits}\
                 WHERE {held} AND r.state = 'in_flight' RETURNING true AS done",
                counted = counted("c.now", "r.retention"),
            )
            .into(),
            release: format!(
                "{with_limits}DELETE FROM {table} AS r {using_limits} WHERE {held} \
                 AND r.state <> 'completed' AND $5 RETURNING true AS done"
            )
            .into(),
            get: format!(
                "SELECT {ARRIVED} AS now, {COLUMNS} FROM {table} WHERE scope = $1 AND key = $2"
            )
            .into(),
            lapsed: format!(
                "SELECT t.now, r.scope, r.key, {COLUMNS} FROM (SELECT {ARRIVED} AS now) AS t, {table} AS r \
                 WHERE r.state <> 'completed' AND (r.state = 'abandoned' OR r.lease_ends_at <= t.now) \
                 AND {remembered} \
                 AND (r.lease_ends_at, r.scope, r.key) > ($1, $2, $3) \
                 ORDER BY r.lease_ends_at, r.scope, r.key LIMIT $4",
                remembered = is_remembered("t.now"),
            )
            .into(),
            // Both parts in the order of the index: without it the planner counts what is due by reading the
            // table from its beginning, where after a while there is nothing any more.
            purge: format!(
                "WITH t AS MATERIALIZED (SELECT {NOW} AS now), \
                 due AS (SELECT count(*) AS due FROM (SELECT FROM {table} AS r \
                 WHERE r.purge_at <= (SELECT now FROM t) AND NOT {remembered} \
                 ORDER BY r.purge_at LIMIT $1 + 1) AS d), \
                 chosen AS MATERIALIZED (SELECT r.ctid FROM {table} AS r \
                 WHERE r.purge_at <= (SELECT now FROM t) AND NOT {remembered} \
                 ORDER BY r.purge_at LIMIT $1 FOR UPDATE SKIP LOCKED), \
                 gone AS (DELETE FROM {table} AS r USING chosen WHERE r.ctid = chosen.ctid RETURNING true) \
                 SELECT (SELECT count(*) FROM gone) AS removed, (SELECT due FROM due) AS due",
                remembered = is_remembered("(SELECT now FROM t)"),
            )
            .into(),
            revision: format!(
                "SELECT token, revision, state <> 'in_flight' AS has_ended, {ARRIVED} - written_at AS age \
                 FROM {table} WHERE scope = $1 AND key = $2"
            )
            .into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The highest `$` number.
    fn values(sql: &str) -> usize {
        let numbers = sql.split('$').skip(1).map(|piece| {
            let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
            piece[..digits].parse().unwrap_or(0)
        });
        numbers.max().unwrap_or(0)
    }

    #[test]
    fn no_write_takes_as_many_values_as_another() {
        for lock_wait in [None, Some(Duration::from_millis(100))] {
            let sql = Sql::new(&Table::default(), lock_wait);
            let writes = [
                &sql.reserve,
                &sql.put,
                &sql.complete,
                &sql.renew,
                &sql.abandon,
                &sql.release,
                &sql.purge,
            ];
            let mut counts = writes.map(|sql| values(sql));
            counts.sort_unstable();
            assert_eq!(counts, [1, 4, 5, 7, 8, 9, 19]);
        }
    }
}
