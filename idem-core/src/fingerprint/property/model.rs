//! JSON values, such that two are equal if and only if they are one value.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

/// `digits * 10^exponent`, with neither leading nor trailing zeros. Zero has no digits, no sign and
/// exponent 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    pub(crate) digits: String,
    pub(crate) exponent: i64,
}

impl Number {
    /// The normal form of a number, one zero at a time.
    pub(crate) fn new(negative: bool, digits: &str, exponent: i64) -> Self {
        let mut number = Self {
            negative,
            digits: digits.to_owned(),
            exponent,
        };
        while number.digits.starts_with('0') {
            number.digits.remove(0);
        }
        while number.digits.ends_with('0') {
            number.digits.pop();
            number.exponent += 1;
        }
        if number.digits.is_empty() {
            number.negative = false;
            number.exponent = 0;
        }
        number
    }

    /// The nearest double.
    pub(crate) fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let number = format!("{sign}0{}e{}", self.digits, self.exponent);
        number.parse().unwrap()
    }
}
