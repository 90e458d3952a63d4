//! `LAWS.md` says what the list of laws says, and the contract names no law that is not there.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use idem_conformance::{Law, all_laws};

const REWRITE: &str = "IDEM_WRITE_LAWS=1 cargo test -p idem-conformance --test laws_md";

const INTRODUCTION: &str = "\
# The laws

What every store does, each law with its number in the design, why it is one, and the wrong store that it
is for. The suite emits one test per law, under the name in the last column.

This file is written from the list in `src/list.rs`:

```sh
IDEM_WRITE_LAWS=1 cargo test -p idem-conformance --test laws_md
```
";

/// The groups, in the order in which they are shown.
const GROUPS: [(&str, &str); 11] = [
    ("base", "For every store"),
    (
        "exact_time",
        "For stores with an injected clock: `exact_time`",
    ),
    ("reopen", "For stores that outlive their process: `reopen`"),
    ("no_limit", "For stores that state no limit on responses"),
    ("limit", "For stores that state one: `limit`"),
    ("no_copies", "For stores that answer every call themselves"),
    ("copies", "For stores behind a cache: `copies`"),
    (
        "exact_time_no_copies",
        "For stores with an injected clock that answer every call themselves",
    ),
    (
        "copies_no_marks",
        "For stores behind a cache that never refuses: `copies` without `marks`",
    ),
    ("no_marks", "For stores behind no shared cache"),
    ("marks", "For stores behind a shared cache: `marks`"),
];

/// The letters of the numbers, in the order of the design.
const LETTERS: &str = "RCPWTSDL";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn laws_md() -> PathBuf {
    root().join("LAWS.md")
}

fn written() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (group, title) in GROUPS {
        let mut laws: Vec<Law> = all_laws();
        laws.retain(|law| law.group == group);
        laws.sort_by_key(|law| place(law.number));
        writeln!(text, "\n## {title}\n").unwrap();
        writeln!(
            text,
            "| law | what a store does | otherwise | the wrong store | test |"
        )
        .unwrap();
        writeln!(text, "| --- | --- | --- | --- | --- |").unwrap();
        for law in laws {
            let Law {
                number,
                name,
                wording,
                reason,
                rejects,
                ..
            } = law;
            writeln!(
                text,
                "| {number} | {wording} | {reason} | {rejects} | `{name}` |"
            )
            .unwrap();
        }
    }
    text
}

fn place(number: &str) -> (usize, u32) {
    let letter = LETTERS.find(&number[..1]).expect("a letter of the design");
    (letter, number[1..].parse().expect("a number"))
}

#[test]
fn the_table_says_what_the_list_says() {
    let expected = written();
    if std::env::var_os("IDEM_WRITE_LAWS").is_some() {
        fs::write(laws_md(), &expected).unwrap();
    }
    let seen = fs::read_to_string(laws_md()).unwrap_or_default();
    let same = seen
        .lines()
        .zip(expected.lines())
        .take_while(|(a, b)| a == b);
    let line = same.count() + 1;
    assert!(
        seen == expected,
        "LAWS.md differs from line {line} on; write it again by\n{REWRITE}"
    );
}

#[test]
fn every_law_is_whole_and_named_after_its_number() {
    let laws = all_laws();
    let mut names = BTreeSet::new();
    let mut wrong_stores = BTreeSet::new();
    for law in &laws {
        let Law {
            number,
            name,
            wording,
            reason,
            rejects,
            group,
            ..
        } = *law;
        assert!(names.insert(name), "two laws are called {name}");
        assert!(
            wrong_stores.insert(rejects),
            "two laws are for the same wrong store: {rejects}"
        );
        assert!(
            name.starts_with(&format!("{}_", number.to_lowercase())),
            "{number}: {name}"
        );
        assert!(
            GROUPS.iter().any(|(known, _)| *known == group),
            "{name}: {group}"
        );
        for sentence in [wording, reason] {
            assert!(
                sentence.ends_with('.') && !sentence.contains('|'),
                "{name}: {sentence}"
            );
        }
        assert!(!rejects.is_empty() && !rejects.contains('|'), "{name}");
    }
}

#[test]
fn every_number_of_the_design_has_a_law() {
    let numbers: BTreeSet<_> = all_laws().iter().map(|law| law.number).collect();
    let design = [
        ("R", 10),
        ("C", 8),
        ("P", 2),
        ("W", 1),
        ("T", 3),
        ("S", 1),
        ("D", 1),
        ("L", 1),
    ];
    for (letter, last) in design {
        for number in 1..=last {
            let number = format!("{letter}{number}");
            assert!(
                numbers.contains(number.as_str()),
                "no law has the number {number}"
            );
        }
    }
}

/// The numbers of laws that the docs in a file name, ranges such as `R1 to R10` included.
fn named_in(docs: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for line in docs
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("//"))
    {
        let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        for (at, word) in words.iter().enumerate() {
            let Some((letter, from)) = number(word) else {
                continue;
            };
            let to = match words.get(at + 1..at + 3) {
                Some(["to", last]) => number(last).map_or(from, |(_, to)| to),
                _ => from,
            };
            named.extend((from..=to).map(|n| format!("{letter}{n}")));
        }
    }
    named
}

fn number(word: &str) -> Option<(char, u32)> {
    let letter = word
        .chars()
        .next()
        .filter(|letter| LETTERS.contains(*letter))?;
    Some((letter, word[1..].parse().ok()?))
}

#[test]
fn the_contract_names_laws_that_exist() {
    let numbers: BTreeSet<_> = all_laws().iter().map(|law| law.number.to_owned()).collect();
    for file in ["store.rs", "inspect.rs"] {
        let docs = fs::read_to_string(root().join("../idem-core/src").join(file)).unwrap();
        let named = named_in(&docs);
        assert!(!named.is_empty(), "{file} names no law");
        let unknown: Vec<_> = named.difference(&numbers).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
}

#[test]
fn numbers_are_read_from_docs() {
    let docs = "/// **Laws**: R1 to R3, T3, (law W1).\nlet c9 = C9;";
    assert_eq!(
        Vec::from_iter(named_in(docs)),
        ["R1", "R2", "R3", "T3", "W1"]
    );
}
