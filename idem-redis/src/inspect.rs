//! What operators and the janitor ask.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::future::join_all;
use idem_core::machine::{self, Record, lapsed_since};
use idem_core::{Cursor, Error, Inspect, LapsedPage, Purged, RecordId, RecordInfo, Timestamp};
use redis::Value;

use crate::ask::Node;
use crate::failure::Failure;
use crate::{RedisStore, reply};

/// How many names the server looks at in one call: well under a millisecond of its time.
const NAMES_AT_A_TIME: usize = 500;

/// How many records are read side by side: a server works through all that one connection has sent before it turns to
/// the others.
const RECORDS_AT_A_TIME: usize = 16;

/// How often one part of a walk is asked for.
const TRIES: u32 = 3;

/// - `get` reads one key.
/// - `lapsed` walks over **every key of the server** or of the cluster's primaries for each page, by `SCAN`, 500 names
///   a call, and looks at each record under the prefix where it is, 16 side by side, without touching its answer; only
///   what is listed is sent. Others are served in between. What is lost or late on the way is asked for up to three
///   times, so that a walk goes on from where it is. It is for operators, not for requests: an index would cost every
///   write, and be a second key that can come apart from the first. A record that cannot be read is left out, with a
///   warning.
/// - `purge_expired` has nothing to do: every key that may expire has its time to live from its first write on, and
///   the server removes it. (One from which somebody took its time to live stays, though it counts as expired: see the
///   [limits](crate#limits).)
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for RedisStore {
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error> {
        let found = reply::record(self.run(&self.steps.get, record, &[]).await?)?;
        Ok(found.and_then(|(found, now)| machine::view(record, &found, now)))
    }

    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error> {
        let after = after.map(|cursor| read_cursor(self, cursor)).transpose()?;
        let limit = limit.max(1);
        let mut page = Page {
            after,
            limit,
            found: BTreeMap::new(),
        };
        for node in self.connection.nodes().await.map_err(Failure::into_error)? {
            let mut at = b"0".to_vec();
            loop {
                let (next, names) = again(|| self.scan(&node, &at)).await?;
                self.read_lapsed(names, &mut page).await?;
                if next == b"0" {
                    break;
                }
                at = next;
            }
        }
        Ok(page.finish(self))
    }

    async fn purge_expired(&self, _: usize) -> Result<Purged, Error> {
        Ok(Purged {
            removed: 0,
            more: false,
        })
    }
}

/// Where a record stands in the list.
type Place = (Timestamp, RecordId);

/// The first records after a place, one more than fit.
struct Page {
    after: Option<Place>,
    limit: usize,
    found: BTreeMap<Place, RecordInfo>,
}

impl Page {
    fn add(&mut self, place: Place, info: RecordInfo) {
        if self.after.as_ref().is_none_or(|after| place > *after) {
            self.found.insert(place, info);
            if self.found.len() > self.limit.saturating_add(1) {
                self.found.pop_last();
            }
        }
    }

    fn finish(mut self, store: &RedisStore) -> LapsedPage {
        let more = self.found.len() > self.limit;
        if more {
            self.found.pop_last();
        }
        let last = self.found.last_key_value().filter(|_| more);
        let next = last.map(|(place, _)| cursor(store, place));
        LapsedPage {
            records: self.found.into_values().collect(),
            next,
        }
    }
}

impl RedisStore {
    /// Where to go on, and the records whose names were come across: some perhaps twice, some gone since.
    async fn scan(&self, node: &Node, at: &[u8]) -> Result<(Vec<u8>, Vec<RecordId>), Error> {
        let mut command = redis::cmd("SCAN");
        command.arg(at).arg("MATCH").arg(self.prefix.pattern());
        command.arg("COUNT").arg(NAMES_AT_A_TIME);
        let answer = self.connection.ask_node(&command, node).await;
        let Value::Array(parts) = answer.map_err(Failure::into_error)? else {
            return Err(Failure::strange().into_error());
        };
        let [Value::BulkString(next), Value::Array(names)] = &parts[..] else {
            return Err(Failure::strange().into_error());
        };
        let id = |name: &Value| match name {
            Value::BulkString(name) => self.prefix.parse(name),
            _ => None,
        };
        Ok((next.clone(), names.iter().filter_map(id).collect()))
    }

    async fn read_lapsed(&self, ids: Vec<RecordId>, page: &mut Page) -> Result<(), Error> {
        for ids in ids.chunks(RECORDS_AT_A_TIME) {
            let reads = ids.iter().map(|id| again(|| self.read_if_lapsed(id)));
            for (id, read) in ids.iter().zip(join_all(reads).await) {
                match read {
                    Ok(None) => {}
                    Ok(Some((record, now))) => {
                        let since = lapsed_since(&record, now);
                        let info = machine::view(id, &record, now);
                        if let (Some(since), Some(info)) = (since, info) {
                            page.add((since, id.clone()), info);
                        }
                    }
                    Err(error) if error.is_corrupt() => {
                        tracing::warn!(record = %id, %error, "left out of the lapsed records");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    async fn read_if_lapsed(&self, id: &RecordId) -> Result<Option<(Record, Timestamp)>, Error> {
        reply::record(self.run(&self.steps.lapsed, id, &[]).await?)
    }
}

/// It only reads: a walk over everything need not begin anew because one answer was lost or late.
async fn again<T, F>(ask: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut tries = 1;
    loop {
        match ask().await {
            Err(error) if error.is_transient() && tries < TRIES => tries += 1,
            asked => return asked,
        }
    }
}

/// The end of the lease, and the name: strictly after this.
fn cursor(store: &RedisStore, (since, id): &Place) -> Cursor {
    let mut bytes = since.as_millis().to_be_bytes().to_vec();
    bytes.extend_from_slice(store.prefix.of_record(id).as_bytes());
    Cursor::from_bytes(bytes)
}

fn read_cursor(store: &RedisStore, cursor: &Cursor) -> Result<Place, Error> {
    let read = || {
        let (since, name) = cursor.as_bytes().split_first_chunk::<8>()?;
        let since = Timestamp::from_millis(u64::from_be_bytes(*since));
        Some((since, store.prefix.parse(name)?))
    };
    read().ok_or_else(|| Error::invalid("the cursor is not one of this store"))
}
