//! Where a walk through lapsed records goes on: after this lease end, scope and key.

use crate::time::Timestamp;
use crate::{Cursor, Error, Key, RecordId, Scope};

pub(super) fn write(since: Timestamp, id: &RecordId) -> Cursor {
    let scope = id.scope.as_bytes();
    let mut bytes = since.as_millis().to_be_bytes().to_vec();
    // A scope has 255 bytes at most.
    bytes.push(scope.len() as u8);
    bytes.extend(scope);
    bytes.extend(id.key.as_str().as_bytes());
    Cursor::from_bytes(bytes)
}

pub(super) fn read(cursor: &Cursor) -> Result<(Timestamp, RecordId), Error> {
    parse(cursor.as_bytes())
        .ok_or_else(|| Error::invalid("cursor was not made by this store: start again without one"))
}

fn parse(bytes: &[u8]) -> Option<(Timestamp, RecordId)> {
    let (since, rest) = bytes.split_first_chunk::<8>()?;
    let (scope_length, rest) = rest.split_first()?;
    let (scope, key) = rest.split_at_checked(usize::from(*scope_length))?;
    let id = RecordId::new(
        Scope::new(scope).ok()?,
        Key::new(std::str::from_utf8(key).ok()?).ok()?,
    );
    Some((Timestamp::from_millis(u64::from_be_bytes(*since)), id))
}
