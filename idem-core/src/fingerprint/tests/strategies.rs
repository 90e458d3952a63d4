//! Values to start from.

use proptest::prelude::*;

use crate::fingerprint::property::model::{Json, Number};

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
