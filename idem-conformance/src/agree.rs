//! Whether what was seen is what the machine says, durations included.

use std::time::Duration;

use idem_core::{Completion, Condition, Outcome, RecordInfo, Replay, Update};

use crate::call::Reply;
use crate::fixture::SLACK;

/// How closely durations are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// To the millisecond: no time passes that the machine does not know of.
    Exact,
    /// Real time may have passed, up to [`SLACK`](crate::fixture::SLACK).
    WithinSlack,
}

impl Precision {
    /// What is left of something.
    pub(crate) fn left(self, seen: Duration, expected: Duration) -> bool {
        match self {
            Self::Exact => seen == expected,
            Self::WithinSlack => seen <= expected && seen + SLACK >= expected,
        }
    }

    /// How long ago something was.
    pub(crate) fn ago(self, seen: Duration, expected: Duration) -> bool {
        match self {
            Self::Exact => seen == expected,
            Self::WithinSlack => seen >= expected && seen <= expected + SLACK,
        }
    }

    /// What a caller is promised at least: a hint to wait for (R3), or for how long a replay is still
    /// remembered. Less is allowed, nothing is not.
    fn at_most(self, seen: Duration, expected: Duration) -> bool {
        match self {
            Self::Exact => seen == expected,
            Self::WithinSlack => !seen.is_zero() && seen <= expected,
        }
    }

    pub(crate) fn agree(self, seen: &Reply, expected: &Reply) -> bool {
        match (seen, expected) {
            (Reply::Reserve(seen), Reply::Reserve(expected)) => self.outcome(seen, expected),
            (Reply::Complete(seen), Reply::Complete(expected)) => self.completion(seen, expected),
            (Reply::Update(seen), Reply::Update(expected)) => self.update(seen, expected),
            (Reply::Get(seen), Reply::Get(expected)) => match (seen, expected) {
                (Some(seen), Some(expected)) => self.info(seen, expected),
                (seen, expected) => seen.is_none() && expected.is_none(),
            },
            _ => false,
        }
    }

    fn outcome(self, seen: &Outcome, expected: &Outcome) -> bool {
        match (seen, expected) {
            (
                Outcome::Conflict {
                    retry_after: Some(seen),
                },
                Outcome::Conflict {
                    retry_after: Some(expected),
                },
            ) => self.at_most(*seen, *expected),
            (Outcome::Replay(seen), Outcome::Replay(expected)) => {
                seen.answer == expected.answer
                    && self.at_most(seen.remembered_for, expected.remembered_for)
            }
            _ => seen == expected,
        }
    }

    fn completion(self, seen: &Completion, expected: &Completion) -> bool {
        match (seen, expected) {
            (
                Completion::Completed {
                    remembered_for: seen,
                },
                Completion::Completed {
                    remembered_for: expected,
                },
            ) => self.left(*seen, *expected),
            (Completion::AlreadyCompleted(seen), Completion::AlreadyCompleted(expected)) => {
                self.stands(seen, expected)
            }
            _ => seen == expected,
        }
    }

    fn update(self, seen: &Update, expected: &Update) -> bool {
        match (seen, expected) {
            (Update::AlreadyCompleted(seen), Update::AlreadyCompleted(expected)) => {
                self.stands(seen, expected)
            }
            _ => seen == expected,
        }
    }

    fn stands(self, seen: &Replay, expected: &Replay) -> bool {
        seen.answer == expected.answer && self.left(seen.remembered_for, expected.remembered_for)
    }

    /// A record as operators see it.
    pub(crate) fn info(self, seen: &RecordInfo, expected: &RecordInfo) -> bool {
        let remembered = match (seen.remembered_for, expected.remembered_for) {
            (Some(seen), Some(expected)) => self.left(seen, expected),
            (seen, expected) => seen == expected,
        };
        // The rest must be equal, whatever fields a later version adds.
        let rest = RecordInfo {
            condition: expected.condition.clone(),
            first_reserved_ago: expected.first_reserved_ago,
            last_reserved_ago: expected.last_reserved_ago,
            remembered_for: expected.remembered_for,
            ..seen.clone()
        };
        remembered
            && self.condition(&seen.condition, &expected.condition)
            && self.ago(seen.first_reserved_ago, expected.first_reserved_ago)
            && self.ago(seen.last_reserved_ago, expected.last_reserved_ago)
            && rest == *expected
    }

    fn condition(self, seen: &Condition, expected: &Condition) -> bool {
        match (seen, expected) {
            (
                Condition::Live { lease_left: seen },
                Condition::Live {
                    lease_left: expected,
                },
            ) => self.left(*seen, *expected),
            (Condition::Lapsed { ago: seen }, Condition::Lapsed { ago: expected })
            | (Condition::Unresolved { ago: seen }, Condition::Unresolved { ago: expected })
            | (Condition::Abandoned { ago: seen }, Condition::Abandoned { ago: expected }) => {
                self.ago(*seen, *expected)
            }
            _ => seen == expected,
        }
    }
}
