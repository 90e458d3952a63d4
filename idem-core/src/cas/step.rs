//! One step of the machine on one record: load, decide, swap.

use std::mem::{Discriminant, discriminant};

use super::engine::{CompareAndSwap, Stored, Swapped};
use super::index::needed;
use super::keys::record_key;
use super::{CasStore, MOST_RACES};
use crate::inspect::Condition;
use crate::machine::{Change, Record};
use crate::time::Timestamp;
use crate::{Completion, Error, Outcome, RecordId, RecordInfo, Update};

/// A record as it was loaded, and the version to expect when it is replaced.
pub(super) struct Loaded<V> {
    pub(super) record: Record,
    pub(super) version: V,
}

impl<E: CompareAndSwap> CasStore<E> {
    /// Applies what the machine decides, as one atomic step.
    ///
    /// The clock is read after the record is loaded: of two steps on a record, the later one never sees
    /// the earlier time. A step that writes is settled by its swap. One that does not is right at the
    /// instant of its load only if its answer did not depend on the time that passed meanwhile: a lease
    /// that lapsed during the load may have been renewed during it as well. Then it looks again.
    pub(super) async fn step<T: Answered>(
        &self,
        id: &RecordId,
        decide: impl Fn(Option<&Record>, Timestamp) -> (T, Change) + Send,
    ) -> Result<T, Error> {
        let key = record_key(id);
        for _ in 0..MOST_RACES {
            let asked = self.clock.now();
            let loaded = self.load_record(&key).await?;
            let now = self.clock.now();
            let record = loaded.as_ref().map(|loaded| &loaded.record);
            let (answer, change) = decide(record, now);
            let after = match change {
                Change::Keep if asked == now => return Ok(answer),
                Change::Keep => {
                    let (earlier, _) = decide(record, asked);
                    if earlier.kind() == answer.kind() {
                        return Ok(answer);
                    }
                    continue;
                }
                Change::Put(record) => Some(record),
                Change::Remove => None,
            };
            let swapped = self.replace(id, &key, loaded, after, now).await?;
            if swapped == Swapped::Done {
                return Ok(answer);
            }
        }
        Err(super::too_many_races())
    }

    /// Loads a record. One that cannot be read is an error, never a vacant one.
    pub(super) async fn load_record(
        &self,
        key: &[u8],
    ) -> Result<Option<Loaded<E::Version>>, Error> {
        let stored = self.engine.load(key).await.map_err(Error::not_applied)?;
        stored.map(decode).transpose()
    }

    /// Replaces a record by the next one, with the index entries that this needs: see
    /// [`index`](super::index).
    async fn replace(
        &self,
        id: &RecordId,
        key: &[u8],
        before: Option<Loaded<E::Version>>,
        after: Option<Record>,
        now: Timestamp,
    ) -> Result<Swapped, Error> {
        let value = after.as_ref().map(Record::encode);
        self.check_size(value.as_deref())?;
        let entries = if E::ORDERED {
            let before = before.as_ref().map(|before| &before.record);
            needed(id, before, after.as_ref())
        } else {
            Vec::new()
        };
        for (at, entry) in &entries {
            if *at > now {
                self.put_entry(entry).await.map_err(Error::not_applied)?;
            }
        }
        let expected = before.as_ref().map(|before| &before.version);
        let swapped = {
            let _wakes = self.wake_when_dropped(id);
            self.engine.swap(key, expected, value.as_deref()).await?
        };
        if swapped == Swapped::Done && !entries.is_empty() {
            self.put_what_is_due(id, &entries).await;
        }
        Ok(swapped)
    }

    /// The record is in: an error here is not the step's.
    async fn put_what_is_due(&self, id: &RecordId, entries: &[(Timestamp, Vec<u8>)]) {
        let now = self.clock.now();
        for (_, entry) in entries.iter().filter(|(at, _)| *at <= now) {
            if let Err(error) = self.put_entry(entry).await {
                tracing::warn!(record = %id, %error, "an index entry is late");
            }
        }
    }
}

impl<E> CasStore<E> {
    pub(super) fn check_size(&self, value: Option<&[u8]>) -> Result<(), Error> {
        let size = value.map_or(0, <[u8]>::len);
        if size > self.max_value_bytes {
            return Err(Error::too_large(
                "encoded record",
                size as u64,
                self.max_value_bytes as u64,
            ));
        }
        Ok(())
    }
}

pub(super) fn decode<V>(stored: Stored<V>) -> Result<Loaded<V>, Error> {
    Ok(Loaded {
        record: Record::decode(&stored.value)?,
        version: stored.version,
    })
}

/// An answer of the machine, compared without the durations that the time alone shortens.
pub(super) trait Answered: Send {
    type Kind: PartialEq;

    fn kind(&self) -> Self::Kind;
}

impl Answered for Outcome {
    /// With whether waiting helps.
    type Kind = (Discriminant<Outcome>, bool);

    fn kind(&self) -> Self::Kind {
        let waiting_helps = matches!(
            self,
            Self::Conflict {
                retry_after: Some(_)
            }
        );
        (discriminant(self), waiting_helps)
    }
}

impl Answered for Completion {
    type Kind = Discriminant<Completion>;

    fn kind(&self) -> Self::Kind {
        discriminant(self)
    }
}

impl Answered for Update {
    type Kind = Discriminant<Update>;

    fn kind(&self) -> Self::Kind {
        discriminant(self)
    }
}

impl Answered for Option<RecordInfo> {
    type Kind = Option<Discriminant<Condition>>;

    fn kind(&self) -> Self::Kind {
        self.as_ref().map(|info| discriminant(&info.condition))
    }
}
