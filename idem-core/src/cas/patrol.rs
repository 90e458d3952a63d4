//! A bounded look at some records in each purge of an ordered engine, one after the other and round
//! again: what has no index entry is found here. See [`index`](super::index) for how that can be.

use std::sync::PoisonError;

use crate::sync::Mutex;

use super::CasStore;
use super::engine::CompareAndSwap;
use super::index::Index;
use super::keys::{BEFORE_RECORDS, parse_record_key};
use super::step::decode;
use super::walk::report_unreadable;
use crate::Error;
use crate::machine::{is_expired, lapsed_since};
use crate::time::Timestamp;

/// How many records a purge looks at.
const LOOKS: usize = 32;

/// Where a walk that goes round and round goes on; lost with the process, and then it begins anew.
#[derive(Default)]
pub(super) struct Hand(Mutex<Option<Vec<u8>>>);

impl Hand {
    pub(super) fn get(&self, start: Vec<u8>) -> Vec<u8> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone().unwrap_or(start)
    }

    pub(super) fn set(&self, place: Option<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }
}

impl<E: CompareAndSwap> CasStore<E> {
    /// Removes at most `limit` expired records, lists those whose lease ended, and says how many it
    /// removed.
    pub(super) async fn patrol(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        let after = self.patrolled.get(BEFORE_RECORDS.to_vec());
        let page = self.engine.scan(&after, LOOKS).await?;
        self.patrolled.set(page.last().map(|(key, _)| key.clone()));
        let mut removed = 0;
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
            if is_expired(&found.record, now) {
                if removed < limit && self.remove_expired(&key, &found).await? {
                    removed += 1;
                }
            } else if let Some(at) = lapsed_since(&found.record, now) {
                let entry = Index::Lapse.entry_key(at, &id);
                if self.engine.load(&entry).await?.is_none() {
                    self.put_entry(&entry).await?;
                }
            }
        }
        Ok(removed)
    }
}
