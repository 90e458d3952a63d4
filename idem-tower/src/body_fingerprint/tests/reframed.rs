//! Any parts under any boundary, compared as an obvious reader compares them.

use proptest::prelude::*;
use proptest::sample::Index;

use super::of_type;
use crate::effort::proptest_config;

const TOKENS: [&str; 13] = [
    "a",
    "b",
    "x",
    "-",
    "--",
    "--a",
    "--b",
    "\r\n",
    "\r\n--a",
    "\r\n--b\r\n",
    "\n",
    "\r",
    " ",
];

/// A body under a boundary.
#[derive(Clone, Debug, PartialEq)]
struct Framed {
    boundary: String,
    body: String,
}

impl Framed {
    fn new(boundary: String, parts: &[String], end: &str) -> Self {
        let framed = parts.iter().map(|part| format!("--{boundary}{part}"));
        let body = framed.collect::<String>() + &format!("--{boundary}{end}");
        Self { boundary, body }
    }

    fn fingerprint(&self) -> idem_core::Fingerprint {
        of_type(
            &format!("multipart/form-data; boundary=\"{}\"", self.boundary),
            &self.body,
        )
    }

    /// What is between the delimiters: `None` if the body is not plainly framed.
    fn pieces(&self) -> Option<Vec<&str>> {
        let mut pieces: Vec<&str> = self.body.split(&format!("--{}", self.boundary)).collect();
        let (before, after) = (pieces.remove(0), pieces.pop()?);
        let is_part = |piece: &&str| {
            let line = piece.trim_start_matches([' ', '\t']);
            line.len() >= 4 && line.starts_with("\r\n") && line.ends_with("\r\n")
        };
        let plain = before.is_empty() && ["--", "--\r\n"].contains(&after);
        pieces.iter().all(is_part).then_some(())?;
        pieces.push(after);
        plain.then_some(pieces)
    }

    fn is_the_same_as(&self, other: &Self) -> bool {
        self == other
            || self
                .pieces()
                .is_some_and(|pieces| other.pieces() == Some(pieces))
    }
}

/// So few of them that contents have delimiters in them, of this boundary and of others.
fn boundaries() -> impl Strategy<Value = String> {
    prop::sample::select(&["a", "b", "ab", "aa", "-", "--", "-a", "a-", "a--a"][..])
        .prop_map(str::to_owned)
}

fn part() -> impl Strategy<Value = String> {
    let token = prop::sample::select(&TOKENS[..]);
    let content = prop::collection::vec(token, 0..5).prop_map(|tokens| tokens.concat());
    prop_oneof![
        9 => content.clone().prop_map(|content| format!("\r\n{content}\r\n")),
        1 => content,
    ]
}

fn parts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(part(), 0..4)
}

fn ends() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("--\r\n"),
        4 => Just("--"),
        1 => prop::sample::select(&["", "-", "---", "--\n", "--\r\n\r\n", "\r\n"][..]),
    ]
}

proptest! {
    #![proptest_config(proptest_config(4096))]

    #[test]
    fn parts_without_delimiters_are_equal_under_any_two_boundaries(
        parts in prop::collection::vec("\r\n(x: [yz-]{0,9}\r\n)?\r\n[ -~\r\n]{0,20}\r\n", 0..5),
        boundaries in ("[A-Z][a-z]{20,60}", "-{0,20}[A-Z][a-z]{20}"),
    ) {
        let one = Framed::new(boundaries.0, &parts, "--\r\n");
        let two = Framed::new(boundaries.1, &parts, "--\r\n");
        prop_assert_eq!(one.fingerprint(), two.fingerprint());
    }

    #[test]
    fn the_same_parts_under_two_boundaries(
        boundaries in (boundaries(), boundaries()),
        parts in parts(),
        end in ends(),
    ) {
        let one = Framed::new(boundaries.0, &parts, end);
        let two = Framed::new(boundaries.1, &parts, end);
        prop_assert_eq!(
            one.fingerprint() == two.fingerprint(),
            one.is_the_same_as(&two),
            "{:?} {:?}", one, two
        );
    }

    #[test]
    fn parts_and_other_parts_that_are_much_like_them(
        boundaries in (boundaries(), boundaries()),
        mut parts in parts(),
        (how, places) in (0..4, (any::<Index>(), any::<Index>())),
        part in part(),
    ) {
        let one = Framed::new(boundaries.0, &parts, "--");
        if !parts.is_empty() {
            let (place, other) = (places.0.index(parts.len()), places.1.index(parts.len()));
            match how {
                0 => parts[place] = part,
                1 => parts.swap(place, other),
                2 => parts.insert(place, part),
                _ => drop(parts.remove(place)),
            }
        }
        let two = Framed::new(boundaries.1, &parts, "--");
        prop_assert_eq!(
            one.fingerprint() == two.fingerprint(),
            one.is_the_same_as(&two),
            "{:?} {:?}", one, two
        );
    }

    #[test]
    fn any_two_bodies(
        one in (boundaries(), parts(), ends()),
        two in (boundaries(), parts(), ends()),
    ) {
        let one = Framed::new(one.0, &one.1, one.2);
        let two = Framed::new(two.0, &two.1, two.2);
        prop_assert_eq!(
            one.fingerprint() == two.fingerprint(),
            one.is_the_same_as(&two),
            "{:?} {:?}", one, two
        );
    }
}
