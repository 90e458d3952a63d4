//! Who a key belongs to.

use std::fmt;
use std::sync::Arc;

use crate::digest::{Framed, hex};
use crate::redact::Redacted;
use crate::{Error, key};

/// Who a key belongs to: a client or tenant. 1 to 255 bytes.
///
/// Keys are unique within a scope, and scopes never meet: no request of one scope ever sees the
/// record of another (law R7). Use the stable *principal* (an account or tenant id), not the
/// credential: after an API key is rotated, the same client's retry must still find its record. For
/// what is secret or longer than 255 bytes, use [`Scope::digest`].
///
/// `Debug` shows a short digest, never the bytes.
///
/// ```
/// use idem_core::Scope;
///
/// let tenant = Scope::new("acct_812")?;
/// assert_eq!(tenant.as_bytes(), b"acct_812");
/// assert!(Scope::new("").is_err());
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Arc<[u8]>);

impl Scope {
    /// The most bytes a scope may have.
    pub const MAX_LEN: usize = 255;

    /// A scope of the given bytes, compared byte for byte.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if empty or longer than [`Scope::MAX_LEN`].
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        let bytes = bytes.as_ref();
        key::check_length("scope", bytes.len())?;
        Ok(Self(bytes.into()))
    }

    /// A scope for what is secret or long: the SHA-256 of it, as 64 hex digits.
    ///
    /// ```
    /// use idem_core::Scope;
    ///
    /// let scope = Scope::digest("a very long or secret identity");
    /// assert_eq!(scope.as_bytes().len(), 64);
    /// ```
    pub fn digest(identity: impl AsRef<[u8]>) -> Self {
        let mut framed = Framed::new("idem.scope");
        framed.part(identity.as_ref());
        Self(hex(&framed.finish()).into_bytes().into())
    }

    /// The bytes of the scope, as stores compare them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", Redacted(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_invalid(length: usize, message: &str) {
        let error = Scope::new("s".repeat(length)).unwrap_err();
        assert!(error.is_invalid());
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_scope_has_1_to_255_bytes() {
        assert_invalid(0, "scope is empty: 1 to 255 bytes are allowed");
        for length in [1, 255] {
            let bytes = "s".repeat(length);
            assert_eq!(Scope::new(&bytes).unwrap().as_bytes(), bytes.as_bytes());
        }
        assert_invalid(256, "scope has 256 bytes: 1 to 255 bytes are allowed");
    }

    #[test]
    fn any_bytes_are_kept() {
        let all: Vec<u8> = (0..255).collect();
        assert_eq!(Scope::new(&all).unwrap().as_bytes(), all);
        for bytes in [&b"\0"[..], b"\xff", b" a ", b"a:b", b"\r\n", b"'{}%"] {
            assert_eq!(Scope::new(bytes).unwrap().as_bytes(), bytes);
        }
    }

    #[test]
    fn scopes_are_compared_byte_for_byte() {
        let scopes = ["a", " a", "a ", "A", "a\0", "\u{e9}", "e\u{301}"];
        for (i, a) in scopes.into_iter().enumerate() {
            for b in scopes.into_iter().skip(i + 1) {
                assert_ne!(
                    Scope::new(a).unwrap(),
                    Scope::new(b).unwrap(),
                    "{a} and {b}"
                );
            }
        }
    }

    /// Computed apart from this code: the SHA-256, in hex, of `["idem.scope"] [identity]`, where `[x]`
    /// is the length of `x` as eight bytes, big-endian, and then `x`.
    #[test]
    fn digests_are_frozen() {
        for (identity, expected) in [
            (
                "",
                "b6a4ba105f0c7dfa5f794022cc6f42670004aa8849bff5ec9bb04dc890b9920f",
            ),
            (
                "sk_live_51H",
                "579bcbc8da06285a3e32266d87701e74625e6bdc6eec54fe7c92f480566d9cb2",
            ),
        ] {
            assert_eq!(Scope::digest(identity).as_bytes(), expected.as_bytes());
        }
    }

    #[test]
    fn a_digest_takes_any_length_and_shows_nothing_of_the_identity() {
        let long = "long identity ".repeat(1000);
        let scope = Scope::digest(&long);
        assert_eq!(scope.as_bytes().len(), 64);
        assert_ne!(scope, Scope::digest(&long[1..]));
    }

    #[test]
    fn debug_shows_the_first_four_bytes_of_a_digest() {
        let scope = Scope::new("acct_812").unwrap();
        assert_eq!(format!("{scope:?}"), "Scope(#fe67207a)");
    }
}
