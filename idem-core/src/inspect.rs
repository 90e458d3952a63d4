//! What operators, the janitor and the conformance suite see of a store.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Answer, Error, Holder, OnLapse, Operation, Progress, RecordId};

/// Looking at records, and purging those that are expired. Beside
/// [`IdempotencyStore`](crate::IdempotencyStore): requests never need it.
///
/// Implemented for `&T`, `Box<T>` and `Arc<T>`. All methods are required.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Shows a record.
    ///
    /// **MUST NOT** change anything, the retention included. An expired record is absent.
    ///
    /// **Dropped**: nothing happened. **Laws**: P2, T3.
    async fn get(&self, record: &RecordId) -> Result<Option<RecordInfo>, Error>;

    /// Lists records in flight whose lease has lapsed or that were abandoned, the longest lapsed
    /// first, at most `limit` of them, after `after`.
    ///
    /// **MUST NOT** change anything, nor list a record twice while walking from page to page, unless it
    /// was abandoned in the very millisecond in which the walk began. A record that changes during the
    /// walk may be missed or shown as it was. Expired records are absent.
    ///
    /// **Dropped**: nothing happened. **Law**: P2. The store's docs state what a page costs.
    async fn lapsed(&self, after: Option<&Cursor>, limit: usize) -> Result<LapsedPage, Error>;

    /// Removes at most `limit` records that are expired at that moment.
    ///
    /// **MUST** decide that a record is expired in the same atomic step that removes it: one that was
    /// renewed or reserved anew meanwhile stays. **MUST NOT** remove a record that was made under
    /// [`Hold`](OnLapse::Hold), started, and not completed, abandoned or released. Its cost follows
    /// what is due, not what is stored.
    ///
    /// **Dropped**: some of the records may be gone. **Law**: P1.
    async fn purge_expired(&self, limit: usize) -> Result<Purged, Error>;
}

/// A record, as shown to operators. Every duration counts from the moment of the call, by the store's
/// clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordInfo {
    /// Scope, key and fingerprint: what [`Operation::derived_key`] needs to ask a provider.
    pub operation: Operation,
    /// Who holds it, or completed it: what [`resolve`](crate::resolve) needs.
    pub holder: Holder,
    /// How it stands.
    pub condition: Condition,
    /// What its current attempt asked for if its lease lapses.
    pub on_lapse: OnLapse,
    /// The current attempt was renewed at least once. Always true of a completed record.
    pub started: bool,
    /// What was saved for the next attempt.
    pub progress: Option<Progress>,
    /// How long ago the first attempt reserved it.
    pub first_reserved_ago: Duration,
    /// How long ago the current attempt reserved it.
    pub last_reserved_ago: Duration,
    /// For how long it is remembered, as counted so far; `None` while it is unresolved.
    pub remembered_for: Option<Duration>,
}

/// How a record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// In flight, attended.
    Live {
        /// What is left of its lease.
        lease_left: Duration,
    },
    /// In flight, its lease lapsed without a word; the next request takes it over, unless it asks for
    /// [`Hold`](OnLapse::Hold) and this may have run, or names a longest age that is over.
    Lapsed {
        /// How long ago the lease ended.
        ago: Duration,
    },
    /// In flight, its lease lapsed without a word, it may have run, and it was made under
    /// [`Hold`](OnLapse::Hold): nobody knows whether the effect happened. It stays so until somebody
    /// [resolves](crate::resolve) it.
    Unresolved {
        /// How long ago the lease ended.
        ago: Duration,
    },
    /// In flight, and its holder said that it is safe to run again.
    Abandoned {
        /// How long ago.
        ago: Duration,
    },
    /// Answered.
    Completed(Answer),
}

/// Where a walk through lapsed records goes on. Made and read by the store that gave it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cursor(Vec<u8>);

impl Cursor {
    /// A cursor of a store's own making.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes that the store put into it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Shows the size only: a store may have put a key into it.
impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({} bytes)", self.0.len())
    }
}

/// Some lapsed records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LapsedPage {
    /// The records, the longest lapsed first.
    pub records: Vec<RecordInfo>,
    /// Where to go on; `None` after the last page.
    pub next: Option<Cursor>,
}

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// How many records it removed.
    pub removed: usize,
    /// Whether expired records are left: call again.
    pub more: bool,
}
