mod bounded_work;
mod framing;
mod golden;
mod jcs_vectors;
mod not_plain;
mod numbers;
mod parts;
mod properties;
mod strategies;
mod strings;
mod values;

use super::Fingerprint;
use super::canonical_json::canonicalize;

/// The canonical spelling, `None` if the text is not plain JSON.
fn canonical(text: impl AsRef<[u8]>) -> Option<String> {
    canonicalize(text.as_ref()).map(|spelling| String::from_utf8(spelling).unwrap())
}

/// The canonical spelling of what is plain JSON.
fn spelling(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    canonical(text).unwrap_or_else(|| panic!("not plain JSON: {}", text.escape_ascii()))
}

fn json(text: impl AsRef<[u8]>) -> Fingerprint {
    Fingerprint::builder().json("body", text).finish()
}

fn bytes(text: impl AsRef<[u8]>) -> Fingerprint {
    Fingerprint::builder().bytes("body", text).finish()
}
