//! Right stores pass, real time included; wrong ones are found, by a script that a person can read.

use std::time::Duration;

use idem_core::machine::{Change, InFlight, Record, State};
use idem_core::{Completion, OnLapse, Outcome, Timestamp};

use crate::call::{Call, Reply};
use crate::fixture::HOUR;
use crate::laws::model::{
    l1_random_scripts_agree_to_the_millisecond, l1_random_scripts_agree_with_the_machine,
};
use crate::toy::{ToyHarness, Twist};
use crate::{Runtime, judge, run};

/// What the law finds in a toy store; `None` if nothing.
fn on_the_hour<T: Twist>() -> Option<String> {
    let law =
        async |harness: ToyHarness<T>| l1_random_scripts_agree_with_the_machine(&harness).await;
    judge("on the hour", || run(Runtime::Single, law)).broken
}

fn to_the_millisecond<T: Twist>() -> Option<String> {
    let law =
        async |harness: ToyHarness<T>| l1_random_scripts_agree_to_the_millisecond(&harness).await;
    judge("to the millisecond", || run(Runtime::Single, law)).broken
}

struct Right;

impl Twist for Right {}

#[test]
fn the_machine_itself_passes() {
    assert_eq!(on_the_hour::<Right>(), None);
    assert_eq!(to_the_millisecond::<Right>(), None);
}

/// A script has at most 50 steps of at most 5 calls: real time is within half the slack, which the
/// half-retention rule counts twice.
struct Creeping;

impl Twist for Creeping {
    const CREEP: Duration = Duration::from_millis(1200);
}

#[test]
fn no_decision_on_the_hour_is_near_to_what_real_time_disturbs() {
    assert_eq!(on_the_hour::<Creeping>(), None);
    assert!(to_the_millisecond::<Creeping>().is_some());
}

/// Declares stores with one wrong decision each.
macro_rules! wrong {
    ($($name:ident: |$call:pat_param, $record:pat_param, $now:pat_param, $right:pat_param| $twist:expr;)*) => {$(
        struct $name;

        impl Twist for $name {
            fn twist(
                $call: &Call,
                $record: Option<&Record>,
                $now: Timestamp,
                $right: (Reply, Change),
            ) -> (Reply, Change) {
                $twist
            }
        }
    )*};
}

/// The change with the record that it puts altered.
fn put(change: Change, alter: impl FnOnce(&mut Record)) -> Change {
    match change {
        Change::Put(mut record) => {
            alter(&mut record);
            Change::Put(record)
        }
        change => change,
    }
}

fn flight(record: &mut Record) -> Option<&mut InFlight> {
    match &mut record.state {
        State::InFlight(flight) => Some(flight),
        State::Completed(_) => None,
    }
}

wrong! {
    RenewalShortens: |call, _, now, (reply, change)| match call {
        Call::Renew(_, terms, _) => (reply, put(change, |record| {
            flight(record).unwrap().lease_end = now.saturating_add(terms.lease());
        })),
        _ => (reply, change),
    };
    TakeoverDropsProgress: |call, record, _, (reply, change)| match (call, reply) {
        (Call::Reserve(_), Reply::Reserve(Outcome::Reserved { attempt, .. })) if record.is_some() => (
            Reply::Reserve(Outcome::Reserved { attempt, progress: None }),
            put(change, |record| flight(record).unwrap().progress = None),
        ),
        (_, reply) => (reply, change),
    };
    RetentionIsNotCountedAnewAtCompletion: |call, before, _, (reply, change)| match (call, before) {
        (Call::Complete(..), Some(before)) => {
            (reply, put(change, |record| record.retention_end = before.retention_end))
        }
        _ => (reply, change),
    };
    RemembersOneHourLessThanItSays: |_, _, _, (reply, change)| match reply {
        Reply::Complete(Completion::Completed { remembered_for }) => (
            Reply::Complete(Completion::Completed { remembered_for: remembered_for + HOUR }),
            change,
        ),
        reply => (reply, change),
    };
    OnlyTheHolderIsAskedForHold: |call, record, now, right| match call {
        Call::Reserve(request) if record.is_some_and(|record| record.on_lapse == OnLapse::RunAgain) => {
            let mut request = request.clone();
            request.on_lapse = OnLapse::RunAgain;
            let (reply, change) = Call::Reserve(request).specified(record, now);
            (reply, put(change, |record| record.on_lapse = OnLapse::RunAgain))
        }
        _ => right,
    };
    ResendFindsConflict: |call, record, now, right| match (call, record) {
        (Call::Reserve(request), Some(record)) if record.token == request.token => {
            let mut request = request.clone();
            request.token = crate::readable::token(99);
            Call::Reserve(request).specified(Some(record), now)
        }
        _ => right,
    };
    StartedIsForgotten: |call, _, _, (reply, change)| match call {
        Call::Renew(..) => (reply, put(change, |record| flight(record).unwrap().started = false)),
        _ => (reply, change),
    };
    LeaseIsLiveAtItsEnd: |call, record, now, right| match (call, record) {
        (Call::Reserve(_), Some(record)) => {
            let mut record = record.clone();
            if let Some(flight) = flight(&mut record).filter(|flight| !flight.abandoned) {
                flight.lease_end = flight.lease_end.saturating_add(Duration::from_millis(1));
            }
            match call.specified(Some(&record), now) {
                (reply, Change::Keep) => (reply, Change::Keep),
                _ => right,
            }
        }
        _ => right,
    };
}

#[test]
fn wrong_stores_are_found() {
    for (name, found) in [
        ("renewal shortens", on_the_hour::<RenewalShortens>()),
        (
            "takeover drops progress",
            on_the_hour::<TakeoverDropsProgress>(),
        ),
        (
            "retention",
            on_the_hour::<RetentionIsNotCountedAnewAtCompletion>(),
        ),
        (
            "remembers less",
            on_the_hour::<RemembersOneHourLessThanItSays>(),
        ),
        ("hold", on_the_hour::<OnlyTheHolderIsAskedForHold>()),
        ("resend", on_the_hour::<ResendFindsConflict>()),
        ("started", on_the_hour::<StartedIsForgotten>()),
        ("boundary", to_the_millisecond::<LeaseIsLiveAtItsEnd>()),
    ] {
        let found = found.unwrap_or_else(|| panic!("{name}: not found"));
        println!("{name}: {found}");
        let steps = found.lines().filter(|line| line.contains(". at ")).count();
        assert!(
            (1..=8).contains(&steps),
            "{name}: {steps} steps are left:\n{found}"
        );
    }
}
