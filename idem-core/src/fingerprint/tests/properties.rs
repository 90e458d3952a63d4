//! What holds of every text.

use proptest::prelude::*;

use super::model::{Json, Number, any_json, any_text};
use super::oracle;
use super::spell::{Choices, spell};
use super::{canonical, spelling};
use crate::test_support::proptest_config;

proptest! {
    #![proptest_config(proptest_config(512))]

    #[test]
    fn two_spellings_of_a_value_have_one_canonical_spelling(
        value in any_json(),
        seeds in any::<[u64; 2]>(),
    ) {
        let [one, two] = seeds.map(|seed| spell(&value, &mut Choices::new(seed)));
        prop_assert_eq!(spelling(&one), spelling(&two), "{} and {}", one, two);
    }

    #[test]
    fn a_canonical_spelling_is_its_own_and_stands_for_the_value(
        value in any_json(),
        seed in any::<u64>(),
    ) {
        let canonical = spelling(spell(&value, &mut Choices::new(seed)));
        prop_assert_eq!(oracle::parse(canonical.as_bytes()), Some(value));
        prop_assert_eq!(spelling(&canonical), canonical);
    }

    #[test]
    fn two_values_have_two_canonical_spellings(one in any_json(), seeds in any::<[u64; 3]>()) {
        let [seed, one_seed, two_seed] = seeds;
        let mut two = one.clone();
        change(&mut two, &mut Choices::new(seed));
        let one_text = spell(&one, &mut Choices::new(one_seed));
        let two_text = spell(&two, &mut Choices::new(two_seed));
        prop_assert_eq!(
            spelling(&one_text) == spelling(&two_text),
            one == two,
            "{} and {}", one_text, two_text
        );
    }

    #[test]
    fn rfc_8785_agrees_where_every_number_is_that_of_a_double(
        value in any_jcs_value(),
        pretty in any::<bool>(),
    ) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value),
            false => serde_json::to_string(&value),
        };
        prop_assert_eq!(
            spelling(text.unwrap()),
            serde_json_canonicalizer::to_string(&value).unwrap()
        );
    }
}

proptest! {
    #![proptest_config(proptest_config(2048))]

    #[test]
    fn arbitrary_bytes_are_canonical_json_or_none(bytes in any::<Vec<u8>>()) {
        check(&bytes)?;
    }

    #[test]
    fn text_in_the_alphabet_of_json_is_canonical_json_or_none(
        text in r#"([\[\]{}:,"\\ \-+.eE01aéu😀]|null|true|false|\\u00|\\ud83d|\\ude00|"a":|"b":){1,8}"#,
    ) {
        check(text.as_bytes())?;
    }

    #[test]
    fn damaged_json_is_canonical_json_or_none(value in any_json(), seed in any::<u64>()) {
        let mut choices = Choices::new(seed);
        let mut bytes = spell(&value, &mut choices).into_bytes();
        for _ in 0..=choices.below(3) {
            damage(&mut bytes, &mut choices);
        }
        check(&bytes)?;
    }
}

/// The text is plain JSON if the oracle says so, and then its canonical spelling stands for the same
/// value; and a parser made by others agrees.
fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let canonical = canonical(text);
    let value = oracle::parse(text);
    prop_assert_eq!(
        canonical.is_some(),
        value.is_some(),
        "{}",
        text.escape_ascii()
    );
    if let Some(canonical) = &canonical {
        prop_assert_eq!(oracle::parse(canonical.as_bytes()), value);
        prop_assert_eq!(&spelling(canonical), canonical);
    }
    match serde_json::from_slice::<serde_json::Value>(text) {
        // It takes members named twice, and exponents of any length.
        Ok(_) => prop_assert!(
            canonical.is_some()
                || text.contains(&b'{')
                || text.contains(&b'e')
                || text.contains(&b'E'),
            "{}",
            text.escape_ascii()
        ),
        Err(error) => prop_assert!(
            canonical.is_none() || error.to_string().starts_with("number out of range"),
            "{}: {error}",
            text.escape_ascii()
        ),
    }
    Ok(())
}

/// Changes something small, somewhere. It may come out as the value that it was.
fn change(value: &mut Json, choices: &mut Choices) {
    match value {
        Json::Array(values) if !values.is_empty() && choices.coin() => {
            let place = choices.below(values.len());
            return change(&mut values[place], choices);
        }
        Json::Object(members) if !members.is_empty() && choices.coin() => {
            let place = choices.below(members.len());
            let inner = members.values_mut().nth(place).unwrap();
            return change(inner, choices);
        }
        _ => {}
    }
    match value {
        Json::Null => *value = Json::String("null".to_owned()),
        Json::Bool(value) => *value = choices.coin(),
        Json::Number(number) => change_number(number, choices),
        Json::String(text) => change_text(text, choices),
        Json::Array(values) => {
            let place = choices.below(values.len() + 1);
            match choices.below(3) {
                0 => values.insert(place, Json::Null),
                1 => values.rotate_left(place),
                _ => *value = Json::Array(vec![value.clone()]),
            }
        }
        Json::Object(members) => {
            let place = choices.below(members.len() + 1);
            match members.keys().nth(place).cloned() {
                Some(mut name) => {
                    let inner = members.remove(&name).unwrap();
                    change_text(&mut name, choices);
                    members.insert(name, inner);
                }
                None => {
                    members.insert("a".to_owned(), Json::Null);
                }
            }
        }
    }
}

fn change_number(number: &mut Number, choices: &mut Choices) {
    let (negative, digits, exponent) = (number.negative, number.digits.clone(), number.exponent);
    *number = match choices.below(4) {
        0 => Number::new(!negative, &digits, exponent),
        1 => Number::new(negative, &digits, exponent + 1),
        2 => Number::new(negative, &format!("{digits}1"), exponent - 1),
        _ => Number::new(negative, &format!("1{digits}"), exponent),
    };
}

fn change_text(text: &mut String, choices: &mut Choices) {
    match choices.below(4) {
        0 => text.push('\u{301}'),
        1 => text.insert(0, ' '),
        2 => *text = text.to_uppercase(),
        _ => *text = text.replace('\u{e9}', "e\u{301}"),
    }
}

/// Inserts, removes, replaces or repeats some bytes.
fn damage(bytes: &mut Vec<u8>, choices: &mut Choices) {
    const ALPHABET: &[u8] = b"[]{}:,\"\\/ \t\n-+.eE0159abfnrtu\x00\x1f\x7f\x80\xc3\xa9\xed\xff";
    let start = choices.below(bytes.len() + 1);
    let end = (start + choices.below(4)).min(bytes.len());
    match choices.below(4) {
        0 => bytes.insert(start, ALPHABET[choices.below(ALPHABET.len())]),
        1 => drop(bytes.drain(start..end)),
        2 => bytes.extend_from_within(start..end),
        _ => drop(bytes.splice(start..end, [ALPHABET[choices.below(ALPHABET.len())]])),
    }
}

/// A value whose numbers are integers within 2^53 or doubles, which print by their shortest digits.
fn any_jcs_value() -> impl Strategy<Value = serde_json::Value> {
    const EXACT: i64 = 1 << 53;
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-EXACT..=EXACT).prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        (-1e25..1e25).prop_map(Into::<serde_json::Value>::into),
        (-1e-5..1e-5).prop_map(Into::<serde_json::Value>::into),
        any_text().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let object = prop::collection::btree_map(any_text(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Into::into),
            object.prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}
