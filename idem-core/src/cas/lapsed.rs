//! Listing what lapsed, the longest lapsed first: law P2.

use std::collections::BTreeMap;

use super::CasStore;
use super::engine::CompareAndSwap;
use super::index::Index;
use super::keys::{parse_record_key, record_key};
use super::step::decode;
use super::walk::{Entry, PAGE, Settled, report_unreadable};
use crate::machine::{Record, lapsed_since, view};
use crate::time::Timestamp;
use crate::{Cursor, Error, LapsedPage, RecordId};

/// A walk through what had lapsed when it began.
///
/// Without that horizon, a record that is listed, renewed and lapsed again would be listed twice.
struct Walk {
    horizon: Timestamp,
    /// The key of the index entry that was listed last.
    after: Vec<u8>,
}

impl Walk {
    fn begin(now: Timestamp) -> Self {
        Self {
            horizon: now,
            after: Index::Lapse.start(),
        }
    }

    fn go_on(cursor: &Cursor) -> Result<Self, Error> {
        let parse = || {
            let (horizon, after) = cursor.as_bytes().split_first_chunk::<8>()?;
            Index::Lapse.parse_entry_key(after)?;
            Some(Self {
                horizon: Timestamp::from_millis(u64::from_be_bytes(*horizon)),
                after: after.to_vec(),
            })
        };
        parse().ok_or_else(|| {
            Error::invalid("cursor was not made by this store: start again without one")
        })
    }

    fn cursor(&self) -> Cursor {
        let mut bytes = self.horizon.as_millis().to_be_bytes().to_vec();
        bytes.extend(&self.after);
        Cursor::from_bytes(bytes)
    }
}

impl<E: CompareAndSwap> CasStore<E> {
    pub(super) async fn lapsed_page(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<LapsedPage, Error> {
        let now = self.clock.now();
        let walk = after.map_or_else(|| Ok(Walk::begin(now)), Walk::go_on)?;
        let limit = limit.max(1); // an empty page could not say where to go on
        if E::ORDERED {
            self.lapsed_by_index(walk, now, limit).await
        } else {
            self.lapsed_by_scan(walk, now, limit).await
        }
    }

    /// Lists by the index, and puts it right on the way.
    async fn lapsed_by_index(
        &self,
        mut walk: Walk,
        now: Timestamp,
        limit: usize,
    ) -> Result<LapsedPage, Error> {
        let mut records = Vec::new();
        let mut from = Some(walk.after.clone());
        while let Some(after) = from {
            let mut page = self.due_entries(Index::Lapse, &after, walk.horizon).await?;
            while let Some((key, entry)) = page.entries.pop_first() {
                if records.len() == limit {
                    let next = Some(walk.cursor());
                    return Ok(LapsedPage { records, next });
                }
                let listed = match self.settle(Index::Lapse, &key, &entry).await? {
                    Settled::Exact(loaded) => view(&entry.id, &loaded.record, now),
                    // Its lease ended earlier than any entry said: it was not listed yet.
                    Settled::Moved {
                        loaded,
                        to,
                        created: true,
                    } if to < entry.at => view(&entry.id, &loaded.record, now),
                    Settled::Moved { to, .. } if to > entry.at && to <= walk.horizon => {
                        let moved = Index::Lapse.entry_key(to, &entry.id);
                        // Beyond the page it will be read with the next one.
                        if page.next.as_ref().is_none_or(|last| moved < *last) {
                            let (id, version) = (entry.id, None);
                            let entry = Entry {
                                at: to,
                                id,
                                version,
                            };
                            page.entries.entry(moved).or_insert(entry);
                        }
                        None
                    }
                    Settled::Moved { .. } | Settled::Nothing => None,
                };
                if let Some(info) = listed {
                    records.push(info);
                    walk.after = key;
                }
            }
            from = page.next;
        }
        Ok(LapsedPage {
            records,
            next: None,
        })
    }

    /// Lists by a scan of everything; it holds one page in memory.
    async fn lapsed_by_scan(
        &self,
        mut walk: Walk,
        now: Timestamp,
        limit: usize,
    ) -> Result<LapsedPage, Error> {
        let (first, more) = self.first_lapsed(&walk, now, limit).await?;
        let mut records = Vec::new();
        for (entry, id) in first {
            // What a scan shows may be stale, and must not be shown before it is durable.
            match self.load_record(&record_key(&id)).await {
                Err(error) if error.is_corrupt() => report_unreadable(&id, &error),
                loaded => {
                    let record = loaded?.map(|loaded| loaded.record);
                    let still = |record: &Record| {
                        lapsed_since(record, now)
                            .is_some_and(|at| Index::Lapse.entry_key(at, &id) == entry)
                    };
                    let record = record.filter(still);
                    records.extend(record.and_then(|record| view(&id, &record, now)));
                }
            }
            walk.after = entry;
        }
        Ok(LapsedPage {
            records,
            next: more.then(|| walk.cursor()),
        })
    }

    /// The longest lapsed of this walk, by the keys that they would have in the index, and whether there
    /// are more.
    async fn first_lapsed(
        &self,
        walk: &Walk,
        now: Timestamp,
        limit: usize,
    ) -> Result<(BTreeMap<Vec<u8>, RecordId>, bool), Error> {
        let mut first = BTreeMap::new();
        let mut more = false;
        let mut after = Vec::new();
        loop {
            let page = self.engine.scan(&after, PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok((first, more));
            };
            after.clone_from(last);
            for (key, stored) in page {
                let Some(id) = parse_record_key(&key) else {
                    continue;
                };
                let found = match decode(stored) {
                    Ok(found) => found,
                    Err(error) => {
                        report_unreadable(&id, &error);
                        continue;
                    }
                };
                let Some(at) = lapsed_since(&found.record, now) else {
                    continue;
                };
                let entry = Index::Lapse.entry_key(at, &id);
                if at <= walk.horizon && entry > walk.after {
                    first.insert(entry, id);
                    more |= first.len() > limit;
                    if first.len() > limit {
                        first.pop_last();
                    }
                }
            }
        }
    }
}
