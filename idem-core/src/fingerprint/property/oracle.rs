//! A slow and obvious reader of plain JSON.

use std::collections::BTreeMap;

use super::model::{Json, Number};

/// The value of a text, `None` if it is not plain JSON. Knows no bound on nesting.
pub(crate) fn parse(text: &[u8]) -> Option<Json> {
    let mut left: Vec<char> = String::from_utf8(text.to_vec())
        .ok()?
        .chars()
        .rev()
        .collect();
    let value = value(&mut left)?;
    left.is_empty().then_some(value)
}

/// What is left of the text, the next character last.
type Left = Vec<char>;

fn value(left: &mut Left) -> Option<Json> {
    space(left);
    let value = match left.last()? {
        '{' => object(left)?,
        '[' => array(left)?,
        '"' => Json::String(string(left)?),
        '-' | '0'..='9' => Json::Number(number(left)?),
        _ => literal(left)?,
    };
    space(left);
    Some(value)
}

fn space(left: &mut Left) {
    while matches!(left.last(), Some(' ' | '\t' | '\n' | '\r')) {
        left.pop();
    }
}

fn take(left: &mut Left, expected: char) -> Option<char> {
    left.pop_if(|next| *next == expected)
}

fn literal(left: &mut Left) -> Option<Json> {
    let mut word = String::new();
    while let Some(letter) = left.pop_if(|next| next.is_ascii_lowercase()) {
        word.push(letter);
    }
    match word.as_str() {
        "null" => Some(Json::Null),
        "true" => Some(Json::Bool(true)),
        "false" => Some(Json::Bool(false)),
        _ => None,
    }
}

fn array(left: &mut Left) -> Option<Json> {
    take(left, '[')?;
    let mut values = Vec::new();
    space(left);
    if take(left, ']').is_some() {
        return Some(Json::Array(values));
    }
    loop {
        values.push(value(left)?);
        match left.pop()? {
            ',' => {}
            ']' => return Some(Json::Array(values)),
            _ => return None,
        }
    }
}

fn object(left: &mut Left) -> Option<Json> {
    take(left, '{')?;
    let mut members = BTreeMap::new();
    space(left);
    if take(left, '}').is_some() {
        return Some(Json::Object(members));
    }
    loop {
        space(left);
        let name = string(left)?;
        space(left);
        take(left, ':')?;
        if members.insert(name, value(left)?).is_some() {
            return None;
        }
        match left.pop()? {
            ',' => {}
            '}' => return Some(Json::Object(members)),
            _ => return None,
        }
    }
}

/// Collects UTF-16 code units, so that surrogates find each other by themselves.
fn string(left: &mut Left) -> Option<String> {
    take(left, '"')?;
    let mut units = Vec::new();
    loop {
        match left.pop()? {
            '"' => break,
            '\\' => units.push(escape(left)?),
            '\0'..='\u{1f}' => return None,
            other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16(&units).ok()
}

fn escape(left: &mut Left) -> Option<u16> {
    let unit = match left.pop()? {
        'b' => 8,
        't' => 9,
        'n' => 10,
        'f' => 12,
        'r' => 13,
        'u' => {
            let mut unit = 0;
            for _ in 0..4 {
                unit = unit * 16 + left.pop()?.to_digit(16)?;
            }
            unit
        }
        other @ ('"' | '\\' | '/') => other.into(),
        _ => return None,
    };
    u16::try_from(unit).ok()
}

fn number(left: &mut Left) -> Option<Number> {
    let negative = take(left, '-').is_some();
    let integer = digits(left)?;
    if integer.len() > 1 && integer.starts_with('0') {
        return None;
    }
    let fraction = match take(left, '.') {
        Some(_) => digits(left)?,
        None => String::new(),
    };
    let exponent = match left.pop_if(|next| matches!(next, 'e' | 'E')) {
        Some(_) => exponent(left)?,
        None => 0,
    };
    let lowest = exponent - i64::try_from(fraction.len()).ok()?;
    let number = Number::new(negative, &(integer + &fraction), lowest);
    let highest = number.exponent + i64::try_from(number.digits.len()).ok()? - 1;
    (number.digits.is_empty() || highest.abs() < 1_000_000_000).then_some(number)
}

fn digits(left: &mut Left) -> Option<String> {
    let mut digits = String::new();
    while let Some(digit) = left.pop_if(|next| next.is_ascii_digit()) {
        digits.push(digit);
    }
    (!digits.is_empty()).then_some(digits)
}

fn exponent(left: &mut Left) -> Option<i64> {
    let sign = match left.pop_if(|next| matches!(next, '+' | '-')) {
        Some('-') => -1,
        _ => 1,
    };
    let exponent: i64 = digits(left)?.parse().ok()?;
    (exponent < 1_000_000_000).then_some(sign * exponent)
}
