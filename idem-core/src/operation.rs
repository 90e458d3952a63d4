//! One request for one logical operation, and what names it.

use std::fmt;

use crate::redact::Redacted;
use crate::{DerivedKey, Fingerprint, Key, Scope, Token};

/// What names a record: a key within its scope.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// Who the key belongs to.
    pub scope: Scope,
    /// The client's name for the operation.
    pub key: Key,
}

impl RecordId {
    /// The record of `key` within `scope`.
    pub fn new(scope: Scope, key: Key) -> Self {
        Self { scope, key }
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({self})")
    }
}

/// Shows short digests of scope and key, fit for logs.
impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}",
            Redacted(self.scope.as_bytes()),
            Redacted(self.key.as_str().as_bytes())
        )
    }
}

/// One request for one logical operation: whose it is, what the client calls it, what it asks for.
///
/// ```
/// use idem_core::{Fingerprint, Key, Operation, Scope};
///
/// let operation = Operation::new(
///     Scope::new("acct_812")?,
///     Key::new("order-17")?,
///     Fingerprint::builder()
///         .bytes("method", "POST")
///         .bytes("path", "/payments")
///         .json("body", br#"{"amount":"150.00"}"#)
///         .finish(),
/// );
/// # let _ = operation;
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The record that this request is about.
    pub record: RecordId,
    /// What the request asks for.
    pub fingerprint: Fingerprint,
}

impl Operation {
    /// The operation that `scope` calls `key`, asking for what `fingerprint` stands for.
    pub fn new(scope: Scope, key: Key, fingerprint: Fingerprint) -> Self {
        Self {
            record: RecordId::new(scope, key),
            fingerprint,
        }
    }

    /// A key for a downstream provider: see [`DerivedKey`].
    pub fn derived_key(&self, label: &str) -> DerivedKey {
        DerivedKey::of(self, label)
    }
}

/// What every write names: the record, the token that reserved it, and the attempt.
///
/// A store changes a record only for its current holder; anybody else is told
/// [`Superseded`](crate::Update::Superseded) (law C3). Token *and* attempt: a token that was revived by
/// a late copy of its own reserve must not be mistaken for the attempt that it once was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The record held.
    pub record: RecordId,
    /// The token that reserved it.
    pub token: Token,
    /// 1 for the first run; one more each time the same record is taken over.
    pub attempt: u32,
}

impl Holder {
    /// The holder of `record` by `token` in its attempt number `attempt`.
    pub fn new(record: RecordId, token: Token, attempt: u32) -> Self {
        Self {
            record,
            token,
            attempt,
        }
    }
}
