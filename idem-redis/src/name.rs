//! What records and cached values are called on the server.
//!
//! ```text
//! record   prefix : scope : key        everything but a-z A-Z 0-9 - . _ ~ as %XX
//! cached   prefix :: 64 hex digits
//! mark     prefix ::wait:{ record }    written before a wait for replicas; forgotten within a second
//! ```
//! A name says which record it is, and no two records share one, under one prefix or several: the last two
//! parts between colons are scope and key, never empty, and what stands before is the prefix.
//!
//! There is no brace in the name of a record, whatever a client calls its operation. So a cluster takes the whole
//! name for the slot: no two parts of one record can come apart, and nobody gathers keys in one slot by writing
//! `{tag}` into them.

use std::fmt;
use std::sync::Arc;

use idem_core::{CacheKey, Error, Key, RecordId, Scope};

/// What stands before every name, and keeps stores, caches and everything else on a server apart.
///
/// ```
/// use idem_redis::Prefix;
///
/// assert!(Prefix::new("payments.v2").is_ok());
/// assert!(Prefix::new("{payments}").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// The longest prefix, in bytes.
    pub const MAX_LEN: usize = 64;

    /// A prefix with this text.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) unless it is 1 to 64 of `a`–`z`, `A`–`Z`, `0`–`9`, `-`, `.`, `_`
    /// and `:`, neither beginning nor ending with a colon, nor with two in a row.
    pub fn new(text: impl AsRef<str>) -> Result<Self, Error> {
        let text = text.as_ref();
        let fits = text.len() <= Self::MAX_LEN
            && text.split(':').all(|part| {
                !part.is_empty() && part.bytes().all(|byte| is_plain(byte) && byte != b'~')
            });
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(Error::invalid(
                "the prefix is not allowed: it has 1 to 64 of a-z, A-Z, 0-9, '-', '.', '_' and ':', and no \
                 empty part between colons",
            ))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of_record(&self, record: &RecordId) -> String {
        let mut name = format!("{}:", self.0);
        write_escaped(&mut name, record.scope.as_bytes());
        name.push(':');
        write_escaped(&mut name, record.key.as_str().as_bytes());
        name
    }

    pub(crate) fn of_cached(&self, key: &CacheKey) -> String {
        let mut name = format!("{}::", self.0);
        for byte in key.as_bytes() {
            push_hex(&mut name, *byte);
        }
        name
    }

    /// The mark beside the record of this name: in its slot, since a cluster takes what stands in braces for it.
    pub(crate) fn of_mark(&self, record: &str) -> String {
        format!("{}::wait:{{{record}}}", self.0)
    }

    /// For `SCAN`: every name under this prefix, and perhaps others. No byte of a prefix means anything there.
    pub(crate) fn pattern(&self) -> String {
        format!("{}:*", self.0)
    }

    /// The record that is called so; `None` if that is the name of something else.
    pub(crate) fn parse(&self, name: &[u8]) -> Option<RecordId> {
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(&*self.0)?.strip_prefix(':')?;
        let (scope, key) = rest.split_once(':')?;
        let id = RecordId::new(
            Scope::new(unescaped(scope)?).ok()?,
            Key::new(String::from_utf8(unescaped(key)?).ok()?).ok()?,
        );
        // One spelling only.
        (self.of_record(&id) == name).then_some(id)
    }
}

impl Default for Prefix {
    /// `idem`
    fn default() -> Self {
        Self("idem".into())
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix({})", self.0)
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn write_escaped(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            push_hex(out, byte);
        }
    }
}

fn push_hex(out: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
    }
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(scope: impl AsRef<[u8]>, key: &str) -> RecordId {
        RecordId::new(Scope::new(scope).unwrap(), Key::new(key).unwrap())
    }

    #[test]
    fn names_are_frozen() {
        let prefix = Prefix::default();
        let name = prefix.of_record(&id("acct_812", "order {17}: 5%"));
        assert_eq!(name, "idem:acct_812:order%20%7b17%7d%3a%205%25");
    }

    #[test]
    fn no_two_records_share_a_name_and_each_is_read_back() {
        let prefixes = ["a", "ab", "a:b", "a.b"].map(|text| Prefix::new(text).unwrap());
        let long = "{".repeat(255);
        let all_bytes: Vec<u8> = (0..255).collect();
        let ids = [
            id("b", "c"),
            id("a", "b:c"),
            id("a:b", "c"),
            id("a%3ab", "c"),
            id("b", "a:b:c"),
            id(&long, &long),
            id(&all_bytes, "'\"`:{}%\\ ключ 鍵 🔑"),
        ];
        let mut names = std::collections::BTreeSet::new();
        for prefix in &prefixes {
            for id in &ids {
                let name = prefix.of_record(id);
                assert!(!name.contains(['{', '}']), "{name}");
                assert_eq!(prefix.parse(name.as_bytes()).as_ref(), Some(id));
                for other in prefixes.iter().filter(|other| *other != prefix) {
                    assert_eq!(other.parse(name.as_bytes()), None, "{name}");
                }
                assert!(names.insert(name));
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let prefix = Prefix::default();
        for name in [
            "idem",
            "idem:",
            "idem:a",
            "idem:a:",
            "idem::a",
            "idem:a:b:c",
            "idem:a:%4",
            "idem:a:%zz",
            "idem:a:%41",
            "idem:a:%7B",
            "idem:a:{",
            "other:a:b",
            "idem:a:%ff",
            "idem:a:%+1",
        ] {
            assert_eq!(prefix.parse(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_prefix_is_strictly_checked() {
        let long = "a".repeat(65);
        for text in [
            "", ":", "a:", ":a", "a::b", "{a}", "a*", "a b", "ä", "a~", &long,
        ] {
            assert!(Prefix::new(text).unwrap_err().is_invalid(), "{text}");
        }
        assert!(Prefix::new(&long[1..]).is_ok());
    }
}
