//! The key of a request, as its header spells it: quoted (`"order-17"`, the String of RFC 9651 that the
//! IETF draft asks for) or bare (`order-17`, as most clients send it). Both spellings are one key.
//!
//! What is not clearly a key is refused, never taken for no key: the request would run unprotected.

mod item;
mod parameters;
#[cfg(any(test, idem_fuzz))]
pub(crate) mod property;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use http::{HeaderMap, HeaderName};
use idem_core::Key;

/// Reads the one field line that `name` may have. No line is no key; an empty one is malformed.
pub(crate) fn read(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Key>, Malformed> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Ok(None),
        (Some(line), None) => parse(line.as_bytes()).map(Some),
        // Two keys, or one that a comma cut in two: nobody can tell which the client meant.
        (Some(_), Some(_)) => Err(Malformed(Reason::SeveralLines)),
    }
}

/// Reads the value of the header, or the same text from another carrier.
///
/// After its leading spaces (SP only), a value that begins with a quote is an Item of RFC 9651,
/// section 4.2, and a String; its parameters are checked and ignored. Any other value is a bare key:
/// visible ASCII without quote, backslash, comma and semicolon.
pub(crate) fn parse(value: &[u8]) -> Result<Key, Malformed> {
    let text = match without_leading_spaces(value) {
        [b'"', quoted @ ..] => item::unquote(quoted)?,
        bare => check_bare(without_trailing_spaces(bare))?,
    };
    // The length of the key itself: quotes, backslashes and parameters do not count. It is all that can
    // be wrong with it: what was accepted above is printable ASCII.
    let length = text.len();
    Key::new(text).map_err(|_| Malformed(Reason::Length(length)))
}

/// A bare key. It may be empty, as a quoted one may: its length is checked with the other's.
fn check_bare(bare: &[u8]) -> Result<String, Reason> {
    // A comma may be two field lines that a proxy joined, a semicolon the parameters of an Item.
    let allowed = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\,;".contains(byte);
    if bare.iter().all(allowed) {
        Ok(bare.iter().copied().map(char::from).collect())
    } else {
        Err(Reason::Bare)
    }
}

fn without_leading_spaces(mut value: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = value {
        value = rest;
    }
    value
}

fn without_trailing_spaces(mut value: &[u8]) -> &[u8] {
    while let [rest @ .., b' '] = value {
        value = rest;
    }
    value
}

/// Why a header is not a key. `Display` is for the client: it says what is allowed, and has nothing of
/// the header in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(Reason);

/// Holds no text, so that none of the header's can get into an answer or a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    SeveralLines,
    /// The bytes that the key has.
    Length(usize),
    NoClosingQuote,
    Escape,
    NotPrintable,
    AfterClosingQuote,
    Bare,
}

impl From<Reason> for Malformed {
    fn from(reason: Reason) -> Self {
        Self(reason)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Reason::SeveralLines => "there is more than one line of it: one is allowed",
            Reason::Length(0) => "the key is empty: 1 to 255 bytes are allowed",
            Reason::Length(length) => {
                return write!(
                    f,
                    "the key has {length} bytes: 1 to {} bytes are allowed",
                    Key::MAX_LEN
                );
            }
            Reason::NoClosingQuote => {
                "the closing quote is missing: what begins with a quote is a quoted key"
            }
            Reason::Escape => "in a quoted key, a backslash escapes only a quote or a backslash",
            Reason::NotPrintable => "a quoted key has only printable ASCII (bytes 0x20 to 0x7E)",
            Reason::AfterClosingQuote => {
                "only parameters of RFC 9651, such as `;name=1`, may follow the closing quote"
            }
            Reason::Bare => {
                "a bare key has only visible ASCII (bytes 0x21 to 0x7E) without quote, backslash, \
                 comma and semicolon: other printable ASCII needs a quoted key"
            }
        })
    }
}

impl Error for Malformed {}
