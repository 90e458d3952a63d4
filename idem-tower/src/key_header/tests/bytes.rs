//! Every byte, in every place: the rules have no gap between the rows of the table.

use super::{assert_key, assert_malformed};
use crate::key_header::Reason;

/// The byte at the start, inside and at the end.
fn places(byte: u8) -> [Vec<u8>; 3] {
    [vec![byte, b'k'], vec![b'k', byte, b'k'], vec![b'k', byte]]
}

#[test]
fn every_byte_in_a_quoted_key() {
    for byte in 0..=u8::MAX {
        for inside in places(byte) {
            let value = [b"\"", &inside[..], b"\""].concat();
            match byte {
                b'"' => assert_malformed(value, Reason::AfterClosingQuote),
                // It escapes what follows: a letter, or the closing quote.
                b'\\' if inside.ends_with(b"\\") => assert_malformed(value, Reason::NoClosingQuote),
                b'\\' => assert_malformed(value, Reason::Escape),
                b' '..=b'~' => assert_key(value, std::str::from_utf8(&inside).unwrap()),
                _ => assert_malformed(value, Reason::NotPrintable),
            }
        }
    }
}

#[test]
fn every_byte_after_a_backslash() {
    for byte in 0..=u8::MAX {
        let value = [b'"', b'\\', byte, b'"'];
        match byte {
            b'"' => assert_key(value, "\""),
            b'\\' => assert_key(value, "\\"),
            _ => assert_malformed(value, Reason::Escape),
        }
    }
}

#[test]
fn every_byte_after_the_closing_quote() {
    for byte in 0..=u8::MAX {
        let value = [b'"', b'k', b'"', byte];
        match byte {
            b' ' => assert_key(value, "k"),
            _ => assert_malformed(value, Reason::AfterClosingQuote),
        }
    }
}

#[test]
fn every_byte_in_a_bare_key() {
    for byte in 0..=u8::MAX {
        for (place, value) in places(byte).into_iter().enumerate() {
            match (byte, place) {
                (b' ', 0 | 2) => assert_key(value, "k"),
                (b'"', 0) => assert_malformed(value, Reason::NoClosingQuote),
                (b' ' | b'"' | b'\\' | b',' | b';', _) => assert_malformed(value, Reason::Bare),
                (b'!'..=b'~', _) => assert_key(&value, std::str::from_utf8(&value).unwrap()),
                _ => assert_malformed(value, Reason::Bare),
            }
        }
    }
}
