//! Removing what is expired: law P1.

use std::time::Duration;

use super::CasStore;
use super::engine::{CompareAndSwap, Swapped};
use super::index::Index;
use super::keys::{parse_record_key, record_key};
use super::step::{Loaded, decode};
use super::walk::{Found, PAGE, report_unreadable};
use crate::machine::is_expired;
use crate::time::Timestamp;
use crate::{Error, Purged};

/// How many entries a purge looks at, beside those whose records it removes.
const VISITS: usize = 1024;

/// When an expired record that cannot be read is looked at again.
const LOOK_AGAIN_IN: Duration = Duration::from_secs(60 * 60);

impl<E: CompareAndSwap> CasStore<E> {
    /// Removes what the index says is due, and puts some of both indexes right.
    pub(super) async fn purge_by_index(&self, limit: usize) -> Result<Purged, Error> {
        let now = self.clock.now();
        let mut purged = self.purge_due(now, limit).await?;
        self.tidy_lapse(now, limit).await?;
        purged.removed += self.patrol(now, limit - purged.removed).await?;
        Ok(purged)
    }

    pub(super) async fn purge_due(&self, now: Timestamp, limit: usize) -> Result<Purged, Error> {
        let mut purged = Purged {
            removed: 0,
            more: false,
        };
        let mut visits = limit.saturating_add(VISITS);
        let mut from = Some(Index::Due.start());
        while let Some(after) = from {
            let page = self.due_entries(Index::Due, &after, now).await?;
            for (key, entry) in page.entries {
                if visits == 0 {
                    purged.more = true;
                    return Ok(purged);
                }
                visits -= 1;
                match self.look(&entry.id).await? {
                    // Whatever instant the entry names: the record is judged, not its entry.
                    Found::Record(found) if is_expired(&found.record, now) => {
                        if purged.removed == limit {
                            purged.more = true;
                            return Ok(purged);
                        }
                        if self.remove_expired(&record_key(&entry.id), &found).await? {
                            purged.removed += 1;
                            self.remove_entry(&key, entry.version.as_ref()).await?;
                        }
                    }
                    Found::Unreadable => {
                        // Out of the way of the walk: it would begin with this one every time.
                        let later = now.saturating_add(LOOK_AGAIN_IN);
                        self.put_entry(&Index::Due.entry_key(later, &entry.id))
                            .await?;
                        self.remove_entry(&key, entry.version.as_ref()).await?;
                    }
                    found => {
                        self.settle_found(Index::Due, &key, &entry, found).await?;
                    }
                }
            }
            from = page.next;
        }
        Ok(purged)
    }

    /// Goes on through the entries of leases that ended, as far as a call may, and from the beginning
    /// after the end: what was completed or renewed leaves this index here.
    pub(super) async fn tidy_lapse(&self, now: Timestamp, limit: usize) -> Result<(), Error> {
        let mut visits = limit.saturating_add(VISITS);
        let mut from = Some(self.tidied.get(Index::Lapse.start()));
        while let Some(after) = from.filter(|_| visits > 0) {
            let page = self.due_entries(Index::Lapse, &after, now).await?;
            for (key, entry) in &page.entries {
                self.settle(Index::Lapse, key, entry).await?;
            }
            visits = visits.saturating_sub(page.entries.len());
            from = page.next;
            self.tidied.set(from.clone());
        }
        Ok(())
    }

    /// Removes what is expired, by a scan of everything.
    pub(super) async fn purge_by_scan(&self, limit: usize) -> Result<Purged, Error> {
        let now = self.clock.now();
        let mut removed = 0;
        let mut after = Vec::new();
        loop {
            let page = self.engine.scan(&after, PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(Purged {
                    removed,
                    more: false,
                });
            };
            after.clone_from(last);
            for (key, stored) in page {
                let Some(id) = parse_record_key(&key) else {
                    continue;
                };
                match decode(stored) {
                    Err(error) => report_unreadable(&id, &error),
                    Ok(found) if is_expired(&found.record, now) => {
                        if removed == limit {
                            return Ok(Purged {
                                removed,
                                more: true,
                            });
                        }
                        removed += usize::from(self.remove_expired(&key, &found).await?);
                    }
                    Ok(_) => {}
                }
            }
        }
    }

    /// Removes a record that was judged expired, if it still is the one that was judged.
    pub(super) async fn remove_expired(
        &self,
        key: &[u8],
        found: &Loaded<E::Version>,
    ) -> Result<bool, Error> {
        // Nobody is woken: an expired record was vacant already.
        let swapped = self.engine.swap(key, Some(&found.version), None).await?;
        Ok(swapped == Swapped::Done)
    }
}
