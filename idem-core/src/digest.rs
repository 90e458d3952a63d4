//! Labelled, length-prefixed hashing: parts cannot run into each other.
//!
//! Everything this crate derives by hashing (keys from parts, scope digests, derived keys,
//! fingerprints) goes through [`Framed`], so that `("a", "bc")` and `("ab", "c")` differ, and so that
//! a digest made for one purpose never equals one made for another.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// A SHA-256 over a purpose and a sequence of parts, each preceded by its length.
#[derive(Clone)]
pub(crate) struct Framed(Sha256);

impl Framed {
    /// `purpose` separates uses: one constant per kind of digest.
    pub(crate) fn new(purpose: &'static str) -> Self {
        let mut framed = Self(Sha256::new());
        framed.part(purpose.as_bytes());
        framed
    }

    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.update([byte]);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
