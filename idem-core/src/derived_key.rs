//! A key for a downstream provider.

use std::fmt;

use crate::Operation;
use crate::digest::Framed;

/// A key for a downstream provider, computed from an operation and a label: the same on every attempt.
///
/// It is a SHA-256 over scope, key, fingerprint and label, formatted as a UUID (version 8 of RFC 9562:
/// 36 characters, which fits every provider). It does not depend on the attempt, the token or anything
/// stored. So even after the record was lost the same request derives the same key, and a provider
/// that deduplicates charges once, for as long as the *provider* remembers; see
/// [`Builder::longest_age`](crate::Builder::longest_age) for the end of that.
///
/// Use one label for each effect of an operation: `"charge"`, `"receipt-mail"`. The derivation is
/// frozen by golden vectors.
///
/// ```
/// # use idem_core::{Fingerprint, Key, Operation, Scope};
/// let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, Fingerprint::raw(b"150.00"));
/// let key = operation.derived_key("charge");
/// assert_eq!(key.as_str().len(), 36);
/// assert_eq!(key, operation.derived_key("charge"));
/// assert_ne!(key, operation.derived_key("refund"));
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DerivedKey(String);

impl DerivedKey {
    pub(crate) fn of(operation: &Operation, label: &str) -> Self {
        let mut framed = Framed::new("idem.derived-key.1");
        framed.part(operation.record.scope.as_bytes());
        framed.part(operation.record.key.as_str().as_bytes());
        framed.byte(operation.fingerprint.version());
        framed.part(operation.fingerprint.as_bytes());
        framed.part(label.as_bytes());
        let digest = framed.finish();
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&digest[..16]);
        uuid[6] = uuid[6] & 0x0f | 0x80; // version 8: custom, RFC 9562 section 5.8
        uuid[8] = uuid[8] & 0x3f | 0x80; // the RFC's variant
        let n = u128::from_be_bytes(uuid);
        Self(format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            n >> 96,
            n >> 80 & 0xffff,
            n >> 64 & 0xffff,
            n >> 48 & 0xffff,
            n & 0xffff_ffff_ffff,
        ))
    }

    /// The key as the provider receives it: 36 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows the key: it is meant for the provider's logs, and tells nothing about what it came from.
impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DerivedKey({})", self.0)
    }
}

impl AsRef<str> for DerivedKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprint, Key, Scope};

    fn operation(scope: &[u8], key: &str, fingerprint: Fingerprint) -> Operation {
        Operation::new(
            Scope::new(scope).unwrap(),
            Key::new(key).unwrap(),
            fingerprint,
        )
    }

    fn charge() -> Operation {
        operation(b"acct_812", "order-17", Fingerprint::raw("150.00"))
    }

    /// Computed apart from this code: the first 16 bytes of the SHA-256 of
    ///
    ///     ["idem.derived-key.1"] [scope] [key] version [digest] [label]
    ///
    /// with version and variant set as in RFC 9562, where `[x]` is the length of `x` as eight bytes,
    /// big-endian, and then `x`, and version is the fingerprint's, one byte.
    #[test]
    fn derived_keys_are_frozen() {
        let foreign = operation(b"\x00\xff", "ключ", Fingerprint::from_parts(2, [0; 32]));
        for (operation, label, expected) in [
            (charge(), "charge", "8a9cba37-dd97-852a-96c3-96bdefaad607"),
            (charge(), "", "d392d551-e6be-8a5b-9cf1-69e2578f2c8f"),
            (
                foreign,
                "receipt-mail",
                "af6dea8c-c17f-8957-a3d2-e61666ddd3fc",
            ),
        ] {
            assert_eq!(operation.derived_key(label).as_str(), expected);
        }
    }

    #[test]
    fn it_depends_on_scope_key_fingerprint_and_label() {
        let digest = *Fingerprint::raw("150.00").as_bytes();
        let mut other_digest = digest;
        other_digest[31] ^= 1;
        let first = operation(b"a", "k", Fingerprint::from_parts(1, digest));
        let keys = [
            first.derived_key("charge"),
            first.derived_key("refund"),
            first.derived_key(""),
            operation(b"b", "k", Fingerprint::from_parts(1, digest)).derived_key("charge"),
            operation(b"a", "l", Fingerprint::from_parts(1, digest)).derived_key("charge"),
            operation(b"a", "k", Fingerprint::from_parts(2, digest)).derived_key("charge"),
            operation(b"a", "k", Fingerprint::from_parts(1, other_digest)).derived_key("charge"),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[i + 1..].contains(key), "{i}");
        }
    }

    #[test]
    fn scope_and_key_do_not_run_into_each_other() {
        let fingerprint = Fingerprint::raw("");
        let derived = |scope: &[u8], key| operation(scope, key, fingerprint).derived_key("charge");
        assert_ne!(derived(b"a", "b:c"), derived(b"a:b", "c"));
        assert_ne!(derived(b"a", "bc"), derived(b"ab", "c"));
    }

    #[test]
    fn the_same_request_spelled_anew_derives_the_same_key() {
        let request = |body: &str| {
            let fingerprint = Fingerprint::builder().json("body", body).finish();
            operation(b"acct_812", "order-17", fingerprint).derived_key("charge")
        };
        assert_eq!(
            request(r#"{"amount":1.5,"to":"ana"}"#),
            request(r#"{ "to": "ana", "amount": 1.50 }"#)
        );
        assert_ne!(request(r#"{"amount":1.5}"#), request(r#"{"amount":1.6}"#));
    }

    #[test]
    fn it_is_a_uuid_of_version_8_in_36_characters() {
        // Of 64 digests, some have other bits in these places, and some begin with a zero.
        for label in (0..64).map(|label| label.to_string()) {
            let key = charge().derived_key(&label);
            let text = key.as_str().as_bytes();
            assert_eq!(text.len(), 36);
            for (place, byte) in text.iter().enumerate() {
                match place {
                    8 | 13 | 18 | 23 => assert_eq!(*byte, b'-', "{key}"),
                    14 => assert_eq!(*byte, b'8', "the version in {key}"),
                    19 => assert!(b"89ab".contains(byte), "the variant in {key}"),
                    _ => assert!(matches!(byte, b'0'..=b'9' | b'a'..=b'f'), "{key}"),
                }
            }
        }
    }

    #[test]
    fn it_shows_itself_as_the_provider_receives_it() {
        let key = charge().derived_key("charge");
        assert_eq!(key.to_string(), key.as_str());
        assert_eq!(key.as_ref(), key.as_str());
        assert_eq!(format!("{key:?}"), format!("DerivedKey({key})"));
    }
}
