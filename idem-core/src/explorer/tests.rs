//! The searches: what ships, in several worlds, and what must be found in worlds with a fault.

use super::faults::*;
use super::invariants::Invariant;
use super::model::{Config, Model, Provider};
use super::rules::{Rules, SHIPPED};
use super::search::explore;
use crate::test_support::effort;

const RUN_AGAIN: Config = Config {
    name: "all run again",
    callers: 3,
    holds: [false; 3],
    lease: 2,
    retention: 4,
    longest_age: None,
    provider: None,
    sends: 2,
    resends: 1,
    copies: 0,
    beats: 1,
    rounds: 1,
    retries: 0,
    looks: 0,
    operator_is_right: true,
};

const HOLD: Config = Config {
    name: "all hold",
    holds: [true; 3],
    ..RUN_AGAIN
};

pub(super) const ONE_HOLDS: Config = Config {
    name: "one holds",
    holds: [true, false, false],
    ..RUN_AGAIN
};

pub(super) const OPERATOR: Config = Config {
    name: "all hold, operator",
    looks: 1,
    ..HOLD
};

const WRONG_OPERATOR: Config = Config {
    name: "all hold, operator is wrong",
    operator_is_right: false,
    ..OPERATOR
};

/// The provider remembers for the longest age, a lease and a handler: the takeover may be granted just
/// before the longest age, start just before the lease ends, and charge just before the handler has to
/// be through. In whole ticks, "just before" is one less each, and the moment of the charge itself must
/// still be remembered.
const AGED: Config = Config {
    name: "longest age",
    retention: 6,
    longest_age: Some(3),
    provider: Some(Provider {
        window: 3 + 2 + 1 - 2,
        handler: 1,
    }),
    ..RUN_AGAIN
};

const AGED_ONE_HOLDS: Config = Config {
    name: "longest age, one holds",
    holds: [true, false, false],
    ..AGED
};

/// The least that goes wrong by itself.
const fn calm(config: Config) -> Config {
    Config {
        resends: 0,
        copies: 0,
        beats: 0,
        rounds: 0,
        ..config
    }
}

/// Calls are sent once; one of them at a time may come late.
pub(super) const fn late_copies(config: Config) -> Config {
    Config {
        resends: 0,
        copies: 1,
        ..config
    }
}

/// Two callers, and more goes wrong at a time.
const fn rough(config: Config) -> Config {
    Config {
        callers: 2,
        sends: 3,
        resends: 2,
        copies: 2,
        ..config
    }
}

/// Explores what ships: in a release build to the end, in a debug build only so far as is quick.
/// `IDEM_EFFORT` goes farther.
fn holds(config: Config) {
    let effort = effort() as usize;
    let (most, config) = match effort {
        _ if cfg!(debug_assertions) => (8_000 * effort, config),
        1 => (MOST, config),
        _ => {
            let more = Config {
                resends: config.resends + 1,
                copies: config.copies.max(1),
                ..config
            };
            (MOST * effort, more)
        }
    };
    match explore(&Model::new(config, SHIPPED), most) {
        Ok(report) => {
            let Config {
                name,
                callers,
                resends,
                copies,
                ..
            } = config;
            let bounds = format!("{callers} callers, {resends} resends, {copies} late copies");
            println!("{name:<28} {bounds:<39} {report}");
            let in_full = !cfg!(debug_assertions) && effort == 1;
            assert!(report.closed || !in_full, "{name}: not explored to the end");
        }
        Err(trace) => panic!("{}: {trace}", config.name),
    }
}

/// Memory for so many states is there on any machine that builds this.
const MOST: usize = 5_000_000;

macro_rules! holds {
    ($($name:ident: $config:expr;)*) => {$(
        #[test]
        fn $name() {
            holds($config);
        }
    )*};
}

holds! {
    all_run_again: RUN_AGAIN;
    all_run_again_with_late_copies: late_copies(RUN_AGAIN);
    all_run_again_when_it_is_rough: rough(RUN_AGAIN);
    callers_begin_anew: Config { callers: 2, retries: 1, ..calm(RUN_AGAIN) };
    all_hold: Config { copies: 1, ..HOLD };
    all_hold_when_it_is_rough: rough(HOLD);
    one_holds: ONE_HOLDS;
    an_operator_resolves: OPERATOR;
    an_operator_is_wrong: calm(WRONG_OPERATOR);
    longest_age: calm(AGED);
    longest_age_with_resends_and_late_copies: Config { callers: 2, copies: 1, ..AGED };
    longest_age_where_one_holds: calm(AGED_ONE_HOLDS);
}

/// With `rules`, the explorer comes upon a violation of this invariant. It is told to look for no other:
/// most faults break several, and the first to show is not the one that matters.
fn finds(name: &str, rules: Rules, config: Config, invariant: Invariant) {
    let mut model = Model::new(config, rules);
    model.only = Some(invariant);
    match explore(&model, MOST) {
        Ok(report) => panic!("{name}: not found among {report}"),
        Err(trace) => {
            assert_eq!(trace.violation.invariant, invariant);
            let (steps, states) = (trace.steps.len(), trace.states);
            println!("{name:<50} {invariant:?}: {steps} steps, {states} states");
        }
    }
}

macro_rules! finds {
    ($($name:ident: $fault:expr, $config:expr, $invariant:ident;)*) => {$(
        #[test]
        fn $name() {
            finds(stringify!($name), $fault, $config, Invariant::$invariant);
        }
    )*};
}

/// For faults that need copies of two earlier calls.
const TWO_LATE_COPIES: Config = Config {
    callers: 2,
    copies: 2,
    resends: 1,
    ..calm(RUN_AGAIN)
};

const HEARTBEAT: Config = Config {
    beats: 1,
    ..calm(RUN_AGAIN)
};

finds! {
    // The store.
    a_late_completion_without_its_token: COMPLETE_IGNORES_THE_TOKEN, calm(RUN_AGAIN), DeadTokenNeverWrites;
    a_late_completion_without_its_attempt: COMPLETE_IGNORES_THE_ATTEMPT, TWO_LATE_COPIES, DeadTokenNeverWrites;
    a_late_renewal_without_its_attempt: RENEW_IGNORES_THE_ATTEMPT, TWO_LATE_COPIES, DeadTokenNeverWrites;
    a_late_completion_overwrites: COMPLETE_OVERWRITES_THE_ANSWER, calm(RUN_AGAIN), OneAnswer;
    a_takeover_keeps_the_token: TAKEOVER_KEEPS_THE_TOKEN, calm(RUN_AGAIN), HolderIsHeard;
    a_takeover_keeps_token_and_attempt: TAKEOVER_KEEPS_TOKEN_AND_ATTEMPT, calm(RUN_AGAIN), DeadTokenNeverWrites;
    nothing_is_taken_over: NOTHING_IS_TAKEN_OVER, calm(RUN_AGAIN), NothingStuck;
    hold_is_asked_of_the_later_caller_only: HOLD_IS_ASKED_OF_THE_LATER_CALLER_ONLY, calm(ONE_HOLDS), HoldRunsOnce;
    the_longest_age_is_ignored: THE_LONGEST_AGE_IS_IGNORED, calm(AGED), OneCharge;
    a_late_renewal_revives_the_abandoned: A_LATE_RENEW_REVIVES, late_copies(RUN_AGAIN), NoWayBack;
    a_started_reservation_is_granted_again: A_STARTED_RESERVATION_IS_GRANTED_AGAIN, Config { copies: 1, resends: 1, ..calm(HOLD) }, NoWayBack;
    the_unresolved_expire: THE_UNRESOLVED_EXPIRE, calm(HOLD), HoldRunsOnce;
    a_release_forgets_the_completed: RELEASE_FORGETS_THE_COMPLETED, calm(OPERATOR), OneAnswer;
    an_answer_is_kept_too_short: AN_ANSWER_IS_KEPT_TO_THE_FIRST_RETENTION_ONLY, calm(RUN_AGAIN), Kept;

    // The executor.
    hold_starts_without_renewing: STARTS_WITHOUT_RENEWING, calm(HOLD), HoldRunsOnce;
    a_handler_starts_late: STARTS_LATE, calm(RUN_AGAIN), StartsUnderItsLease;
    a_takeover_starts_late: STARTS_LATE, calm(AGED), OneCharge;
    a_resend_is_granted_what_is_too_old: STARTS_WHAT_WAS_GRANTED_LONG_AGO, Config { callers: 2, resends: 1, ..calm(AGED) }, OneCharge;
    a_renewal_makes_a_takeover_younger: A_RENEWAL_MAKES_YOUNGER, calm(AGED_ONE_HOLDS), OneCharge;
    a_handler_starts_after_an_unknown_renewal: STARTS_AFTER_AN_UNKNOWN_RENEWAL, calm(HOLD), HoldRunsOnce;
    a_dropped_run_is_abandoned_under_hold: A_DROPPED_RUN_IS_ABANDONED_UNDER_HOLD, calm(HOLD), HoldRunsOnce;
    an_unrecorded_answer_is_abandoned: AN_UNRECORDED_ANSWER_IS_ABANDONED, calm(HOLD), HoldRunsOnce;
    a_superseded_attempt_answers: SENDS_ITS_OWN_AFTER_ALL, calm(RUN_AGAIN), SupersededIsSilent;
    a_heartbeat_is_not_heeded: HEEDS_NO_HEARTBEAT, HEARTBEAT, SupersededIsSilent;
    a_last_heartbeat_is_not_heeded: DECIDES_BEFORE_THE_HEARTBEAT_STOPS, HEARTBEAT, SupersededIsSilent;
    a_refused_withdrawal_counts_as_done: TAKES_ITS_FIRST_WITHDRAWAL_FOR_DONE, calm(RUN_AGAIN), SupersededIsSilent;
    a_superseded_attempt_takes_its_successors_place: RESERVES_AGAIN_TO_RUN, calm(RUN_AGAIN), TakesNothingFromSuccessor;

    // Nothing but the provider: one tick less of memory is too little, so a lease must be added to the
    // longest age and the handler.
    a_provider_forgets_too_early: SHIPPED, forgets_earlier(calm(AGED)), OneCharge;
}

fn forgets_earlier(config: Config) -> Config {
    let provider = config.provider.map(|provider| Provider {
        window: provider.window - 1,
        ..provider
    });
    Config { provider, ..config }
}
