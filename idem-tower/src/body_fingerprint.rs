//! What a request's body adds to its fingerprint.
//!
//! A false match would replay the wrong answer; a false mismatch only annoys. So two bodies are equal if
//! they are the same bytes of the same content type, and otherwise only where it is certain that they
//! ask for the same:
//!
//! - **JSON** (`application/json` and any `*/*+json`) is compared as
//!   [canonical JSON](FingerprintBuilder::json): white space, the order of members and the spelling of
//!   numbers and escapes do not count. Of the content type, the case of its letters and `charset=utf-8` do
//!   not count: `application/json; charset=utf-8` is `application/json`. Other parameters do: there are
//!   interfaces that have their version there.
//! - **`multipart/*`** is compared without its boundary, which clients choose anew for each attempt.
//!   Everything else counts, byte for byte: the parts in their order, with all of their headers (names,
//!   file names) and their content; and the other parameters of the content type. The body must be
//!   framed in the plainest way: it begins with `--boundary`; each delimiter is a line of its own, ended
//!   by CRLF; the last is `--boundary--`, with no more than a CRLF after it; and `--boundary` occurs
//!   nowhere else, not even as the beginning of a longer line. The boundary has 1 to 70 of the characters
//!   that RFC 2046 allows, and no space.
//! - **Anything else** is compared byte for byte, with the content type as it was sent, parameters and
//!   all: forms, text, XML, binary data; a content type that is absent, malformed or on more than one
//!   line; multipart bodies that are not framed as above.
//! - With a **`Content-Encoding`** other than `identity`, so is every body, and the encoding counts. A
//!   client that compresses anew for each attempt may send other bytes (gzip, for one, can hold the time)
//!   and is then refused as a mismatch: it is to keep the compressed body for its retries.
//!
//! An empty body is no body. The time that it takes is proportional to the length of the body, which is
//! never copied, except that JSON is written anew in canonical form.

mod media_type;
mod multipart;
#[cfg(test)]
mod tests;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use idem_core::FingerprintBuilder;

use media_type::MediaType;

/// Adds what the request's body asks for, by the rules of this module.
///
/// The parts are, by their labels:
///
/// | body | parts |
/// | --- | --- |
/// | JSON | `content-type` (type and subtype in lower case), `content-type-parameter`s, `body` (as canonical JSON) |
/// | multipart | `content-type` (likewise), `content-type-parameter`s, `part`s, `parts` (their number), `end` |
/// | other | `content-encoding`s, `content-type`s (as they were sent, one per line), `body` |
///
/// Different parts are different fingerprints, so these three cannot be taken for each other: only the
/// second has `end`; and one `content-type` with a `body`, but without `content-encoding`, is JSON
/// exactly if that content type is, and only then is the body canonical or `content-type-parameter`s
/// come before it.
pub(crate) fn add(
    builder: FingerprintBuilder,
    headers: &HeaderMap,
    body: &[u8],
) -> FingerprintBuilder {
    let encoded = is_encoded(headers);
    if !encoded && let Some(media_type) = the_media_type(headers) {
        if media_type.is_json() {
            let builder = builder.bytes("content-type", media_type.essence());
            return media_type
                .but_utf_8()
                .fold(builder, add_parameter)
                .json("body", body);
        }
        if let Some(added) = multipart::add(&builder, &media_type, body) {
            return added;
        }
    }
    let builder = if encoded {
        add_how_it_is_read(builder, headers)
    } else {
        add_lines(builder, headers, &CONTENT_TYPE)
    };
    builder.bytes("body", body)
}

/// Adds how a body is to be read, as it was sent: content coding and content type.
pub(crate) fn add_how_it_is_read(
    builder: FingerprintBuilder,
    headers: &HeaderMap,
) -> FingerprintBuilder {
    let builder = add_lines(builder, headers, &CONTENT_ENCODING);
    add_lines(builder, headers, &CONTENT_TYPE)
}

/// Adds a parameter of a content type, with a name in lower case and the value as it was sent.
fn add_parameter(builder: FingerprintBuilder, (name, value): (&str, &[u8])) -> FingerprintBuilder {
    let parameter = [name.as_bytes(), b"=", value].concat();
    builder.bytes("content-type-parameter", parameter)
}

/// Whether the body is not, or not for certain, the bytes of its content type.
fn is_encoded(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONTENT_ENCODING).iter();
    match (lines.next(), lines.next()) {
        (None, _) => false,
        (Some(line), None) => !line.as_bytes().eq_ignore_ascii_case(b"identity"),
        (Some(_), Some(_)) => true,
    }
}

/// The content type, if there is one and no doubt about it.
fn the_media_type(headers: &HeaderMap) -> Option<MediaType<'_>> {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let line = lines.next()?;
    match lines.next() {
        None => MediaType::parse(line.as_bytes()),
        Some(_) => None,
    }
}

/// Adds each line of a header as it was sent: none, if it is absent, and an empty one, if it is empty.
fn add_lines(
    builder: FingerprintBuilder,
    headers: &HeaderMap,
    name: &HeaderName,
) -> FingerprintBuilder {
    let lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    lines.fold(builder, |builder, line| builder.bytes(name.as_str(), line))
}
