//! Values that are too large for the tree of records: in a tree of their own, in chunks.
//!
//! sled keeps a leaf of a tree, 16 values, 17 at a split and about 20 after a merge, in a file of its own once
//! it is over 128 KiB. Such files are slow to sync and not all removed again, and one that cannot be written
//! hangs every flush for ever. So no leaf of the store's own comes near that size: what is over [`INLINE`] is cut
//! into chunks under a fresh id, and the record holds a [`Reference`] to them.
//!
//! ```text
//! head    id (16 bytes)  0 (4 bytes)        the record's key
//! chunk   id (16 bytes)  1, 2, … (4 bytes)  some of its value
//! ```
//! > **Invariant.** A reference that stands in a record has all of its chunks.
//!
//! - **Chunks first**, head before all, then the swap that puts the reference into the record; after a kill, sled's
//!   log comes back in the order in which it was written. For a machine that
//!   stops, a sync comes in between now and then: see `pace.rs`.
//! - **Removed last**, head after all, once another value stands in the record, or the swap was lost. So whoever
//!   misses a chunk looks at the record again; if that still stands, it is damaged.
//! - **Killed in between**, chunks without a record are left. [Opening](LargeTree::remove_orphans) removes them:
//!   their head says whose they were.
//!
//! An id is never used again, so two references are equal only if the same value stands behind them: the record
//! is swapped by its reference alone.

use std::collections::HashSet;
use std::ops::Bound;

use idem_core::{CasStore, Error, Token};
use sled::transaction::{TransactionalTree, UnabortableTransactionError};
use sled::{IVec, Tree};

use crate::engine::Engine;

/// The most that a record holds itself. 20 of them, and as many keys of 521 bytes: 51 KiB.
pub(crate) const INLINE: usize = 2048;

/// 20 of them: 82 KiB. References name their number, so it may change.
const CHUNK: usize = 4096;

type Id = [u8; 16];
type ChunkKey = [u8; 20];

fn chunk_key(id: &Id, number: u32) -> ChunkKey {
    let mut key = [0; 20];
    key[..16].copy_from_slice(id);
    key[16..].copy_from_slice(&number.to_be_bytes());
    key
}

fn parse_chunk_key(key: &[u8]) -> Option<(Id, u32)> {
    let (id, number) = key.split_first_chunk()?;
    Some((*id, u32::from_be_bytes(number.try_into().ok()?)))
}

/// What a record holds instead of a large value. Frozen with the golden files:
///
/// ```text
/// FF  id (16 bytes)  length of the value (8 bytes)  number of chunks (4 bytes)
/// ```
/// A record begins with the version of its form, which is far from 255.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    id: Id,
    length: u64,
    chunks: u32,
}

const MARK: u8 = 0xFF;

impl Reference {
    /// The reference that this value of a key is, if it is one.
    ///
    /// # Errors
    /// It is half of one.
    pub(crate) fn of(key: &[u8], value: &[u8]) -> Result<Option<Self>, Error> {
        // The value of an index entry is 16 random bytes.
        if value.first() != Some(&MARK) || CasStore::<Engine>::is_index_entry(key) {
            return Ok(None);
        }
        let parse = || {
            let (id, rest) = value[1..].split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            Some(Self {
                id: *id,
                length: u64::from_be_bytes(*length),
                chunks: u32::from_be_bytes(rest.try_into().ok()?),
            })
        };
        let reference = parse().ok_or_else(|| Error::corrupt("the record's reference is torn"));
        reference.map(Some)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![MARK];
        bytes.extend(self.id);
        bytes.extend(self.length.to_be_bytes());
        bytes.extend(self.chunks.to_be_bytes());
        bytes
    }

    fn chunk_keys(&self) -> impl DoubleEndedIterator<Item = ChunkKey> {
        (1..=self.chunks).map(|number| chunk_key(&self.id, number))
    }

    /// The value, chunk by chunk; `None` if one is missing, or they are not what was written.
    pub(crate) fn value<E>(
        &self,
        chunk: impl Fn(ChunkKey) -> Result<Option<IVec>, E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let mut value = Vec::new();
        for key in self.chunk_keys() {
            let Some(chunk) = chunk(key)? else {
                return Ok(None);
            };
            value.extend_from_slice(&chunk);
        }
        Ok((value.len() as u64 == self.length).then_some(value))
    }
}

/// A value on its way into a record, with the chunks that have to be there first.
pub(crate) struct Parted {
    /// What the record will hold.
    pub(crate) stands: Vec<u8>,
    large: Option<(Reference, Vec<u8>)>,
}

impl Parted {
    pub(crate) fn of(key: &[u8], value: Vec<u8>) -> Self {
        if value.len() <= INLINE || CasStore::<Engine>::is_index_entry(key) {
            let large = None;
            return Self {
                stands: value,
                large,
            };
        }
        let reference = Reference {
            id: *Token::random().as_bytes(),
            length: value.len() as u64,
            // More than memory holds would be cut off here, and the length would say so.
            chunks: u32::try_from(value.len().div_ceil(CHUNK)).unwrap_or(u32::MAX),
        };
        Self {
            stands: reference.encode(),
            large: Some((reference, value)),
        }
    }

    fn reference(&self) -> Option<&Reference> {
        self.large.as_ref().map(|(reference, _)| reference)
    }

    /// Head and chunks, in the order in which they are to be written.
    fn entries(&self, key: &[u8]) -> impl Iterator<Item = (ChunkKey, IVec)> {
        self.large.iter().flat_map(move |(reference, value)| {
            let head = (chunk_key(&reference.id, 0), IVec::from(key));
            let chunks = reference.chunk_keys().zip(value.chunks(CHUNK));
            std::iter::once(head).chain(chunks.map(|(key, chunk)| (key, IVec::from(chunk))))
        })
    }
}

/// The tree of the chunks.
pub(crate) struct LargeTree(pub(crate) Tree);

impl LargeTree {
    /// Before the swap.
    pub(crate) fn write(
        &self,
        key: &[u8],
        parted: &Parted,
        wrote: impl Fn(usize),
    ) -> sled::Result<()> {
        for (chunk_key, chunk) in parted.entries(key) {
            let length = chunk.len();
            self.0.insert(chunk_key, chunk)?;
            wrote(length);
        }
        Ok(())
    }

    /// The same within a transaction.
    pub(crate) fn write_in(
        view: &TransactionalTree,
        key: &[u8],
        parted: &Parted,
    ) -> Result<(), UnabortableTransactionError> {
        for (chunk_key, chunk) in parted.entries(key) {
            view.insert(&chunk_key, chunk)?;
        }
        Ok(())
    }

    /// After the swap that was lost.
    pub(crate) fn take_back(&self, parted: &Parted, wrote: impl Fn(usize)) -> sled::Result<()> {
        match parted.reference() {
            Some(reference) => self.remove(reference, wrote),
            None => Ok(()),
        }
    }

    /// Once no record refers to it any more.
    pub(crate) fn remove(&self, reference: &Reference, wrote: impl Fn(usize)) -> sled::Result<()> {
        for key in reference.chunk_keys().rev() {
            self.0.remove(key)?;
            // Its leaf is written anew, more often than when it was filled.
            wrote(CHUNK);
        }
        self.0.remove(chunk_key(&reference.id, 0))?;
        Ok(())
    }

    /// Removes what no record refers to, before anybody else is at it. Reads a leaf for each large value, and of
    /// the records those values' own. What cannot be read stays.
    pub(crate) fn remove_orphans(&self, records: &Tree) -> sled::Result<()> {
        let (mut removed, mut headless) = (0_usize, HashSet::new());
        let mut after = Vec::new();
        loop {
            let rest = (Bound::Excluded(after.as_slice()), Bound::Unbounded);
            let Some(next) = self.0.range::<&[u8], _>(rest).next() else {
                break;
            };
            let (key, record) = next?;
            let Some((id, number)) = parse_chunk_key(&key) else {
                after = key.to_vec();
                continue;
            };
            if number > 0 {
                headless.insert(id);
            } else if !may_refer(records.get(&record), &record, &id) {
                self.remove_all_of(&id)?;
                removed += 1;
            }
            after = chunk_key(&id, u32::MAX).to_vec();
        }
        // Of a transaction that failed half-way.
        for id in without_a_record(headless, records)? {
            self.remove_all_of(&id)?;
            removed += 1;
        }
        if removed > 0 {
            tracing::info!(removed, "large values without a record were removed");
        }
        Ok(())
    }

    /// The head last: if this breaks off, the next opening goes on.
    fn remove_all_of(&self, id: &Id) -> sled::Result<()> {
        let keys: Vec<_> = self.0.scan_prefix(id).keys().collect::<Result<_, _>>()?;
        for key in keys.iter().rev() {
            self.0.remove(key)?;
        }
        Ok(())
    }
}

/// Whether this, which stands under a record's key, refers to these chunks; true if nobody can tell.
fn may_refer(value: sled::Result<Option<IVec>>, record: &[u8], id: &Id) -> bool {
    match value.map(|value| value.map(|value| Reference::of(record, &value))) {
        Ok(Some(Ok(reference))) => reference.is_some_and(|reference| reference.id == *id),
        Ok(None) => false,
        Ok(Some(Err(_))) | Err(_) => true,
    }
}

/// Those of the ids that no record refers to. A look at all records, if there are any ids.
fn without_a_record(mut ids: HashSet<Id>, records: &Tree) -> sled::Result<HashSet<Id>> {
    let mut all = records.iter();
    while !ids.is_empty() {
        let Some(pair) = all.next() else { break };
        let (key, value) = pair?;
        match Reference::of(&key, &value) {
            Ok(None) => {}
            Ok(Some(reference)) => _ = ids.remove(&reference.id),
            // It may be any of them.
            Err(_) => ids.clear(),
        }
    }
    Ok(ids)
}
