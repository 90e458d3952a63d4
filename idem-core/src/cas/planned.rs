//! A step of the machine inside a transaction of the engine's own.
//!
//! Within one the record and its index entries become visible together, so nothing of what
//! [`index`](super::index) says about crashes in between can happen. What stays is the fresh value: a walk
//! that has judged an earlier record must fail to remove the entry of a later one.

use super::CasStore;
use super::index::needed;
use super::keys::{is_entry, record_key};
use crate::machine::{Change, Record};
use crate::time::Timestamp;
use crate::{Error, RecordId, Token};

/// What a step of the machine answers, and what it has to write: see [`CasStore::plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<T> {
    /// The answer, right only once all the writes are in.
    pub answer: T,
    /// Keys of the engine, each with its next value, or `None` to remove it. Empty if nothing changes.
    pub writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Steps in transactions of the engine's own, for engines that have them.
///
/// The transaction reads the [record's key](CasStore::record_key), [plans](CasStore::plan) on what it has
/// read, and writes what is planned; after it has committed, [`wake`](CasStore::wake) tells who waits. It
/// must be serializable with every swap of the engine.
impl<E> CasStore<E> {
    /// The key under which the engine holds this record. Frozen.
    pub fn record_key(record: &RecordId) -> Vec<u8> {
        record_key(record)
    }

    /// Whether a key of the engine is an entry of the store's index, not a record.
    ///
    /// Entries are written before their record, and no answer rests on one. An engine whose writes become
    /// durable **in the order in which they were made** may say [`Done`](super::Swapped::Done) of an entry
    /// that is not durable yet: none that comes back after a crash is without what was written before it.
    pub fn is_index_entry(key: &[u8]) -> bool {
        is_entry(key)
    }

    /// The instant now, by the store's clock. Read it after the record, and once for each transaction.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One step of the [machine](crate::machine) on the value that stands under the record's key.
    ///
    /// # Errors
    /// [Corrupt](Error::is_corrupt) if the value cannot be read: such a record is never vacant.
    /// [Too large](Error::is_too_large) if the next one is over the store's limit. Nothing may be written
    /// then.
    pub fn plan<T>(
        &self,
        record: &RecordId,
        stored: Option<&[u8]>,
        now: Timestamp,
        decide: impl FnOnce(Option<&Record>, Timestamp) -> (T, Change),
    ) -> Result<Planned<T>, Error> {
        let before = stored.map(Record::decode).transpose()?;
        let (answer, change) = decide(before.as_ref(), now);
        let after = match change {
            Change::Keep => {
                let writes = Vec::new();
                return Ok(Planned { answer, writes });
            }
            Change::Put(record) => Some(record),
            Change::Remove => None,
        };
        let value = after.as_ref().map(Record::encode);
        self.check_size(value.as_deref())?;
        let fresh = || Some(Token::random().as_bytes().to_vec());
        let mut writes: Vec<_> = needed(record, before.as_ref(), after.as_ref())
            .into_iter()
            .map(|(_, entry)| (entry, fresh()))
            .collect();
        writes.push((record_key(record), value));
        Ok(Planned { answer, writes })
    }

    /// Wakes who waits in [`changed`](crate::IdempotencyStore::changed) for this record, which was written
    /// past this store.
    pub fn wake(&self, record: &RecordId) {
        drop(self.wake_when_dropped(record));
    }
}
