//! The key of a request: the `Idempotency-Key` header, bare (`order-17`) or quoted (`"order-17"`, the
//! string of RFC 9651 that the IETF draft asks for). Both spellings are the same key.
//!
//! What is not clearly a key is refused, never ignored: ignored, the request would run unprotected.

use axum::http::HeaderMap;
use idempotency::Key;

use crate::problem::{Kind, Problem};

const NAME: &str = "idempotency-key";

/// The key that the client chose.
pub(crate) fn read(headers: &HeaderMap) -> Result<Key, Problem> {
    let mut lines = headers.get_all(NAME).iter();
    let Some(line) = lines.next() else {
        return Err(Problem::new(
            Kind::KeyMissing,
            "send an Idempotency-Key: a fresh one for each payment, the same one for each retry of it",
        ));
    };
    if lines.next().is_some() {
        return Err(malformed("there is more than one Idempotency-Key line"));
    }
    let text = match line.as_bytes() {
        [b'"', quoted @ ..] => unquote(quoted)?,
        bare => check_bare(bare)?,
    };
    // Length is checked on the key itself: quotes and backslashes do not count.
    Key::new(text).map_err(|error| malformed(&error.to_string()))
}

/// The inside of a quoted string, given what follows its opening quote.
fn unquote(quoted: &[u8]) -> Result<String, Problem> {
    let mut text = String::new();
    let mut bytes = quoted.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if bytes.len() == 0 => return Ok(text),
            b'"' => return Err(malformed("something follows the closing quote")),
            b'\\' => match bytes.next() {
                Some(escaped @ (b'"' | b'\\')) => text.push(escaped.into()),
                _ => return Err(malformed("a backslash escapes only a quote or a backslash")),
            },
            b' '..=b'~' => text.push(byte.into()),
            _ => return Err(malformed("a quoted key has only printable ASCII")),
        }
    }
    Err(malformed("the closing quote is missing"))
}

fn check_bare(bare: &[u8]) -> Result<String, Problem> {
    // A comma may be two header lines that a proxy joined.
    let allowed = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\,;".contains(byte);
    if bare.iter().all(allowed) {
        Ok(bare.iter().copied().map(char::from).collect())
    } else {
        Err(malformed(
            "a bare key has only visible ASCII without quote, backslash, comma and semicolon",
        ))
    }
}

fn malformed(reason: &str) -> Problem {
    Problem::new(Kind::KeyMalformed, reason)
}
