//! What an operation asks for, as 32 bytes.

mod canonical_json;
#[cfg(any(test, idem_fuzz))]
pub(crate) mod property;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::digest::Framed;

/// What an operation asks for: a SHA-256 over its parts, and the version of the algorithm.
///
/// The same key with another fingerprint is a client's bug and is answered
/// [`Mismatch`](crate::Outcome::Mismatch), never with the first answer. So put in everything that
/// decides what the request does: method, path with query, body. Leave out what may differ between
/// retries of one request: dates, trace ids, signatures.
///
/// Parts are framed by their lengths and cannot run into each other. Version 1 is frozen by golden
/// vectors: [derived keys](crate::DerivedKey) rest on it. A record whose fingerprint was computed by
/// another version never matches; it is a mismatch, not a second run.
///
/// `Debug` shows the version only.
///
/// ```
/// use idem_core::Fingerprint;
///
/// let first = Fingerprint::builder().bytes("path", "/payments").json("body", br#"{"amount":1.50,"to":"ana"}"#);
/// let retry = Fingerprint::builder().bytes("path", "/payments").json("body", br#"{ "to": "ana", "amount": 1.5 }"#);
/// assert_eq!(first.finish(), retry.finish());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    version: u8,
    digest: [u8; 32],
}

impl Fingerprint {
    /// The version of the algorithm that this release computes.
    pub const VERSION: u8 = 1;

    /// A fingerprint of labelled parts.
    pub fn builder() -> FingerprintBuilder {
        FingerprintBuilder::new()
    }

    /// A fingerprint of bytes alone, taken as they are.
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self::builder().bytes("", bytes).finish()
    }

    /// A fingerprint that a store kept.
    pub const fn from_parts(version: u8, digest: [u8; 32]) -> Self {
        Self { version, digest }
    }

    /// The version of the algorithm that computed it.
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The digest, for a store to keep.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint(v{})", self.version)
    }
}

/// Builds a [`Fingerprint`] from labelled parts. Order, labels and kinds count.
#[derive(Clone)]
pub struct FingerprintBuilder(Framed);

/// How the bytes of a part were made.
const RAW: u8 = 0;
const CANONICAL_JSON: u8 = 1;

impl FingerprintBuilder {
    fn new() -> Self {
        let mut framed = Framed::new("idem.fingerprint");
        framed.byte(Fingerprint::VERSION);
        Self(framed)
    }

    /// Adds a part, byte for byte.
    #[must_use]
    pub fn bytes(self, label: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.part(RAW, label, bytes.as_ref())
    }

    /// Adds a JSON text, so that two spellings of one value are equal: the order of members, white
    /// space and escapes do not count, numbers are compared as exact decimals (`1.0` is `1`, but
    /// 9007199254740993 is not 9007199254740992).
    ///
    /// A false match would replay the wrong answer; a false mismatch only annoys. So whatever is not
    /// plain JSON is added byte for byte, as by [`bytes`](Self::bytes): a syntax error, a member named
    /// twice, bad UTF-8, a lone surrogate, more than 128 levels of nesting, a number whose exponent,
    /// as written (leading zeros aside) or in scientific notation, has more than nine digits. The time
    /// and memory it takes are proportional to the text.
    #[must_use]
    pub fn json(self, label: &str, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        match canonical_json::canonicalize(text) {
            Some(canonical) => self.part(CANONICAL_JSON, label, &canonical),
            None => self.part(RAW, label, text),
        }
    }

    /// The fingerprint of the parts added.
    pub fn finish(self) -> Fingerprint {
        Fingerprint {
            version: Fingerprint::VERSION,
            digest: self.0.finish(),
        }
    }

    fn part(mut self, kind: u8, label: &str, bytes: &[u8]) -> Self {
        self.0.byte(kind);
        self.0.part(label.as_bytes());
        self.0.part(bytes);
        self
    }
}

impl fmt::Debug for FingerprintBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintBuilder(..)")
    }
}
