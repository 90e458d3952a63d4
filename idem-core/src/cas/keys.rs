//! The keys under which an engine holds records and index entries.
//!
//! ```text
//! record   01 'r'              scope length (1 byte)  scope  key
//! entry    01 'd' or 'l' time  scope length (1 byte)  scope  key
//! ```
//! The first byte is the version of this layout, the second the kind: formats and kinds to come cannot
//! collide with these. The length keeps scope and key apart (law R7), and the time, eight bytes in
//! big-endian order, sorts an index by what is due first.

use super::index::Index;
use crate::time::Timestamp;
use crate::{Key, RecordId, Scope};

const LAYOUT: u8 = 1;
const RECORDS: u8 = b'r';

/// The most bytes that a key of an [engine](crate::CompareAndSwap) has.
pub const MAX_ENGINE_KEY_LEN: usize = 2 + 8 + 1 + Scope::MAX_LEN + Key::MAX_LEN;

/// Before the first record, and after every index entry.
pub(super) const BEFORE_RECORDS: [u8; 2] = [LAYOUT, RECORDS];

pub(super) fn record_key(id: &RecordId) -> Vec<u8> {
    let mut key = BEFORE_RECORDS.to_vec();
    write_id(&mut key, id);
    key
}

/// The record under this key; `None` if it is not the key of a record.
pub(super) fn parse_record_key(key: &[u8]) -> Option<RecordId> {
    parse_id(key.strip_prefix(&BEFORE_RECORDS)?)
}

/// Whether this is the key of an index entry.
pub(super) fn is_entry(key: &[u8]) -> bool {
    [Index::Due, Index::Lapse]
        .into_iter()
        .any(|index| index.holds(key))
}

impl Index {
    fn kind(self) -> u8 {
        match self {
            Self::Due => b'd',
            Self::Lapse => b'l',
        }
    }

    /// Before the first entry.
    pub(super) fn start(self) -> Vec<u8> {
        vec![LAYOUT, self.kind()]
    }

    pub(super) fn holds(self, key: &[u8]) -> bool {
        key.starts_with(&[LAYOUT, self.kind()])
    }

    pub(super) fn entry_key(self, at: Timestamp, id: &RecordId) -> Vec<u8> {
        let mut key = self.start();
        key.extend(at.as_millis().to_be_bytes());
        write_id(&mut key, id);
        key
    }

    /// When this entry is due, and what record it is about; `None` if it is no entry of this index.
    pub(super) fn parse_entry_key(self, key: &[u8]) -> Option<(Timestamp, RecordId)> {
        let rest = key.strip_prefix(&[LAYOUT, self.kind()])?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let at = Timestamp::from_millis(u64::from_be_bytes(*at));
        Some((at, parse_id(rest)?))
    }
}

fn write_id(out: &mut Vec<u8>, id: &RecordId) {
    let scope = id.scope.as_bytes();
    // A scope has 255 bytes at most.
    out.push(scope.len() as u8);
    out.extend(scope);
    out.extend(id.key.as_str().as_bytes());
}

fn parse_id(bytes: &[u8]) -> Option<RecordId> {
    let (scope_length, rest) = bytes.split_first()?;
    let (scope, key) = rest.split_at_checked(usize::from(*scope_length))?;
    Some(RecordId::new(
        Scope::new(scope).ok()?,
        Key::new(std::str::from_utf8(key).ok()?).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(scope: impl AsRef<[u8]>, key: &str) -> RecordId {
        RecordId::new(Scope::new(scope).unwrap(), Key::new(key).unwrap())
    }

    #[test]
    fn keys_are_frozen() {
        let id = id("ab", "key");
        assert_eq!(record_key(&id), b"\x01r\x02abkey");
        let at = Timestamp::from_millis(0x0102_0304_0506_0708);
        assert_eq!(
            Index::Due.entry_key(at, &id),
            b"\x01d\x01\x02\x03\x04\x05\x06\x07\x08\x02abkey"
        );
        assert_eq!(
            Index::Lapse.entry_key(at, &id),
            b"\x01l\x01\x02\x03\x04\x05\x06\x07\x08\x02abkey"
        );
    }

    #[test]
    fn r7_no_two_records_share_a_key_and_each_is_read_back() {
        let long = "x".repeat(255);
        let all_bytes: Vec<u8> = (0..255).collect();
        let ids = [
            id("a", "b:c"),
            id("a:b", "c"),
            id("a", ":b:c"),
            id("a\0", "b"),
            id("\x01", "ab"),
            id("\x01a", "b"),
            id("t1", "0k"),
            id("t10", "k"),
            id(&long, &long),
            id(&long, "x"),
            id("x", &long),
            id(&all_bytes, "'\"`:{}%\\ ключ 鍵 🔑"),
        ];
        for (i, a) in ids.iter().enumerate() {
            let at = Timestamp::from_millis(u64::MAX - i as u64);
            assert_eq!(parse_record_key(&record_key(a)).as_ref(), Some(a));
            for index in [Index::Due, Index::Lapse] {
                let key = index.entry_key(at, a);
                assert!(key.len() <= MAX_ENGINE_KEY_LEN);
                assert_eq!(index.parse_entry_key(&key), Some((at, a.clone())));
                assert_eq!(parse_record_key(&key), None);
                assert!(is_entry(&key) && !is_entry(&record_key(a)));
            }
            for b in &ids[i + 1..] {
                assert_ne!(record_key(a), record_key(b), "{a:?} and {b:?}");
            }
        }
        assert_eq!(
            Index::Due.entry_key(Timestamp::default(), &ids[8]).len(),
            MAX_ENGINE_KEY_LEN
        );
    }

    #[test]
    fn entries_sort_by_time_and_before_all_records() {
        let at = Timestamp::from_millis;
        let keys = [
            Index::Due.start(),
            Index::Due.entry_key(at(1), &id("z", "z")),
            Index::Due.entry_key(at(256), &id("a", "a")),
            Index::Lapse.start(),
            Index::Lapse.entry_key(at(0), &id("a", "a")),
            BEFORE_RECORDS.to_vec(),
            record_key(&id("a", "a")),
        ];
        assert!(keys.is_sorted());
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let key = Index::Due.entry_key(Timestamp::default(), &id("s", "k"));
        for bytes in [
            &b""[..],
            b"\x01",
            b"\x01r",
            b"\x01r\x00k",
            b"\x01r\x05abc",
            b"\x01r\x03abc",
            b"\x01r\x01a\xff",
            b"\x02r\x01ak",
            &key[..9],
        ] {
            assert_eq!(parse_record_key(bytes), None, "{bytes:?}");
            assert_eq!(Index::Due.parse_entry_key(bytes), None, "{bytes:?}");
        }
        assert_eq!(Index::Lapse.parse_entry_key(&key), None);
    }
}
