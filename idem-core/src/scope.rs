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
