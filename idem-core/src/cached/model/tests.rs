//! The searches: what ships, in several worlds, and what must be found in worlds with a fault.

use std::collections::HashSet;

use super::config::{Config, Model};
use super::faults::*;
use super::invariants::Invariant;
use super::rules::{Rules, SHIPPED};
use super::world::{ASKERS, World};
use crate::Outcome;
use crate::explorer::search::{Searched, explore};
use crate::test_support::effort;

/// Two callers ask for the same, each at its own node.
const SHARED: Config = Config {
    callers: 2,
    nodes: [Some(0), Some(1), Some(1)],
    asks_for: [0, 0, 0],
    shared: true,
    lease: 2,
    retention: 6,
    longest_mark: 1,
    resends: 1,
    late: 1,
    copies_land_at_any_time: false,
    beats: 1,
    repeats: 0,
    looks: 0,
};

const OWN: Config = Config {
    shared: false,
    ..SHARED
};

const fn calm(config: Config) -> Config {
    Config {
        resends: 0,
        late: 0,
        beats: 0,
        ..config
    }
}

/// The second caller asks for something else.
const fn two_fingerprints(config: Config) -> Config {
    Config {
        asks_for: [0, 1, 0],
        ..config
    }
}

const fn operator(config: Config) -> Config {
    Config { looks: 1, ..config }
}

/// The second caller has no cache.
const fn past_the_cache(config: Config) -> Config {
    Config {
        nodes: [Some(0), None, Some(1)],
        ..config
    }
}

const fn three(config: Config) -> Config {
    Config {
        callers: 3,
        retention: 4,
        ..calm(config)
    }
}

const fn asks_again(config: Config) -> Config {
    Config {
        repeats: 1,
        ..config
    }
}

/// More states than any search here has, at the effort 1.
const MOST: usize = 5_000_000;

/// Explores what ships: in a release build to the end, in a debug build only so far as is quick.
/// `IDEM_EFFORT` goes farther.
fn holds(name: &str, config: Config) {
    let effort = effort() as usize;
    let (most, config) = match effort {
        _ if cfg!(debug_assertions) => (30_000 * effort, config),
        1 => (MOST, config),
        _ => {
            let more = Config {
                resends: config.resends + 1,
                late: config.late.max(1),
                ..config
            };
            (MOST * effort, more)
        }
    };
    match explore(&Model::new(config, SHIPPED), most) {
        Ok(report) => {
            println!("{name:<38} {report}");
            assert!(report.closed || cfg!(debug_assertions) || effort > 1);
        }
        Err(trace) => panic!("{name}: {trace}"),
    }
}

macro_rules! holds {
    ($($name:ident: $config:expr;)*) => {$(
        #[test]
        fn $name() {
            holds(stringify!($name), $config);
        }
    )*};
}

holds! {
    a_shared_cache: SHARED;
    a_shared_cache_and_an_operator: operator(calm(SHARED));
    a_shared_cache_and_one_who_asks_again: asks_again(calm(SHARED));
    a_shared_cache_and_a_process_without: past_the_cache(SHARED);
    a_shared_cache_and_two_fingerprints: two_fingerprints(SHARED);
    a_shared_cache_and_three_callers: three(SHARED);
    own_caches: OWN;
    own_caches_and_an_operator: operator(calm(OWN));
    own_caches_and_two_fingerprints: two_fingerprints(OWN);
    own_caches_and_three_callers: three(OWN);
}

/// Otherwise a search could succeed because nothing happens in it.
#[test]
fn caches_replay_and_refuse_rightly_and_wrongly() {
    let model = Model::new(SHARED, SHIPPED);
    let states = first_states(&model, 30_000);
    let reached = |fits: fn(&World, &Outcome) -> bool| {
        states.iter().any(|world| {
            let answers = ASKERS.map(|token| model.found(&world.caches[0]?, token));
            answers.iter().flatten().any(|outcome| fits(world, outcome))
        })
    };
    assert!(reached(|_, outcome| matches!(outcome, Outcome::Replay(_))));
    assert!(reached(|world, outcome| {
        matches!(outcome, Outcome::Conflict { .. })
            && world.record.is_some_and(|record| record.is_live())
    }));
    assert!(reached(|world, outcome| {
        matches!(outcome, Outcome::Conflict { .. })
            && world.record.is_none_or(|record| !record.is_live())
    }));
}

fn first_states(model: &Model, most: usize) -> Vec<World> {
    let mut seen = HashSet::from([model.start()]);
    let mut states = vec![model.start()];
    let mut found = Vec::new();
    let mut at = 0;
    while states.len() < most {
        model.successors(&states[at], &mut found);
        for world in found.drain(..).map(|successor| successor.world.unwrap()) {
            if seen.insert(world) {
                states.push(world);
            }
        }
        at += 1;
    }
    states
}

/// With `rules`, the search comes upon a violation of this invariant. It is told to look for no other.
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

finds! {
    a_mark_is_put_before_the_grant: MARK_BEFORE_THE_GRANT, calm(SHARED), NoFalseConflict;
    a_mark_stays_at_a_completion: MARK_STAYS_AT_A_COMPLETION, calm(SHARED), NoFalseConflict;
    a_mark_stays_at_an_abandonment: MARK_STAYS_AT_AN_ABANDONMENT, calm(SHARED), NoFalseConflict;
    a_mark_stays_at_a_release: MARK_STAYS_AT_A_RELEASE, calm(SHARED), NoFalseConflict;
    a_superseded_heartbeat_marks: SUPERSEDED_HEARTBEAT_MARKS, Config { beats: 1, ..calm(SHARED) }, NoFalseConflict;
    a_mark_counts_from_after_the_call: MARK_COUNTS_FROM_AFTER_THE_CALL, calm(SHARED), NoFalseConflict;
    a_mark_lasts_as_long_as_the_lease: MARK_LASTS_AS_LONG_AS_THE_LEASE, calm(SHARED), MarksEnd;
    own_memory_keeps_marks: OWN_MEMORY_KEEPS_MARKS, calm(OWN), NoFalseConflict;
    ones_own_mark_answers: OWN_MARK_ANSWERS, calm(SHARED), NotWithOneself;
    a_resend_is_answered: RESEND_IS_ANSWERED, Config { resends: 1, ..calm(SHARED) }, NotWithOneself;
    a_copy_is_kept_for_all_that_is_remembered: COPY_FOR_ALL_THAT_IS_REMEMBERED, calm(SHARED), NotRememberedForLonger;
    a_copy_outlives_the_record: COPY_OUTLIVES_THE_RECORD, calm(SHARED), NoStaleReplay;
    a_copy_in_own_memory_outlives_the_record: COPY_OUTLIVES_THE_RECORD, calm(OWN), NoStaleReplay;
    a_copy_is_put_before_the_completion: COPY_BEFORE_THE_COMPLETION, calm(SHARED), NoStaleReplay;
    a_copy_is_of_ones_own_answer: COPY_OF_ONES_OWN_ANSWER, operator(calm(SHARED)), NoStaleReplay;
    a_copy_answers_another_fingerprint: COPY_ANSWERS_ANOTHER_FINGERPRINT, calm(SHARED), NoStaleReplay;
    a_cache_says_mismatch: CACHE_SAYS_MISMATCH, calm(SHARED), NoMismatch;
    a_failed_put_is_sent_again: FAILED_PUT_IS_SENT_AGAIN, calm(SHARED), NoStaleReplay;

    // Nothing but the cache: a copy lasts for half of what is remembered, so that its put may be late by
    // as much. One that takes effect later yet is why `Cache::put` must not.
    a_copy_takes_effect_after_its_time: SHIPPED, Config { copies_land_at_any_time: true, ..calm(SHARED) }, NoStaleReplay;
}
