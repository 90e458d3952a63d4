//! How a key or a scope appears in logs: a short digest, enough to recognise, never the text.

use std::fmt;

use sha2::{Digest, Sha256};

/// The first four bytes of the SHA-256 of something that must not be shown, in hex.
///
/// It lets an operator who knows a key find its log lines, and tells nothing to one who does not.
pub(crate) struct Redacted<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("#")?;
        Sha256::digest(self.0)[..4]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
