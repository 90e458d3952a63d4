//! The client's name for an operation.

use std::fmt;
use std::sync::Arc;

use crate::Error;
use crate::digest::{Framed, hex};
use crate::redact::Redacted;

/// The client's name for an operation: what it sends as `Idempotency-Key`, the same on every retry.
///
/// 1 to 255 bytes of UTF-8 without control characters, compared byte for byte: no trimming, no case
/// folding, no Unicode normalisation (law R9). Too long is an error, never cut. The IETF draft
/// (idempotency-key-header, section 2.2) recommends a UUID or a similar random identifier.
///
/// `Debug` shows a short digest, never the text.
///
/// ```
/// use idem_core::Key;
///
/// let key = Key::new("8e03978e-40d5-43e8-bc93-6894a57f9324")?;
/// assert_ne!(key, Key::new("8E03978E-40D5-43E8-BC93-6894A57F9324")?);
/// assert!(Key::new("tab\tinside").is_err());
/// # Ok::<(), idem_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The most bytes a key may have.
    pub const MAX_LEN: usize = 255;

    /// A key with the given text.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if empty, longer than [`Key::MAX_LEN`] bytes, or with a control
    /// character (Unicode category Cc) in it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, Error> {
        let text = text.as_ref();
        check_length("key", text.len())?;
        if let Some(at) = text.find(char::is_control) {
            return Err(Error::invalid(format!(
                "key has a control character at byte {at}: none is allowed"
            )));
        }
        Ok(Self(text.into()))
    }

    /// A key derived from content, for operations that have no client to name them: the recipient and
    /// subject of an e-mail, the id and version of a message.
    ///
    /// The same parts give the same key for ever; parts cannot run into each other. The key is a
    /// SHA-256, as 64 hex digits.
    ///
    /// ```
    /// use idem_core::Key;
    ///
    /// let key = Key::from_parts(["ana@example.com", "Your receipt"]);
    /// assert_ne!(key, Key::from_parts(["ana@example.comYour", " receipt"]));
    /// ```
    pub fn from_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        let mut framed = Framed::new("idem.key");
        parts
            .into_iter()
            .for_each(|part| framed.part(part.as_ref()));
        Self(hex(&framed.finish()).into())
    }

    /// The text of the key, as stores compare it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", Redacted(self.0.as_bytes()))
    }
}

pub(crate) fn check_length(what: &str, length: usize) -> Result<(), Error> {
    match length {
        1..=255 => Ok(()),
        0 => Err(Error::invalid(format!(
            "{what} is empty: 1 to 255 bytes are allowed"
        ))),
        _ => Err(Error::invalid(format!(
            "{what} has {length} bytes: 1 to 255 bytes are allowed"
        ))),
    }
}
