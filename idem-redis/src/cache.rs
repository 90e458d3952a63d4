//! The shared cache in front of a database.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use idem_core::{Cache, CacheKey, CacheValue, Error, Timestamp};
use redis::Value;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::name::Prefix;
use crate::reply;

/// A cache that all nodes share, for [`Cached`](idem_core::Cached) in front of an authoritative store: it replays
/// completed answers and refuses rapid repeats, so that neither reaches the database. Only the store behind it grants.
///
/// Whatever this server loses, evicts or answers late costs speed; at worst it costs a conflict until a mark ends,
/// after a second by [default](idem_core::Cached::marks). It needs no append-only file, and may evict as it likes.
///
/// - A look is one round trip, `GET` and `TIME`. To keep something is two, `TIME` and then `SET … PXAT`: what lands late,
///   held up by the network or sent again by the driver of a cluster, then still ends when it was meant to. To remove
///   is one.
/// - Time is the server's. If its clock is set back, what is kept lasts longer by as much.
/// - Dropped futures, errors: as [`Cache`] says. [`Cached`](idem_core::Cached) waits 50 ms for a call, and passes over
///   what fails.
///
/// Before transactions in Postgres: `idem_postgres::Transactions::behind`.
///
/// ```no_run
/// use idem_core::{Cached, Idempotency};
/// use idem_redis::{Connection, RedisCache};
///
/// # async fn open(database: idem_core::MemoryStore) -> Result<(), idem_core::Error> {
/// let cache = RedisCache::new(Connection::open("redis://cache.internal:6379").await?);
/// let idempotency = Idempotency::new(Cached::new(database, cache));
/// # _ = idempotency; Ok(()) }
/// ```
#[derive(Clone)]
pub struct RedisCache {
    connection: Connection,
    prefix: Prefix,
}

/// Before a value: the version of this layout, when it was put and when it ends, by the server's clock.
const HEAD: usize = 1 + 8 + 8;
const LAYOUT: u8 = 1;

impl RedisCache {
    /// A cache under the prefix `idem`; it shares no name with a store. Nothing is sent.
    pub fn new(connection: impl Into<Connection>) -> Self {
        Self {
            connection: connection.into(),
            prefix: Prefix::default(),
        }
    }

    /// The same under another prefix: as good as another cache. Stores that must not see each other's answers need
    /// different ones.
    #[must_use]
    pub fn with_prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// The time of the node that has this name.
    async fn time(&self, name: &str) -> Result<Timestamp, Error> {
        let mut commands = redis::pipe();
        commands.cmd("TIME");
        let answers = self.connection.ask_in_a_row(commands, name).await;
        let answers = answers.map_err(Failure::into_error)?;
        self.answer(&answers, 0)
            .and_then(|answer| reply::time(answer).ok_or_else(strange))
    }

    /// One answer of several, unless it is an error.
    fn answer<'a>(&self, answers: &'a [Value], at: usize) -> Result<&'a Value, Error> {
        let answer = answers.get(at).ok_or_else(strange)?;
        match self.connection.refusal(answer) {
            Some(refused) => Err(refused.into_error()),
            None => Ok(answer),
        }
    }
}

fn strange() -> Error {
    Failure::strange().into_error()
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Cache for RedisCache {
    fn is_shared(&self) -> bool {
        true
    }

    async fn get(&self, key: &CacheKey) -> Result<Option<CacheValue>, Error> {
        let name = self.prefix.of_cached(key);
        let mut commands = redis::pipe();
        commands.cmd("GET").arg(&name);
        // After it: less may be left by then, never more.
        commands.cmd("TIME");
        let answers = self.connection.ask_in_a_row(commands, &name).await;
        let answers = answers.map_err(Failure::into_error)?;
        let value = match self.answer(&answers, 0)? {
            Value::BulkString(value) => value,
            Value::Nil => return Ok(None),
            _ => return Err(strange()),
        };
        let now = reply::time(self.answer(&answers, 1)?).ok_or_else(strange)?;
        Ok(read(value, now))
    }

    async fn put(&self, key: &CacheKey, value: Bytes, time_to_live: Duration) -> Result<(), Error> {
        let asked = Instant::now();
        let name = self.prefix.of_cached(key);
        let now = self.time(&name).await?;
        // It counts from the moment of asking, by which the server's clock showed this time or an earlier one.
        let left = time_to_live.saturating_sub(asked.elapsed());
        let Some(kept) = kept(&value, now, left) else {
            return Ok(());
        };
        let mut command = redis::cmd("SET");
        command.arg(&name).arg(kept.value).arg("PXAT").arg(kept.end);
        let put = self.connection.ask(&command).await;
        put.map(drop).map_err(Failure::into_error)
    }

    async fn remove(&self, key: &CacheKey) -> Result<(), Error> {
        let mut command = redis::cmd("DEL");
        command.arg(self.prefix.of_cached(key));
        let removed = self.connection.ask(&command).await;
        removed.map(drop).map_err(Failure::into_error)
    }
}

struct Kept {
    value: Vec<u8>,
    end: u64,
}

/// In whole milliseconds, rounded down; `None` if nothing is left.
fn kept(value: &[u8], now: Timestamp, left: Duration) -> Option<Kept> {
    let left = u64::try_from(left.as_millis())
        .unwrap_or(1 << 53)
        .min(1 << 53);
    let end = now.as_millis().saturating_add(left);
    let mut bytes = Vec::with_capacity(HEAD + value.len());
    bytes.push(LAYOUT);
    bytes.extend(now.as_millis().to_be_bytes());
    bytes.extend(end.to_be_bytes());
    bytes.extend(value);
    (left > 0).then_some(Kept { value: bytes, end })
}

/// What cannot be read is as good as nothing.
fn read(bytes: &[u8], now: Timestamp) -> Option<CacheValue> {
    let (LAYOUT, rest) = bytes.split_first().map(|(layout, rest)| (*layout, rest))? else {
        return None;
    };
    let (put, rest) = rest.split_first_chunk::<8>()?;
    let (end, value) = rest.split_first_chunk::<8>()?;
    let instant = |bytes: &[u8; 8]| Timestamp::from_millis(u64::from_be_bytes(*bytes));
    // A clock that was set back must not show more than was given.
    let expires_in = instant(end).saturating_since(now.max(instant(put)));
    (!expires_in.is_zero()).then(|| CacheValue {
        value: Bytes::copy_from_slice(value),
        expires_in,
    })
}

impl fmt::Debug for RedisCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCache")
            .field("connection", &self.connection)
            .field("prefix", &self.prefix)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_until_its_end_and_never_with_more_time_than_it_had() {
        let at = Timestamp::from_millis;
        let kept = kept(b"x", at(1000), Duration::from_micros(500_900)).unwrap();
        assert_eq!(kept.end, 1500);
        let left = |now| read(&kept.value, at(now)).map(|it| it.expires_in.as_millis());
        assert_eq!(
            [left(1000), left(1499), left(1500)],
            [Some(500), Some(1), None]
        );
        // The clock was set back.
        assert_eq!(left(10), Some(500));
        assert_eq!(read(&kept.value, at(1000)).unwrap().value, "x");
        for cut in 0..HEAD {
            assert_eq!(read(&kept.value[..cut], at(1000)), None);
        }
    }

    #[test]
    fn less_than_a_millisecond_is_nothing_and_the_longest_does_not_wrap() {
        let now = Timestamp::from_millis(1000);
        assert!(kept(b"x", now, Duration::from_micros(999)).is_none());
        assert_eq!(
            kept(b"x", now, Duration::MAX).unwrap().end,
            1000 + (1 << 53)
        );
    }
}
