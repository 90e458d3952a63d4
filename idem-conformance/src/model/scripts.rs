//! Makes up scripts.

use std::time::Duration;

use idem_core::{OnLapse, Terms};
use proptest::prelude::*;
use proptest::sample::select;

use super::script::{Reserve, Script, Step, Who, Write};
use super::specification::RECORDS;
use crate::fixture::{HOUR, age, terms_of};

/// Scripts on the grid of [`fixture`](crate::fixture), which real time cannot disturb: time moves by
/// whole hours, leases end at twenty past, retentions at ten to, ages are compared at half past.
///
/// The half-retention rule keeps its distance, too. What is left of a retention is then so many hours
/// and fifty minutes (after an answer) or thirty (after a lease); twice that is forty or no minutes
/// past; and the retention that it is compared with is at ten to.
pub(crate) fn on_the_hour(longest: usize) -> impl Strategy<Value = Script> {
    let terms = [(0, 1), (0, 8), (1, 3), (1, 8), (4, 9), (4, 30)];
    scripts(
        longest,
        terms
            .map(|(lease, retention)| terms_of(lease, retention))
            .to_vec(),
        [0, 2, 5, 12].map(age).to_vec(),
        [1, 1, 2, 3, 5, 9, 31].map(|hours| HOUR * hours).to_vec(),
    )
}

/// Scripts of a few milliseconds, in which the boundaries themselves are met all the time: the last
/// millisecond of a lease, half of a retention, an age to the millisecond.
pub(crate) fn in_milliseconds(longest: usize) -> impl Strategy<Value = Script> {
    let millis = Duration::from_millis;
    let terms = [(1, 2), (1, 9), (2, 5), (3, 6), (3, 11), (5, 10), (7, 23)];
    let terms = terms.map(|(lease, retention)| {
        Terms::new(millis(lease), millis(retention)).expect("twice the lease fits")
    });
    scripts(
        longest,
        terms.to_vec(),
        [1, 2, 4, 7].map(millis).to_vec(),
        [1, 1, 1, 2, 3, 4, 5, 6, 11].map(millis).to_vec(),
    )
}

fn scripts(
    longest: usize,
    terms: Vec<Terms>,
    ages: Vec<Duration>,
    waits: Vec<Duration>,
) -> impl Strategy<Value = Script> {
    let step = prop_oneof![
        6 => reserve(terms.clone(), ages).prop_map(Step::Reserve),
        7 => (record(), who(), write(terms)).prop_map(|(record, who, write)| Step::Write(record, who, write)),
        5 => select(waits).prop_map(Step::Advance),
        1 => (1..4_usize).prop_map(Step::Lapsed),
        1 => (1..4_usize).prop_map(Step::Purge),
    ];
    prop::collection::vec(step, 1..=longest)
}

/// Mostly the first, so that something comes of it.
fn record() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 2 => 1..RECORDS]
}

fn reserve(terms: Vec<Terms>, ages: Vec<Duration>) -> impl Strategy<Value = Reserve> {
    let on_lapse = prop_oneof![2 => Just(OnLapse::RunAgain), 1 => Just(OnLapse::Hold)];
    let longest_age = prop::option::weighted(0.3, select(ages));
    let other = prop::bool::weighted(0.1);
    let resend = prop::bool::weighted(0.3);
    (
        record(),
        0..4_u64,
        other,
        select(terms),
        on_lapse,
        longest_age,
        resend,
    )
        .prop_map(
            |(record, token, other, terms, on_lapse, longest_age, resend)| Reserve {
                record,
                token,
                other,
                terms,
                on_lapse,
                longest_age,
                resend,
            },
        )
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        7 => Just(Who::Holder),
        2 => (1..3_usize).prop_map(Who::Former),
        1 => Just(Who::OtherAttempt),
        1 => Just(Who::Stranger),
    ]
}

fn write(terms: Vec<Terms>) -> impl Strategy<Value = Write> {
    prop_oneof![
        2 => prop::bool::weighted(0.8).prop_map(|whole| Write::Complete { whole }),
        4 => (select(terms), any::<bool>())
            .prop_map(|(terms, progress)| Write::Renew { terms, progress }),
        2 => Just(Write::Abandon),
        1 => Just(Write::Release),
    ]
}
