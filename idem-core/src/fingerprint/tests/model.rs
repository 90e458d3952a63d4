//! JSON values, such that two are equal if and only if they are one value.

use std::collections::BTreeMap;

use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
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
pub(super) struct Number {
    pub(super) negative: bool,
    pub(super) digits: String,
    pub(super) exponent: i64,
}

impl Number {
    /// The normal form of a number, one zero at a time.
    pub(super) fn new(negative: bool, digits: &str, exponent: i64) -> Self {
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
}

pub(super) fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any_number().prop_map(Json::Number),
        any_text().prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::btree_map(any_text(), inner, 0..5).prop_map(Json::Object),
        ]
    })
}

fn any_number() -> impl Strategy<Value = Number> {
    let digits = prop_oneof!["[0-9]{1,3}", "[0-9]{1,3}", "[0-9]{15,25}"];
    let exponent = prop_oneof![
        -3..=3_i64,
        -30..=30_i64,
        -500..=500_i64,
        Just(900_000_000),
        Just(-900_000_000)
    ];
    (any::<bool>(), digits, exponent)
        .prop_map(|(negative, digits, exponent)| Number::new(negative, &digits, exponent))
}

/// Short texts, out of what is special to JSON, to UTF-8 and to UTF-16.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(
        "a\u{e9}e\u{301}\"\\/\u{0}\u{8}\t\n\u{c}\r\u{1f}\u{7f}\u{80}€\u{2028}\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}😀\u{10ffff}"
            .chars()
            .collect::<Vec<_>>(),
    );
    prop_oneof![
        "[ab]{0,2}",
        prop::collection::vec(special, 0..4).prop_map(String::from_iter),
        any::<String>(),
    ]
}
