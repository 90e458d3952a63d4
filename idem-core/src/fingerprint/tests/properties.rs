//! What holds of every text.

use proptest::prelude::*;

use super::spelling;
use super::strategies::{any_json, any_text};
use crate::fingerprint::property::change::change;
use crate::fingerprint::property::spell::{Choices, spell};
use crate::fingerprint::property::{check, oracle, rfc_8785};
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
        check(&bytes, rfc_8785::canonicalize);
    }

    #[test]
    fn text_in_the_alphabet_of_json_is_canonical_json_or_none(
        text in r#"([\[\]{}:,"\\ \-+.eE01aéu😀]|null|true|false|\\u00|\\ud83d|\\ude00|"a":|"b":){1,8}"#,
    ) {
        check(text.as_bytes(), rfc_8785::canonicalize);
    }

    #[test]
    fn damaged_json_is_canonical_json_or_none(value in any_json(), seed in any::<u64>()) {
        let mut choices = Choices::new(seed);
        let mut bytes = spell(&value, &mut choices).into_bytes();
        for _ in 0..=choices.below(3) {
            damage(&mut bytes, &mut choices);
        }
        check(&bytes, rfc_8785::canonicalize);
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
