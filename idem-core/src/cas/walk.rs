//! Walking through an index: what its entries stand for, and putting right those that are stale.

use std::collections::BTreeMap;

use super::CasStore;
use super::engine::CompareAndSwap;
use super::index::Index;
use super::keys::record_key;
use super::step::Loaded;
use crate::time::Timestamp;
use crate::{Error, RecordId};

/// How many keys are read from the engine at once.
pub(super) const PAGE: usize = 128;

/// An entry that is due.
pub(super) struct Entry<V> {
    pub(super) at: Timestamp,
    pub(super) id: RecordId,
    /// The version seen; `None` if it was put since the page was read.
    pub(super) version: Option<V>,
}

/// Some entries that are due, by key.
pub(super) struct Page<V> {
    pub(super) entries: BTreeMap<Vec<u8>, Entry<V>>,
    /// Where to go on; `None` if nothing more is due.
    pub(super) next: Option<Vec<u8>>,
}

/// What an entry stands for.
pub(super) enum Found<V> {
    Record(Loaded<V>),
    Nothing,
    /// Left as it is.
    Unreadable,
}

/// What became of an entry.
pub(super) enum Settled<V> {
    /// This is the very instant of its record.
    Exact(Loaded<V>),
    /// Its record has another instant, and has an entry there now.
    Moved {
        loaded: Loaded<V>,
        to: Timestamp,
        /// There was none before.
        created: bool,
    },
    /// It stood for nothing, and is gone; or for what cannot be read, and nothing was changed.
    Nothing,
}

impl<E: CompareAndSwap> CasStore<E> {
    /// The entries of an index after a key that are due at `until`.
    pub(super) async fn due_entries(
        &self,
        index: Index,
        after: &[u8],
        until: Timestamp,
    ) -> Result<Page<E::Version>, Error> {
        let mut page = Page {
            entries: BTreeMap::new(),
            next: None,
        };
        for (key, stored) in self.engine.scan(after, PAGE).await? {
            if !index.holds(&key) {
                page.next = None;
                break;
            }
            page.next = Some(key.clone());
            let Some((at, id)) = index.parse_entry_key(&key) else {
                tracing::warn!(?index, "a key of the engine is not of this store's making");
                continue;
            };
            if at > until {
                page.next = None;
                break;
            }
            let version = Some(stored.version);
            page.entries.insert(key, Entry { at, id, version });
        }
        Ok(page)
    }

    /// Loads the record of an entry.
    pub(super) async fn look(&self, id: &RecordId) -> Result<Found<E::Version>, Error> {
        match self.load_record(&record_key(id)).await {
            Ok(Some(loaded)) => Ok(Found::Record(loaded)),
            Ok(None) => Ok(Found::Nothing),
            Err(error) if error.is_corrupt() => {
                report_unreadable(id, &error);
                Ok(Found::Unreadable)
            }
            Err(error) => Err(error),
        }
    }

    /// Compares an entry with its record, and moves or removes it if it is stale.
    pub(super) async fn settle(
        &self,
        index: Index,
        key: &[u8],
        entry: &Entry<E::Version>,
    ) -> Result<Settled<E::Version>, Error> {
        let found = self.look(&entry.id).await?;
        self.settle_found(index, key, entry, found).await
    }

    /// The same for what was found already.
    pub(super) async fn settle_found(
        &self,
        index: Index,
        key: &[u8],
        entry: &Entry<E::Version>,
        found: Found<E::Version>,
    ) -> Result<Settled<E::Version>, Error> {
        let loaded = match found {
            Found::Record(loaded) => Some(loaded),
            Found::Nothing => None,
            Found::Unreadable => return Ok(Settled::Nothing),
        };
        let wanted = loaded
            .as_ref()
            .and_then(|loaded| index.time_of(&loaded.record));
        let settled = match (loaded, wanted) {
            (Some(loaded), Some(at)) if at == entry.at => return Ok(Settled::Exact(loaded)),
            (Some(loaded), Some(to)) => {
                // First there, then gone here: the record is never without an entry.
                let created = self.put_entry(&index.entry_key(to, &entry.id)).await?;
                Settled::Moved {
                    loaded,
                    to,
                    created,
                }
            }
            _ => Settled::Nothing,
        };
        self.remove_entry(key, entry.version.as_ref()).await?;
        Ok(settled)
    }
}

pub(super) fn report_unreadable(id: &RecordId, error: &Error) {
    tracing::warn!(record = %id, %error, "a stored record cannot be read, and is passed over");
}
