//! No two sequences of parts share a pre-image.

use proptest::prelude::*;

use crate::fingerprint::property::spell::Choices;
use crate::test_support::proptest_config;
use crate::{Fingerprint, FingerprintBuilder};

/// Kind, label and bytes, as they are hashed.
type Part = (u8, String, Vec<u8>);

fn fingerprint(parts: &[Part]) -> Fingerprint {
    parts
        .iter()
        .fold(Fingerprint::builder(), |builder, (kind, label, bytes)| {
            FingerprintBuilder::part(builder, *kind, label, bytes)
        })
        .finish()
}

fn any_parts() -> impl Strategy<Value = Vec<Part>> {
    // Bytes that look like kinds and lengths are what could be mistaken for framing.
    let byte = prop::sample::select(&[0, 1, 2, b'a', 0xff][..]);
    let bytes = prop::collection::vec(byte, 0..18);
    prop::collection::vec((0..2_u8, "[\0\u{1}a]{0,9}", bytes), 0..4)
}

/// Moves a boundary, or leaves the parts as they are.
fn change(parts: &mut Vec<Part>, choices: &mut Choices) {
    if parts.is_empty() {
        return;
    }
    let place = choices.below(parts.len());
    let next = (place + 1) % parts.len();
    match choices.below(7) {
        0 => {
            let (_, label, bytes) = &mut parts[place];
            bytes.splice(0..0, label.pop().map(|last| last as u8));
        }
        1 => parts[place].0 ^= 1,
        2 => parts.swap(place, next),
        3 => {
            let moved = parts[place].2.pop();
            parts[next].2.splice(0..0, moved);
        }
        4 => {
            let (_, label, bytes) = parts.remove(place);
            if let Some((_, _, before)) = parts.last_mut() {
                before.extend(label.into_bytes());
                before.extend(bytes);
            }
        }
        5 => parts.insert(place, (0, String::new(), Vec::new())),
        _ => {}
    }
}

proptest! {
    #![proptest_config(proptest_config(2048))]

    #[test]
    fn parts_that_differ_have_fingerprints_that_differ(one in any_parts(), seed in any::<u64>()) {
        let mut two = one.clone();
        change(&mut two, &mut Choices::new(seed));
        prop_assert_eq!(fingerprint(&one) == fingerprint(&two), one == two, "{:?}", two);
    }

    #[test]
    fn unrelated_parts_that_differ_have_fingerprints_that_differ(
        one in any_parts(),
        two in any_parts(),
    ) {
        prop_assert_eq!(fingerprint(&one) == fingerprint(&two), one == two);
    }
}
