//! Strings: what they hold, and their spelling with the fewest escapes.

use std::borrow::Cow;
use std::io::Write as _;

use super::reader::Reader;

/// Reads a string and undoes its escapes; `None` if it is none by RFC 8259, or holds a lone surrogate.
pub(super) fn read<'a>(text: &mut Reader<'a>) -> Option<Cow<'a, str>> {
    text.expect("\"")?;
    let mut string = Cow::Borrowed("");
    loop {
        string += text.take_until(must_be_escaped);
        match text.next()? {
            '"' => return Some(string),
            '\\' => string.to_mut().push(read_escape(text)?),
            _ => return None,
        }
    }
}

/// Writes a string in quotes, with no escape that could be left out.
pub(super) fn write(string: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut text = Reader::new(string);
    loop {
        out.extend_from_slice(text.take_until(must_be_escaped).as_bytes());
        match text.next() {
            Some(special) => write_escape(special, out),
            None => break,
        }
    }
    out.push(b'"');
}

/// Whether a byte can stand in a string by an escape only.
fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..=0x1f)
}

fn read_escape(text: &mut Reader<'_>) -> Option<char> {
    Some(match text.next()? {
        escaped @ ('"' | '\\' | '/') => escaped,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => read_code_units(text)?,
        _ => return None,
    })
}

/// Reads the hex digits of an escape, and the second escape if the two are a surrogate pair.
fn read_code_units(text: &mut Reader<'_>) -> Option<char> {
    let first = read_code_unit(text)?;
    if !matches!(first, 0xd800..=0xdbff) {
        return char::from_u32(first.into());
    }
    text.expect("\\u")?;
    let second = read_code_unit(text)?;
    char::decode_utf16([first, second]).next()?.ok()
}

fn read_code_unit(text: &mut Reader<'_>) -> Option<u16> {
    let digits = text.take(4)?;
    // `from_str_radix` alone would take a sign.
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| all_hex)
}

fn write_escape(special: char, out: &mut Vec<u8>) {
    let short: &[u8] = match special {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\u{8}' => b"\\b",
        '\u{c}' => b"\\f",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        control => {
            // Writing to a Vec cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(control));
            return;
        }
    };
    out.extend_from_slice(short);
}
