//! Planted faults: rules that are wrong in one place, to see that the search finds what follows.

use std::time::Duration;

use super::super::entry::Entry;
use super::super::rules::{self, Keep};
use super::rules::{Rules, SHIPPED};
use super::world::Op;
use crate::{Completion, Outcome, Update};

// Marks.

pub(super) const MARK_BEFORE_THE_GRANT: Rules = Rules {
    marks_first: true,
    ..SHIPPED
};

pub(super) const MARK_STAYS_AT_A_COMPLETION: Rules = Rules {
    removes_before: |op| op != Op::Complete,
    ..SHIPPED
};

pub(super) const MARK_STAYS_AT_AN_ABANDONMENT: Rules = Rules {
    removes_before: |op| op != Op::Abandon,
    ..SHIPPED
};

pub(super) const MARK_STAYS_AT_A_RELEASE: Rules = Rules {
    removes_before: |op| op != Op::Release,
    ..SHIPPED
};

pub(super) const SUPERSEDED_HEARTBEAT_MARKS: Rules = Rules {
    after_renew: |fingerprint, holder, terms, _, longest, elapsed| {
        rules::after_renew(fingerprint, holder, terms, &Update::Done, longest, elapsed)
    },
    ..SHIPPED
};

pub(super) const MARK_COUNTS_FROM_AFTER_THE_CALL: Rules = Rules {
    after_reserve: |request, outcome, longest, _| {
        rules::after_reserve(request, outcome, longest, Duration::ZERO)
    },
    ..SHIPPED
};

pub(super) const MARK_LASTS_AS_LONG_AS_THE_LEASE: Rules = Rules {
    after_reserve: |request, outcome, _, elapsed| {
        rules::after_reserve(request, outcome, Duration::MAX, elapsed)
    },
    ..SHIPPED
};

pub(super) const OWN_MEMORY_KEEPS_MARKS: Rules = MARK_LASTS_AS_LONG_AS_THE_LEASE;

pub(super) const OWN_MARK_ANSWERS: Rules = Rules {
    answer: |entry, expires_in, fingerprint, _| rules::answer(entry, expires_in, fingerprint, None),
    ..SHIPPED
};

pub(super) const RESEND_IS_ANSWERED: Rules = Rules {
    may_answer: |_| true,
    ..SHIPPED
};

// Copies.

pub(super) const COPY_FOR_ALL_THAT_IS_REMEMBERED: Rules = Rules {
    after_complete: |fingerprint, answer, completion, elapsed| {
        let keep = rules::after_complete(fingerprint, answer, completion, elapsed);
        lasting(keep, |half| half * 2)
    },
    ..SHIPPED
};

pub(super) const COPY_OUTLIVES_THE_RECORD: Rules = Rules {
    after_reserve: |request, outcome, longest, elapsed| {
        let keep = rules::after_reserve(request, outcome, longest, elapsed);
        lasting(keep, |half| half * 2 + Duration::from_millis(2))
    },
    ..SHIPPED
};

pub(super) const COPY_BEFORE_THE_COMPLETION: Rules = Rules {
    copies_first: true,
    ..SHIPPED
};

/// The response of a superseded or repeated completion, in the place of the one that stands.
pub(super) const COPY_OF_ONES_OWN_ANSWER: Rules = Rules {
    after_complete: |fingerprint, answer, completion, elapsed| {
        let remembered_for = match completion {
            Completion::Completed { remembered_for } => *remembered_for,
            Completion::AlreadyCompleted(replay) => replay.remembered_for,
            Completion::Superseded => return Keep::Nothing,
        };
        let completed = Completion::Completed { remembered_for };
        rules::after_complete(fingerprint, answer, &completed, elapsed)
    },
    ..SHIPPED
};

pub(super) const COPY_ANSWERS_ANOTHER_FINGERPRINT: Rules = Rules {
    answer: |entry, expires_in, fingerprint, token| {
        let fingerprint = match entry {
            Entry::Copy { fingerprint, .. } => fingerprint,
            Entry::Mark { .. } => fingerprint,
        };
        rules::answer(entry, expires_in, fingerprint, token)
    },
    ..SHIPPED
};

pub(super) const CACHE_SAYS_MISMATCH: Rules = Rules {
    answer: |entry, expires_in, fingerprint, token| {
        if entry.fingerprint() == fingerprint {
            rules::answer(entry, expires_in, fingerprint, token)
        } else {
            Some(Outcome::Mismatch)
        }
    },
    ..SHIPPED
};

pub(super) const FAILED_PUT_IS_SENT_AGAIN: Rules = Rules {
    puts_again: true,
    ..SHIPPED
};

/// A copy, kept for longer.
fn lasting(keep: Keep, longer: fn(Duration) -> Duration) -> Keep {
    match keep {
        Keep::Entry(entry @ Entry::Copy { .. }, time_to_live) => {
            Keep::Entry(entry, longer(time_to_live))
        }
        keep => keep,
    }
}
