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
