//! Where a walk through lapsed records goes on: after this lease end, scope and key, and no further than
//! the moment at which it began.

use crate::time::Timestamp;
use crate::{Cursor, Error, Key, RecordId, Scope};

/// A place in a walk.
pub(super) struct Place {
    /// When the walk began. What lapses later is not part of it: a record that is renewed and lapses
    /// again is not listed a second time.
    pub(super) horizon: Timestamp,
    /// The last record listed, and the end of its lease.
    pub(super) after: (Timestamp, RecordId),
}

impl Place {
    pub(super) fn to_cursor(&self) -> Cursor {
        let (since, id) = &self.after;
        let scope = id.scope.as_bytes();
        let mut bytes = self.horizon.as_millis().to_be_bytes().to_vec();
        bytes.extend(since.as_millis().to_be_bytes());
        // A scope has 255 bytes at most.
        bytes.push(scope.len() as u8);
        bytes.extend(scope);
        bytes.extend(id.key.as_str().as_bytes());
        Cursor::from_bytes(bytes)
    }

    pub(super) fn of_cursor(cursor: &Cursor) -> Result<Self, Error> {
        let foreign = "cursor was not made by this store: start again without one";
        Self::parse(cursor.as_bytes()).ok_or_else(|| Error::invalid(foreign))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (horizon, rest) = bytes.split_first_chunk::<8>()?;
        let (since, rest) = rest.split_first_chunk::<8>()?;
        let (scope_length, rest) = rest.split_first()?;
        let (scope, key) = rest.split_at_checked(usize::from(*scope_length))?;
        let key = Key::new(str::from_utf8(key).ok()?).ok()?;
        let id = RecordId::new(Scope::new(scope).ok()?, key);
        let instant = |bytes: &[u8; 8]| Timestamp::from_millis(u64::from_be_bytes(*bytes));
        Some(Self {
            horizon: instant(horizon),
            after: (instant(since), id),
        })
    }
}
