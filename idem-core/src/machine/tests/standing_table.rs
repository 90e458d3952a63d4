//! Completing, renewing, abandoning and releasing, case by case: every kind of record at every boundary
//! of its time, written to by its holder and by others. What is written is compared in the files of the
//! four.

use super::*;
use crate::{Completion, Update};

/// As in the table of reserving.
const INSTANTS: [u64; 5] = [99, 100, 999, 1000, 1_000_000];

/// What the record's own holder is told at each of [`INSTANTS`], one letter each for complete, renew,
/// abandon, release: `D` done and written, `K` done and kept as it was, `A` already completed (C2, C5),
/// `S` superseded (C3).
#[rustfmt::skip]
fn told() -> Vec<(Option<Record>, [&'static str; 5])> {
    let abandoned = ["DSKD", "DSKD", "DSKD", "SSSS", "SSSS"];
    vec![
        //                                     live    lapsed  about to expire, expired
        (None,                               ["SSSS", "SSSS", "SSSS", "SSSS", "SSSS"]),
        (Some(in_flight()),                  ["DDDD", "DDDD", "DDDD", "SSSS", "SSSS"]),
        (Some(in_flight().started()),        ["DDDD", "DDDD", "DDDD", "SSSS", "SSSS"]),
        (Some(in_flight().held()),           ["DDDD", "DDDD", "DDDD", "SSSS", "SSSS"]),
        (Some(in_flight().held().started()), ["DDDD", "DDDD", "DDDD", "DDDD", "DDDD"]),
        (Some(in_flight().abandoned(40)),    abandoned),
        (Some(in_flight().held().started().abandoned(40)), abandoned),
        (Some(in_flight().completed()),      ["AAAA", "AAAA", "AAAA", "SSSS", "SSSS"]),
        (Some(in_flight().held().completed()), ["AAAA", "AAAA", "AAAA", "SSSS", "SSSS"]),
    ]
}

/// What each of the four told, as a letter, after checking that nothing was written unless it is `D`.
fn letters(record: Option<&Record>, by: &Holder, instant: u64) -> String {
    let now = at(instant);
    let told_by_complete = {
        let (completion, change) = complete(record, by, &other_answer(), now);
        match completion {
            Completion::Completed { .. } => 'D',
            Completion::AlreadyCompleted(replay) => already(replay, &change, instant),
            Completion::Superseded => kept('S', &change),
        }
    };
    let update = |(update, change): (Update, Change)| match update {
        Update::Done if change == Change::Keep => 'K',
        Update::Done => 'D',
        Update::AlreadyCompleted(replay) => already(replay, &change, instant),
        Update::Superseded => kept('S', &change),
    };
    String::from_iter([
        told_by_complete,
        update(renew(record, by, terms(200, 1400), None, now)),
        update(abandon(record, by, now)),
        update(release(record, by, now)),
    ])
}

fn already(replay: Replay, change: &Change, instant: u64) -> char {
    assert_eq!(replay, standing_answer(1000 - instant));
    kept('A', change)
}

fn kept(letter: char, change: &Change) -> char {
    assert_eq!(*change, Change::Keep);
    letter
}

#[test]
fn c1_to_c8_every_case_of_the_table() {
    for (record, row) in told() {
        for (instant, expected) in INSTANTS.into_iter().zip(row) {
            assert_eq!(
                letters(record.as_ref(), &current(), instant),
                expected,
                "at {instant}: {record:?}"
            );
        }
    }
}

#[test]
fn c3_a_dead_token_or_attempt_is_superseded_and_changes_nothing() {
    let dead = [
        holder('b', 3), // never issued, or taken over
        holder('b', 1),
        holder('a', 2), // an earlier attempt by the same token
        holder('a', 4), // one that is not yet
    ];
    for (record, _) in told() {
        for by in &dead {
            for instant in INSTANTS {
                assert_eq!(
                    letters(record.as_ref(), by, instant),
                    "SSSS",
                    "{by:?} at {instant}: {record:?}"
                );
            }
        }
    }
}
