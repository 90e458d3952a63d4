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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_invalid(text: &str, message: &str) {
        let error = Key::new(text).unwrap_err();
        assert!(error.is_invalid());
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_key_has_1_to_255_bytes() {
        assert_invalid("", "key is empty: 1 to 255 bytes are allowed");
        for length in [1, 255] {
            let text = "k".repeat(length);
            assert_eq!(Key::new(&text).unwrap().as_str(), text);
        }
        assert_invalid(
            &"k".repeat(256),
            "key has 256 bytes: 1 to 255 bytes are allowed",
        );
    }

    #[test]
    fn bytes_are_counted_not_characters() {
        assert!(Key::new("é".repeat(127) + "k").is_ok());
        assert_invalid(
            &"é".repeat(128),
            "key has 256 bytes: 1 to 255 bytes are allowed",
        );
    }

    #[test]
    fn no_control_character_is_allowed_anywhere() {
        let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
        for control in controls {
            for text in [
                format!("{control}"),
                format!("{control}key"),
                format!("key{control}"),
            ] {
                let at = text.find(control).unwrap();
                assert_invalid(
                    &text,
                    &format!("key has a control character at byte {at}: none is allowed"),
                );
            }
        }
    }

    #[test]
    fn what_is_no_control_character_is_kept() {
        for text in [
            " ",
            "~",
            "\u{a0}",
            "\u{ad}",
            "\u{2028}",
            "\u{feff}",
            "\u{fffd}",
            "\u{10ffff}",
            "'\"`:{}%\\/;--",
            "ключ 鍵 🔑",
        ] {
            assert_eq!(Key::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn r9_spaces_case_and_normalisation_count() {
        let texts = [
            "key", " key", "key ", " key ", "k ey", "KEY", "Key", "\u{e9}", "e\u{301}", "ß", "ss",
            "1", "01", "１",
        ];
        for (i, a) in texts.into_iter().enumerate() {
            assert_eq!(Key::new(a).unwrap().as_str(), a);
            for b in texts.into_iter().skip(i + 1) {
                assert_ne!(Key::new(a).unwrap(), Key::new(b).unwrap(), "{a} and {b}");
            }
        }
    }

    /// Computed apart from this code: the SHA-256, in hex, of `["idem.key"]` and `[part]` for each
    /// part, where `[x]` is the length of `x` as eight bytes, big-endian, and then `x`.
    #[test]
    fn keys_from_parts_are_frozen() {
        let golden: [(&[&[u8]], &str); 4] = [
            (
                &[],
                "f63ed194da81956bb914307df8c7a4d20a7dc5b2547328c275bddaa876cad711",
            ),
            (
                &[b""],
                "d7a07158c9d2f4d3ffcc1e9e0b75fa4fbe8aa8aa526acaa8a3478d3d98823a27",
            ),
            (
                &[b"ana@example.com", b"Your receipt"],
                "5d62fc761a3abcbe70c308664c42a37ae8cf8eba83690ea35de509a9597547a9",
            ),
            (
                &[b"\x00\xff", "é".as_bytes()],
                "9828ef930d54310d434f3267a55bac8df0c76c3130a575ab3f8fbba5175e77de",
            ),
        ];
        for (parts, expected) in golden {
            assert_eq!(Key::from_parts(parts).as_str(), expected);
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let parts: [&[&str]; 8] = [
            &[],
            &[""],
            &["", ""],
            &["abc"],
            &["a", "bc"],
            &["ab", "c"],
            &["abc", ""],
            &["", "abc"],
        ];
        for (i, a) in parts.into_iter().enumerate() {
            for b in parts.into_iter().skip(i + 1) {
                assert_ne!(Key::from_parts(a), Key::from_parts(b), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn debug_shows_the_first_four_bytes_of_a_digest() {
        let key = Key::new("order-17").unwrap();
        assert_eq!(format!("{key:?}"), "Key(#72a90ea3)");
    }
}
