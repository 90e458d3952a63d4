//! What the cache may answer, and what it may keep: the rules of [`Cached`](super::Cached), as pure
//! functions. A model walks through every history of two nodes that do what these functions say.

use std::time::Duration;

use super::entry::Entry;
use crate::{
    Answer, Completion, Fingerprint, Holder, Outcome, Replay, ReserveRequest, Terms, Token, Update,
};

/// Whether the cache is asked at all. A resend may have won: only the store knows.
pub(crate) fn may_answer(request: &ReserveRequest) -> bool {
    !request.resend
}

/// What an entry answers to a request of `token` (or to a look-up); `None`: ask the store.
pub(crate) fn answer(
    entry: &Entry,
    expires_in: Duration,
    fingerprint: &Fingerprint,
    token: Option<Token>,
) -> Option<Outcome> {
    match entry {
        // A mismatch is the store's to say: the entry may be of a record that is gone.
        _ if entry.fingerprint() != fingerprint => None,
        Entry::Copy { answer, .. } => Some(Outcome::Replay(Replay {
            answer: answer.clone(),
            // The copy lasts for half of what the store said at most: the record outlives it by as
            // much as it has lasted so far, and by more than what it has left.
            remembered_for: expires_in,
        })),
        // One's own mark: law R10 is the store's.
        Entry::Mark { token: marked, .. } if Some(*marked) == token => None,
        // The mark ends with the lease or before.
        Entry::Mark { .. } if expires_in.is_zero() => None,
        Entry::Mark { .. } => Some(Outcome::Conflict {
            retry_after: Some(expires_in),
        }),
    }
}

/// What to keep after an answer of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    Entry(Entry, Duration),
}

impl Keep {
    /// A mark that `token` holds the record, for what is left of `lease` after `elapsed`, and for no
    /// longer than `longest`.
    fn mark(
        fingerprint: Fingerprint,
        token: Token,
        lease: Duration,
        longest: Duration,
        elapsed: Duration,
    ) -> Self {
        Self::entry_for(
            lease.saturating_sub(elapsed).min(longest),
            Entry::Mark { fingerprint, token },
        )
    }

    /// A copy of what stands, for half of what it is remembered, less what passed since the call.
    fn copy(fingerprint: Fingerprint, replay: &Replay, elapsed: Duration) -> Self {
        let answer = replay.answer.clone();
        let time_to_live = (replay.remembered_for / 2).saturating_sub(elapsed);
        Self::entry_for(
            time_to_live,
            Entry::Copy {
                fingerprint,
                answer,
            },
        )
    }

    /// Caches count in milliseconds: less than one is nothing.
    fn entry_for(time_to_live: Duration, entry: Entry) -> Self {
        let whole =
            Duration::from_millis(u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX));
        if whole.is_zero() {
            Self::Nothing
        } else {
            Self::Entry(entry, whole)
        }
    }

    pub(crate) fn entry(self) -> Option<(Entry, Duration)> {
        match self {
            Self::Nothing => None,
            Self::Entry(entry, time_to_live) => Some((entry, time_to_live)),
        }
    }
}

/// `elapsed`: since before the call.
pub(crate) fn after_reserve(
    request: &ReserveRequest,
    outcome: &Outcome,
    longest_mark: Duration,
    elapsed: Duration,
) -> Keep {
    match outcome {
        Outcome::Reserved { .. } => after_grant(request, longest_mark, elapsed),
        Outcome::Replay(replay) => after_replay(request.operation.fingerprint, replay, elapsed),
        Outcome::Conflict { .. } | Outcome::Mismatch => Keep::Nothing,
    }
}

pub(crate) fn after_grant(
    request: &ReserveRequest,
    longest_mark: Duration,
    elapsed: Duration,
) -> Keep {
    let fingerprint = request.operation.fingerprint;
    let lease = request.terms.lease();
    Keep::mark(fingerprint, request.token, lease, longest_mark, elapsed)
}

pub(crate) fn after_replay(fingerprint: Fingerprint, replay: &Replay, elapsed: Duration) -> Keep {
    Keep::copy(fingerprint, replay, elapsed)
}

/// `fingerprint`: of the reservation, as it was granted.
pub(crate) fn after_complete(
    fingerprint: Fingerprint,
    answer: &Answer,
    completion: &Completion,
    elapsed: Duration,
) -> Keep {
    match completion {
        Completion::Completed { remembered_for } => {
            let stands = Replay {
                answer: answer.clone(),
                remembered_for: *remembered_for,
            };
            Keep::copy(fingerprint, &stands, elapsed)
        }
        Completion::AlreadyCompleted(replay) => Keep::copy(fingerprint, replay, elapsed),
        Completion::Superseded => Keep::Nothing,
    }
}

/// `fingerprint`: of the reservation, as it was granted.
pub(crate) fn after_renew(
    fingerprint: Fingerprint,
    holder: &Holder,
    terms: Terms,
    update: &Update,
    longest_mark: Duration,
    elapsed: Duration,
) -> Keep {
    match update {
        Update::Done => Keep::mark(
            fingerprint,
            holder.token,
            terms.lease(),
            longest_mark,
            elapsed,
        ),
        Update::AlreadyCompleted(replay) => Keep::copy(fingerprint, replay, elapsed),
        Update::Superseded => Keep::Nothing,
    }
}
