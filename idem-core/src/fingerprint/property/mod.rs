//! What holds of canonical JSON, whatever the text: for the tests, and for the fuzz target
//! `canonical_json`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

pub(crate) mod change;
pub(crate) mod model;
pub(crate) mod oracle;
// The fuzz target has one of its own, from this same file: there the crate may depend on no more than
// it does for its users.
#[cfg(test)]
pub(crate) mod rfc_8785;
pub(crate) mod spell;

use change::change;
use model::Json;
use spell::{Choices, spell};

use super::canonical_json::canonicalize;

const MAX_LEVELS: usize = 128;

/// Checks everything that canonical JSON promises of `text`. `rfc_8785` is an implementation by others.
///
/// # Panics
/// If a promise is broken.
pub fn check(text: &[u8], rfc_8785: fn(&[u8]) -> Result<String, String>) {
    let theirs = rfc_8785(text);
    match canonical_and_value(text) {
        Some((canonical, value)) => {
            check_plain(text, &canonical, &value);
            check_against_rfc_8785(&canonical, &value, theirs);
        }
        // They take members named twice, and exponents of any length.
        None => assert!(
            theirs.is_err() || text.iter().any(|byte| matches!(byte, b'{' | b'e' | b'E')),
            "only others read {}",
            text.escape_ascii()
        ),
    }
}

/// Both, or neither: a text is plain JSON exactly if the oracle says so.
fn canonical_and_value(text: &[u8]) -> Option<(Vec<u8>, Json)> {
    let canonical = canonicalize(text);
    let value = oracle::parse(text).filter(|value| levels(value) <= MAX_LEVELS);
    assert_eq!(
        canonical.is_some(),
        value.is_some(),
        "is it plain? {}",
        text.escape_ascii()
    );
    canonical.zip(value)
}

fn check_plain(text: &[u8], canonical: &[u8], value: &Json) {
    // Two values cannot share a spelling that each can be read from.
    let (again, same_value) = canonical_and_value(canonical).expect("plain itself");
    assert_eq!(same_value, *value, "{}", text.escape_ascii());
    assert_eq!(again, canonical, "{}", text.escape_ascii());

    let seed = |seed: u64, byte: &u8| seed.wrapping_mul(31).wrapping_add((*byte).into());
    let mut choices = Choices::new(text.iter().fold(0, seed));
    check_other_spelling(canonical, value, value, &mut choices);
    let mut other = value.clone();
    change(&mut other, &mut choices);
    check_other_spelling(canonical, value, &other, &mut choices);
}

/// Some spelling of `other` has the same canonical spelling as `value` exactly if the two are equal.
fn check_other_spelling(canonical: &[u8], value: &Json, other: &Json, choices: &mut Choices) {
    let spelling = spell(other, choices);
    // It may be out of bounds, by an exponent of ten digits or by one more level.
    if let Some((other_canonical, read)) = canonical_and_value(spelling.as_bytes()) {
        assert_eq!(read, *other, "{spelling}");
        assert_eq!(other_canonical == canonical, value == other, "{spelling}");
    }
}

fn check_against_rfc_8785(canonical: &[u8], value: &Json, theirs: Result<String, String>) {
    match theirs {
        Ok(theirs) => {
            let their_value = oracle::parse(theirs.as_bytes()).expect("plain, too");
            assert!(equal_as_doubles(value, &their_value), "{theirs}");
            // RFC 8785 was exact: it rounded no number.
            if their_value == *value {
                assert_eq!(theirs.as_bytes(), canonical, "{theirs}");
            }
        }
        Err(error) => {
            let bounds = ["number out of range", "recursion limit exceeded"];
            assert!(
                bounds.iter().any(|bound| error.starts_with(bound)),
                "others do not read {}: {error}",
                canonical.escape_ascii()
            );
        }
    }
}

fn levels(value: &Json) -> usize {
    let deepest = match value {
        Json::Array(values) => values.iter().map(levels).max(),
        Json::Object(members) => members.values().map(levels).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

fn equal_as_doubles(one: &Json, two: &Json) -> bool {
    match (one, two) {
        (Json::Number(one), Json::Number(two)) => one.to_f64() == two.to_f64(),
        (Json::Array(one), Json::Array(two)) => {
            let mut pairs = one.iter().zip(two);
            one.len() == two.len() && pairs.all(|(one, two)| equal_as_doubles(one, two))
        }
        (Json::Object(one), Json::Object(two)) => {
            let mut pairs = one.values().zip(two.values());
            one.keys().eq(two.keys()) && pairs.all(|(one, two)| equal_as_doubles(one, two))
        }
        _ => one == two,
    }
}
