//! Planted faults: rules that are wrong in one place, to see that the explorer finds what follows from
//! it. A fault of a store is the real function, asked with a false record or answered for falsely.

use super::rules::{Rules, SHIPPED};
use crate::executor::protocol::{self, AfterStart, Begin, Close, End, Reply, Sequel};
use crate::machine::{self, Change, InFlight, Record, State};
use crate::time::Timestamp;
use crate::{Answer, Completion, Holder, OnLapse, Outcome, ReserveRequest, Update};

type Reserved = (Outcome, Change);

// Late writers.

pub(super) const COMPLETE_IGNORES_THE_TOKEN: Rules = Rules {
    complete: |record, holder, answer, now| {
        let token = record.map_or(holder.token, |record| record.token);
        let holder = Holder {
            token,
            ..holder.clone()
        };
        machine::complete(record, &holder, answer, now)
    },
    ..SHIPPED
};

pub(super) const COMPLETE_IGNORES_THE_ATTEMPT: Rules = Rules {
    complete: |record, holder, answer, now| {
        machine::complete(record, &of_this_attempt(record, holder), answer, now)
    },
    ..SHIPPED
};

pub(super) const RENEW_IGNORES_THE_ATTEMPT: Rules = Rules {
    renew: |record, holder, terms, progress, now| {
        machine::renew(
            record,
            &of_this_attempt(record, holder),
            terms,
            progress,
            now,
        )
    },
    ..SHIPPED
};

fn of_this_attempt(record: Option<&Record>, holder: &Holder) -> Holder {
    let attempt = record.map_or(holder.attempt, |record| record.attempt);
    Holder {
        attempt,
        ..holder.clone()
    }
}

pub(super) const COMPLETE_OVERWRITES_THE_ANSWER: Rules = Rules {
    complete: |record, holder, answer, now| {
        let Some(record) = record.filter(|record| !machine::is_expired(record, now)) else {
            return (Completion::Superseded, Change::Keep);
        };
        let mut late = record.clone();
        late.state = State::Completed(answer.clone());
        (late.token, late.attempt) = (holder.token, holder.attempt);
        let remembered_for = late.retention_end.saturating_since(now);
        (Completion::Completed { remembered_for }, Change::Put(late))
    },
    ..SHIPPED
};

// Takeovers.

pub(super) const TAKEOVER_KEEPS_THE_TOKEN: Rules = Rules {
    reserve: |record, request, now| {
        taken_over(record, request, now, |old, new| new.token = old.token)
    },
    ..SHIPPED
};

pub(super) const TAKEOVER_KEEPS_TOKEN_AND_ATTEMPT: Rules = Rules {
    reserve: |record, request, now| {
        taken_over(record, request, now, |old, new| {
            (new.token, new.attempt) = (old.token, old.attempt);
        })
    },
    ..SHIPPED
};

fn taken_over(
    record: Option<&Record>,
    request: &ReserveRequest,
    now: Timestamp,
    fault: fn(&Record, &mut Record),
) -> Reserved {
    let (outcome, mut change) = machine::reserve(record, request, now);
    if let (Some(old), Change::Put(new)) = (record, &mut change)
        && new.attempt > old.attempt
    {
        fault(old, new);
    }
    (outcome, change)
}

pub(super) const NOTHING_IS_TAKEN_OVER: Rules = Rules {
    reserve: |record, request, now| match machine::reserve(record, request, now) {
        (Outcome::Reserved { attempt, .. }, _) if attempt > 1 => {
            (Outcome::Conflict { retry_after: None }, Change::Keep)
        }
        reserved => reserved,
    },
    ..SHIPPED
};

pub(super) const HOLD_IS_ASKED_OF_THE_LATER_CALLER_ONLY: Rules = Rules {
    reserve: |record, request, now| {
        let others = record
            .filter(|record| record.token != request.token && !machine::is_expired(record, now));
        let Some(record) = others else {
            return machine::reserve(record, request, now);
        };
        let mut forgetful = record.clone();
        forgetful.on_lapse = OnLapse::RunAgain;
        machine::reserve(Some(&forgetful), request, now)
    },
    ..SHIPPED
};

pub(super) const THE_LONGEST_AGE_IS_IGNORED: Rules = Rules {
    reserve: |record, request, now| {
        machine::reserve(record, &request.clone().longest_age(None), now)
    },
    ..SHIPPED
};

// Ways back.

pub(super) const A_LATE_RENEW_REVIVES: Rules = Rules {
    renew: |record, holder, terms, progress, now| {
        let revived = with_flight(record, |flight| flight.abandoned = false);
        machine::renew(revived.as_ref(), holder, terms, progress, now)
    },
    ..SHIPPED
};

pub(super) const A_STARTED_RESERVATION_IS_GRANTED_AGAIN: Rules = Rules {
    reserve: |record, request, now| {
        let own = record.is_some_and(|record| record.token == request.token);
        let fresh = with_flight(record, |flight| flight.started &= !own);
        machine::reserve(fresh.as_ref(), request, now)
    },
    ..SHIPPED
};

fn with_flight(record: Option<&Record>, fault: impl Fn(&mut InFlight)) -> Option<Record> {
    let mut record = record.cloned()?;
    if let State::InFlight(flight) = &mut record.state {
        fault(flight);
    }
    Some(record)
}

// Forgetting.

pub(super) const THE_UNRESOLVED_EXPIRE: Rules = Rules {
    is_expired: all_expire,
    reserve: |record, request, now| {
        machine::reserve(
            record.filter(|record| !all_expire(record, now)),
            request,
            now,
        )
    },
    ..SHIPPED
};

fn all_expire(record: &Record, now: Timestamp) -> bool {
    let mut record = record.clone();
    record.on_lapse = OnLapse::RunAgain;
    machine::is_expired(&record, now)
}

pub(super) const RELEASE_FORGETS_THE_COMPLETED: Rules = Rules {
    release: |record, holder, now| match machine::release(record, holder, now) {
        (Update::AlreadyCompleted(_), _) => (Update::Done, Change::Remove),
        released => released,
    },
    ..SHIPPED
};

pub(super) const AN_ANSWER_IS_KEPT_TO_THE_FIRST_RETENTION_ONLY: Rules = Rules {
    complete: |record, holder, answer, now| {
        let (completion, mut change) = machine::complete(record, holder, answer, now);
        if let (Some(old), Change::Put(new)) = (record, &mut change) {
            new.retention_end = old.retention_end;
        }
        (completion, change)
    },
    ..SHIPPED
};

// The executor.

pub(super) const STARTS_WITHOUT_RENEWING: Rules = Rules {
    begin: |_, _, _, _, _| Begin::Run,
    ..SHIPPED
};

pub(super) const STARTS_LATE: Rules = Rules {
    begin: |on_lapse, _, resent, attempt, age_is_bounded| {
        protocol::begin(on_lapse, false, resent, attempt, age_is_bounded)
    },
    ..SHIPPED
};

pub(super) const STARTS_WHAT_WAS_GRANTED_LONG_AGO: Rules = Rules {
    begin: |on_lapse, late, _, attempt, age_is_bounded| {
        protocol::begin(on_lapse, late, false, attempt, age_is_bounded)
    },
    ..SHIPPED
};

pub(super) const A_RENEWAL_MAKES_YOUNGER: Rules = Rules {
    start_by: |_, renewed_until, _, _| renewed_until,
    ..SHIPPED
};

pub(super) const STARTS_AFTER_AN_UNKNOWN_RENEWAL: Rules = Rules {
    after_start: |reply, late| match reply {
        Reply::Unanswered => AfterStart::Run,
        reply => protocol::after_start(reply, late),
    },
    ..SHIPPED
};

pub(super) const A_DROPPED_RUN_IS_ABANDONED_UNDER_HOLD: Rules = Rules {
    close: |end, attempt, on_lapse, superseded| match end {
        End::Unknown if !superseded => Close::Abandon,
        end => protocol::close(end, attempt, on_lapse, superseded),
    },
    ..SHIPPED
};

pub(super) const AN_UNRECORDED_ANSWER_IS_ABANDONED: Rules = Rules {
    abandons_unrecorded: true,
    ..SHIPPED
};

pub(super) const SENDS_ITS_OWN_AFTER_ALL: Rules = Rules {
    after_completing: |reply, own: &Answer| match protocol::after_completing(reply, own) {
        Sequel::ReserveAgain => Sequel::OwnUnrecorded,
        sequel => sequel,
    },
    ..SHIPPED
};

pub(super) const HEEDS_NO_HEARTBEAT: Rules = Rules {
    close: |end, attempt, on_lapse, _| protocol::close(end, attempt, on_lapse, false),
    ..SHIPPED
};

pub(super) const DECIDES_BEFORE_THE_HEARTBEAT_STOPS: Rules = Rules {
    decides_before_heartbeat_stops: true,
    ..SHIPPED
};

pub(super) const TAKES_ITS_FIRST_WITHDRAWAL_FOR_DONE: Rules = Rules {
    after_withdrawing: |reply| match protocol::after_withdrawing(reply) {
        Sequel::ReserveAgain => Sequel::Own,
        sequel => sequel,
    },
    ..SHIPPED
};

pub(super) const RESERVES_AGAIN_TO_RUN: Rules = Rules {
    again: OnLapse::RunAgain,
    ..SHIPPED
};
