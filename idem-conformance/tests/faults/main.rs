//! The executor keeps its promises over a connection on which everything goes wrong that can: thousands
//! of seeds, effects counted. `IDEM_EFFORT` multiplies the seeds, `IDEM_SEED` replays one.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "all of this is test code"
)]

mod client;
mod provider;
mod report;
mod seeds;
mod world;

use std::time::Duration;

use idem_core::{Condition, Executed};

use crate::client::LONGEST_BEFORE_EFFECT;
use crate::provider::Provider;
use crate::seeds::{for_each_seed, seeds_that_charge_twice};
use crate::world::{CALL_TIMEOUTS, LEASE, LONGEST_AGE, Rules, World};

/// What a provider must remember: not a second longer than the docs ask for.
const LONG_ENOUGH: Duration = LONGEST_AGE
    .saturating_add(LONGEST_BEFORE_EFFECT)
    .saturating_add(LEASE)
    .saturating_add(CALL_TIMEOUTS);

const UNRESOLVED: Executed = Executed::Conflict { retry_after: None };

#[test]
fn run_again_gives_one_answer_and_leaves_nothing_stuck() {
    for_each_seed(
        "run_again_gives_one_answer_and_leaves_nothing_stuck",
        Rules::RunAgain,
        || Provider::that_remembers(None),
        async |world: &World, last: Executed| {
            assert!(
                last.response().is_some(),
                "stuck once leases lapsed: {last:?}"
            );
            assert!(
                world.provider.charges() <= 1,
                "{} charges",
                world.provider.charges()
            );
        },
    );
}

#[test]
fn run_again_within_the_longest_age_charges_once() {
    for_each_seed(
        "run_again_within_the_longest_age_charges_once",
        Rules::RunAgainWithinAge,
        || Provider::that_remembers(Some(LONG_ENOUGH)),
        async |world: &World, last: Executed| {
            assert!(
                world.provider.charges() <= 1,
                "{} charges",
                world.provider.charges()
            );
            if last.response().is_none() {
                assert_eq!(last, UNRESOLVED, "stuck");
                let record = world.record().await.expect("it is unresolved");
                assert!(
                    record.first_reserved_ago >= LONGEST_AGE,
                    "stuck early: {record:?}"
                );
            }
        },
    );
}

#[test]
fn hold_never_runs_a_started_effect_twice() {
    for_each_seed(
        "hold_never_runs_a_started_effect_twice",
        Rules::Hold,
        Provider::that_forgets,
        async |world: &World, last: Executed| {
            assert!(
                world.provider.charges() <= 1,
                "{} charges",
                world.provider.charges()
            );
            if last.response().is_none() {
                assert_eq!(last, UNRESOLVED, "stuck");
                let record = world.record().await.expect("it is unresolved");
                assert!(
                    matches!(record.condition, Condition::Unresolved { .. }),
                    "{record:?}"
                );
            }
        },
    );
}

/// What each setting is for: without it, the same faults end in a second charge.
#[test]
fn without_its_setting_each_promise_breaks() {
    let forgets = Provider::that_forgets;
    let twice = seeds_that_charge_twice(100, Rules::RunAgain, forgets);
    println!("{twice} of 100 seeds charge twice under RunAgain without deduplication");
    assert!(twice > 10, "{twice}");

    let remembers = || Provider::that_remembers(Some(2 * LEASE));
    let twice = seeds_that_charge_twice(200, Rules::RunAgain, remembers);
    println!("{twice} of 200 seeds charge twice without a longest age");
    assert!(twice > 5, "{twice}");
}
