//! The same of every value as an implementation of RFC 9651 by others.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::effort::proptest_config;
use crate::key_header::property::check;
use crate::key_header::property::sfv_string::sfv_string;

/// Items with up to three parameters, nearly all of them well-formed.
fn items() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        "-?[0-9]{1,16}",
        "-?[0-9]{1,13}\\.[0-9]{0,4}",
        "@-?[0-9]{1,16}(\\.0)?",
        r#""([ -~]|\\["\\]){0,4}""#,
        "[A-Za-z*][!-~]{0,4}",
        ":[A-Za-z0-9+/]{0,9}={0,3}:",
        "\\?[01]",
        r#"%"([a-z ]|%c3%[89ab][0-9a-f]|%[0-9a-f]{2}){0,4}""#,
    ];
    let parameter = (
        "; {0,2}[a-z*][a-z0-9_.*-]{0,3}",
        proptest::option::of(value),
    )
        .prop_map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => name,
        });
    let text = prop_oneof![
        4 => r#"([ -!#-\[\]-~]|\\["\\]){0,6}"#,
        1 => r#"([ -!#-\[\]-~]|\\["\\]){253,257}"#,
    ];
    let parameters = prop::collection::vec(parameter, 0..4);
    (" {0,2}", text, parameters, " {0,2}").prop_map(|(before, text, parameters, after)| {
        let parameters = parameters.concat();
        format!("{before}\"{text}\"{parameters}{after}").into_bytes()
    })
}

/// Puts a byte that has a meaning in place of another, adds it, or takes one away.
fn change(value: &mut Vec<u8>, place: Index, how: u8, byte: u8) {
    let place = place.index(value.len() + 1);
    match how {
        0 => value.insert(place, byte),
        _ if place == value.len() => value.push(byte),
        1 => value[place] = byte,
        _ => {
            value.remove(place);
        }
    }
}

proptest! {
    #![proptest_config(proptest_config(4096))]

    #[test]
    fn any_bytes(value in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&value, sfv_string);
    }

    #[test]
    fn any_bytes_in_quotes(inside in prop::collection::vec(b' '..=b'~', 0..300)) {
        check(&[b"\"", &inside[..], b"\""].concat(), sfv_string);
    }
}

proptest! {
    #![proptest_config(proptest_config(1024))]

    #[test]
    fn items_as_clients_write_them(value in items()) {
        check(&value, sfv_string);
    }

    #[test]
    fn items_that_are_off_by_a_byte_or_two(
        mut value in items(),
        changes in prop::collection::vec(
            (
                any::<Index>(),
                0..3_u8,
                prop_oneof![
                    prop::sample::select(&b"\"\\;=:?@%*-. \t,0aAf\x7f"[..]),
                    any::<u8>(),
                ],
            ),
            1..3,
        ),
    ) {
        for (place, how, byte) in changes {
            change(&mut value, place, how, byte);
        }
        check(&value, sfv_string);
    }
}
