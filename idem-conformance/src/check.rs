//! What the laws expect, said once, with messages that say what was seen.

use std::time::Duration;

use idem_core::{Answer, Completion, Condition, Header, Outcome, RecordInfo, Replay, Update};

use crate::fixture::SLACK;

/// It is reserved as this attempt, whatever its progress.
#[track_caller]
pub fn assert_reserved(seen: &Outcome, attempt: u32) {
    let as_expected = matches!(seen, Outcome::Reserved { attempt: seen, .. } if *seen == attempt);
    assert!(as_expected, "expected attempt {attempt}, got {seen:?}");
}

/// It is in conflict, with a hint that is more than zero and at most what is left of the lease.
#[track_caller]
pub fn assert_conflict(seen: &Outcome, lease_left: Duration) {
    match seen {
        Outcome::Conflict {
            retry_after: Some(hint),
        } => {
            assert!(!hint.is_zero(), "the hint is zero");
            assert!(
                *hint <= lease_left,
                "the hint is {hint:?}, of the lease {lease_left:?} are left"
            );
        }
        other => panic!("expected a conflict with a hint, got {other:?}"),
    }
}

/// It is in conflict with the smallest hint: the token met its own reservation and cannot have it back.
#[track_caller]
pub fn assert_smallest_conflict(seen: &Outcome) {
    assert_conflict(seen, Duration::from_millis(1));
}

/// It is in conflict, and waiting does not help.
#[track_caller]
pub fn assert_unresolved(seen: &Outcome) {
    let expected = Outcome::Conflict { retry_after: None };
    assert_eq!(seen, &expected, "expected a conflict without a hint");
}

/// This answer is replayed. Gives for how long it is said to be remembered.
#[track_caller]
pub fn assert_replay(seen: &Outcome, answer: &Answer) -> Duration {
    match seen {
        Outcome::Replay(replay) => assert_stands(replay, answer),
        other => panic!("expected a replay, got {other:?}"),
    }
}

/// What completed stands already, with this answer. Gives for how long it is said to be remembered.
#[track_caller]
pub fn assert_already_completed(seen: &Completion, answer: &Answer) -> Duration {
    match seen {
        Completion::AlreadyCompleted(replay) => assert_stands(replay, answer),
        other => panic!("expected that it is completed already, got {other:?}"),
    }
}

/// The same, told to a renewal, an abandonment or a release.
#[track_caller]
pub fn assert_update_finds_it_completed(seen: &Update, answer: &Answer) -> Duration {
    match seen {
        Update::AlreadyCompleted(replay) => assert_stands(replay, answer),
        other => panic!("expected that it is completed already, got {other:?}"),
    }
}

/// It was completed just now. Gives for how long it is said to be remembered.
#[track_caller]
pub fn assert_completed(seen: &Completion) -> Duration {
    match seen {
        Completion::Completed { remembered_for } => *remembered_for,
        other => panic!("expected a completion, got {other:?}"),
    }
}

#[track_caller]
fn assert_stands(replay: &Replay, answer: &Answer) -> Duration {
    assert_answer(&replay.answer, answer);
    replay.remembered_for
}

/// The answer came back unchanged.
#[track_caller]
pub fn assert_answer(seen: &Answer, expected: &Answer) {
    let (Answer::Full(seen), Answer::Full(expected)) = (seen, expected) else {
        assert_eq!(seen, expected);
        return;
    };
    assert_eq!(seen.status(), expected.status(), "the status");
    assert_lines("headers", seen.headers(), expected.headers());
    assert_lines("trailers", seen.trailers(), expected.trailers());
    let (seen, expected) = (seen.body_bytes(), expected.body_bytes());
    if seen != expected {
        let same = seen.iter().zip(expected).take_while(|(a, b)| a == b);
        panic!(
            "the body has {} bytes, expected {}; they differ from byte {}",
            seen.len(),
            expected.len(),
            same.count()
        );
    }
}

#[track_caller]
fn assert_lines(what: &str, seen: &[Header], expected: &[Header]) {
    assert!(seen == expected, "the {what} {seen:?}, not {expected:?}");
}

/// What is left of a lease or a retention, but for the real time that passed within the law.
#[track_caller]
pub fn assert_left(seen: Duration, expected: Duration) {
    assert!(
        seen <= expected && expected - seen <= SLACK,
        "{seen:?} are left, not {expected:?}"
    );
}

/// How long something is ago, but for the real time that passed within the law.
#[track_caller]
pub fn assert_ago(seen: Duration, expected: Duration) {
    assert!(
        seen >= expected && seen - expected <= SLACK,
        "it was {seen:?} ago, not {expected:?}"
    );
}

/// Nothing of the record changed while so much time passed.
#[track_caller]
pub fn assert_unchanged(before: &RecordInfo, after: &RecordInfo, passed: Duration) {
    let mut expected = before.clone();
    let ago = |before: Duration, after: Duration| {
        assert_ago(after, before + passed);
        after
    };
    let left = |before: Duration, after: Duration| {
        assert_left(after, before.saturating_sub(passed));
        after
    };
    expected.first_reserved_ago = ago(before.first_reserved_ago, after.first_reserved_ago);
    expected.last_reserved_ago = ago(before.last_reserved_ago, after.last_reserved_ago);
    if let (Some(before), Some(after)) = (before.remembered_for, after.remembered_for) {
        expected.remembered_for = Some(left(before, after));
    }
    match (&mut expected.condition, &after.condition) {
        (Condition::Live { lease_left: before }, Condition::Live { lease_left: after }) => {
            *before = left(*before, *after);
        }
        (Condition::Lapsed { ago: before }, Condition::Lapsed { ago: after })
        | (Condition::Unresolved { ago: before }, Condition::Unresolved { ago: after })
        | (Condition::Abandoned { ago: before }, Condition::Abandoned { ago: after }) => {
            *before = ago(*before, *after);
        }
        _ => {}
    }
    assert_eq!(after, &expected, "the record changed");
}
