//! The executor's decisions, as pure functions: no I/O, no clock, no async.
//!
//! The executor does what these functions say, and the explorer walks through every history of callers
//! who do what these functions say. What is explored is what runs.

use crate::{Answer, Completion, OnLapse, Outcome, Replay, Update};

/// What a caller knows of a call after its bounded resends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply<T> {
    /// The store answered. `resent`: an earlier send of the same call may have been applied.
    Answered { value: T, resent: bool },
    /// No answer. The call may have been applied, or may be later.
    Unanswered,
}

/// What to do once an operation is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Run the handler.
    Run,
    /// Renew first, then decide by [`after_start`].
    RenewFirst,
    /// Do not run: give the reservation back.
    GiveBack,
}

/// `late`: the lease, counted from before the last send, is over. `resent`: an earlier send of the
/// reserve may have been applied. `age_is_bounded`: there is a longest age for running again.
pub(crate) fn begin(
    on_lapse: OnLapse,
    late: bool,
    resent: bool,
    attempt: u32,
    age_is_bounded: bool,
) -> Begin {
    // The store compared the age when it granted the takeover, and nobody compares it again: a
    // takeover that starts late could outlive the provider's memory. A resend may have been given what
    // an earlier send was granted long ago (law R10).
    if (late || resent) && attempt > 1 && age_is_bounded {
        Begin::GiveBack
    } else if late || on_lapse == OnLapse::Hold {
        Begin::RenewFirst
    } else {
        Begin::Run
    }
}

/// By when a handler must start that renewed first, of the end of the lease counted from the reserve and
/// counted from the renewal. A renewal does not make a takeover any younger.
pub(crate) fn start_by<I: Ord>(
    reserved_until: I,
    renewed_until: I,
    attempt: u32,
    age_is_bounded: bool,
) -> I {
    if attempt > 1 && age_is_bounded {
        reserved_until.min(renewed_until)
    } else {
        renewed_until
    }
}

/// What to do after the renewal that starts a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AfterStart {
    Run,
    /// Somebody settled it already.
    Standing(Replay),
    /// Do not run, and abandon: nothing happened, whatever became of the renewal.
    Abandon,
}

pub(crate) fn after_start(reply: Reply<Update>, late: bool) -> AfterStart {
    match reply {
        Reply::Answered {
            value: Update::Done,
            ..
        } if !late => AfterStart::Run,
        Reply::Answered {
            value: Update::AlreadyCompleted(replay),
            ..
        } => AfterStart::Standing(replay),
        _ => AfterStart::Abandon,
    }
}

/// How a reservation that will not run is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GiveBack {
    Release,
    Abandon,
}

/// The first attempt leaves nothing behind; a later one must keep what the earlier ones left.
pub(crate) fn give_back(attempt: u32) -> GiveBack {
    if attempt == 1 {
        GiveBack::Release
    } else {
        GiveBack::Abandon
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Abandon,
    Release,
    /// The handler completed the record itself, in a transaction that has committed.
    Recorded,
    /// An error, a panic or a dropped future: nobody knows what happened.
    Unknown,
}

/// What to tell the store after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Complete,
    Abandon,
    Release,
    /// Nothing: the lease lapses, and the record is unresolved. Or it is completed already.
    Nothing,
    /// Nothing, since another attempt took over: see [`after_reserving_again`].
    ReserveAgain,
}

pub(crate) fn close(end: End, attempt: u32, on_lapse: OnLapse, told_superseded: bool) -> Close {
    match end {
        // It committed under its token and attempt: a heartbeat that was told otherwise came later.
        End::Recorded => Close::Nothing,
        _ if told_superseded => Close::ReserveAgain,
        End::Complete => Close::Complete,
        End::Abandon => Close::Abandon,
        // A handler speaks for its own run only: an earlier attempt may have had the effect, and to
        // forget the record would forget its age, too.
        End::Release => match give_back(attempt) {
            GiveBack::Release => Close::Release,
            GiveBack::Abandon => Close::Abandon,
        },
        End::Unknown => match on_lapse {
            OnLapse::RunAgain => Close::Abandon,
            OnLapse::Hold => Close::Nothing,
        },
    }
}

/// Whose answer the caller gets after the store was told how a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sequel {
    /// Its own.
    Own,
    /// Its own, although the store does not have it: the store is asked on in the background.
    OwnUnrecorded,
    /// The one that stands.
    Standing(Replay),
    /// Not its own: the operation is reserved again, to see what stands.
    ReserveAgain,
}

pub(crate) fn after_completing(reply: Reply<Completion>, own: &Answer) -> Sequel {
    match reply {
        Reply::Answered {
            value: Completion::Completed { .. },
            ..
        } => Sequel::Own,
        // The send before recorded it.
        Reply::Answered {
            value: Completion::AlreadyCompleted(replay),
            resent: true,
        } if replay.answer == *own => Sequel::Own,
        Reply::Answered {
            value: Completion::AlreadyCompleted(replay),
            ..
        } => Sequel::Standing(replay),
        Reply::Answered {
            value: Completion::Superseded,
            ..
        } => Sequel::ReserveAgain,
        Reply::Unanswered => Sequel::OwnUnrecorded,
    }
}

/// After an abandonment or a release. Unanswered, nothing is asked on: the lease lapses.
pub(crate) fn after_withdrawing(reply: Reply<Update>) -> Sequel {
    match reply {
        Reply::Answered {
            value: Update::Done,
            ..
        } => Sequel::Own,
        Reply::Answered {
            value: Update::AlreadyCompleted(replay),
            ..
        } => Sequel::Standing(replay),
        // The send before did it.
        Reply::Answered {
            value: Update::Superseded,
            resent: true,
        } => Sequel::Own,
        Reply::Answered {
            value: Update::Superseded,
            resent: false,
        } => Sequel::ReserveAgain,
        Reply::Unanswered => Sequel::OwnUnrecorded,
    }
}

/// What a superseded caller answers, once it has reserved again asking for `Hold`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Superseded {
    Standing(Replay),
    /// A conflict, with the usual hint.
    Conflict,
    /// A conflict; and the reservation that was won on the way is given back.
    ConflictAndGiveBack {
        attempt: u32,
    },
}

pub(crate) fn after_reserving_again(reply: Reply<Outcome>) -> Superseded {
    match reply {
        Reply::Answered {
            value: Outcome::Replay(replay),
            ..
        } => Superseded::Standing(replay),
        Reply::Answered {
            value: Outcome::Reserved { attempt, .. },
            ..
        } => Superseded::ConflictAndGiveBack { attempt },
        Reply::Answered {
            value: Outcome::Conflict { .. } | Outcome::Mismatch,
            ..
        }
        | Reply::Unanswered => Superseded::Conflict,
    }
}
