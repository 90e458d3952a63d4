//! What holds of the key's header, whatever the bytes: for the tests, and for the fuzz target
//! `key_header`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

// The fuzz target has one of its own, from this same file: there the crate may depend on no more than
// it does for its users.
#[cfg(test)]
pub(crate) mod sfv_string;

use super::{Malformed, Reason, parse};

/// Reads the bytes, and says the same of them as `sfv_string` (an implementation of RFC 9651 by others,
/// which gives the String of an Item) or as the rule for bare keys, stated a second time.
///
/// # Panics
/// If they differ, or if a key that was read has a spelling that is not read as the same key.
pub fn check(value: &[u8], sfv_string: fn(&[u8]) -> Option<String>) {
    let ours = parse(value);
    let quoted = value.iter().find(|byte| **byte != b' ') == Some(&b'"');
    let text = match quoted {
        true => sfv_string(value),
        false => bare(value),
    };
    match (&ours, text) {
        (Ok(key), Some(text)) => assert_eq!(key.as_str(), text),
        (Err(Malformed(Reason::Length(length))), Some(text)) => {
            assert_eq!(*length, text.len());
            assert!(!(1..=255).contains(length), "{length} bytes are allowed");
        }
        (Err(Malformed(reason)), None) => assert!(
            !matches!(reason, Reason::Length(_) | Reason::SeveralLines)
                && quoted == (*reason != Reason::Bare),
            "{reason:?} of {}",
            value.escape_ascii()
        ),
        (ours, text) => panic!(
            "{ours:?}, but {:?}, of {}",
            text.is_some(),
            value.escape_ascii()
        ),
    }
    if let Ok(key) = ours {
        check_spellings(key.as_str());
    }
}

/// The text of a bare key, however long: the bytes that are allowed are written out.
fn bare(value: &[u8]) -> Option<String> {
    const ALLOWED: &str = "!#$%&'()*+-./0123456789:<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`\
                           abcdefghijklmnopqrstuvwxyz{|}~";
    let text = std::str::from_utf8(value).ok()?.trim_matches(' ');
    text.chars()
        .all(|char| ALLOWED.contains(char))
        .then(|| text.to_owned())
}

/// Each spelling of a key is the same key.
fn check_spellings(key: &str) {
    let escaped = key.replace('\\', r"\\").replace('"', r#"\""#);
    let mut spellings = vec![
        format!("\"{escaped}\""),
        format!("  \"{escaped}\"  "),
        format!("\"{escaped}\";v=1; w=\"x\";y"),
    ];
    if bare(key.as_bytes()).is_some_and(|bare| bare == key) {
        spellings.push(key.to_owned());
        spellings.push(format!(" {key} "));
    }
    for spelling in spellings {
        assert_eq!(parse(spelling.as_bytes()).unwrap().as_str(), key);
    }
}
