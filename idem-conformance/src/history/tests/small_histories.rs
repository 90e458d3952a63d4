//! Thousands of small histories, explained and not: both checkers say the same.

use std::sync::Arc;
use std::time::Instant;

use idem_core::machine::{Change, Record};
use idem_core::{Completion, Holder, OnLapse, Outcome, ReserveRequest, Timestamp, Update};

use super::brute_force::is_linearizable;
use super::{entry, history};
use crate::agree::Precision;
use crate::call::{Call, Reply};
use crate::effort::effort;
use crate::fixture::{HOUR, answer, operation, record, terms_of};
use crate::history::recorder::{Entry, Event, History};
use crate::random::Random;
use crate::readable::token;

fn call(random: &mut Random) -> Call {
    let number = 1 + random.below(3);
    let attempt = 1 + u32::from(random.per_mille(400));
    let holder = Holder::new(record("scope", "k"), token(number), attempt);
    match random.below(12) {
        0..5 => {
            let what = if random.per_mille(100) { "b" } else { "a" };
            let terms = if random.per_mille(500) {
                terms_of(0, 1)
            } else {
                terms_of(1, 3)
            };
            let request = ReserveRequest::new(operation("k", what), token(number), terms);
            let hold = random.per_mille(200);
            Call::Reserve(request.on_lapse(if hold {
                OnLapse::Hold
            } else {
                OnLapse::RunAgain
            }))
        }
        5..7 => Call::Complete(
            holder,
            answer(if random.per_mille(500) { "x" } else { "y" }),
        ),
        7..9 => Call::Renew(holder, terms_of(1, 3), None),
        9 => Call::Abandon(holder),
        10 => Call::Release(holder),
        _ => Call::Get(holder.record),
    }
}

/// What, from when, and until when with what answer.
type Happened = (Event, u64, Option<(u64, Option<Reply>)>);

/// What happened in truth: calls one after the other, each at a moment within its bar; some without an
/// answer, and of those some without an effect.
fn truthful(random: &mut Random) -> Vec<Happened> {
    let mut state: Option<Record> = None;
    let mut now = Timestamp::default();
    let calls = 2 + random.below(4);
    let mut entries = Vec::new();
    for number in 0..calls {
        // Bars reach over their neighbours; all ends differ.
        let point = 100 + number * 10;
        let began = (point - random.below(30)) * 16 + number;
        let ended = (point + 1 + random.below(30)) * 16 + number;
        if random.per_mille(120) {
            let by = HOUR * (1 + random.below(2) as u32);
            now = now.saturating_add(by);
            entries.push((Event::Moved(by), point * 16, Some((point * 16 + 8, None))));
            continue;
        }
        let call = call(random);
        let (reply, change) = call.specified(state.as_ref(), now);
        let unknown = random.per_mille(150);
        if !(unknown && random.per_mille(400)) {
            match change {
                Change::Put(record) => state = Some(record),
                Change::Remove => state = None,
                Change::Keep => {}
            }
        }
        let answer = (!unknown).then_some((ended, Some(reply)));
        entries.push((Event::Call(call), began, answer));
    }
    entries
}

/// A lie: one answer is another than it was.
fn alter(entries: &mut [Happened], random: &mut Random) {
    let at = random.below(entries.len() as u64) as usize;
    if let Some((_, Some(reply))) = &mut entries[at].2 {
        let attempt = 1 + random.below(3) as u32;
        *reply = match reply {
            Reply::Reserve(Outcome::Reserved { .. }) if random.per_mille(500) => {
                Reply::Reserve(Outcome::Conflict {
                    retry_after: Some(HOUR / 3),
                })
            }
            Reply::Reserve(_) => Reply::Reserve(Outcome::Reserved {
                attempt,
                progress: None,
            }),
            Reply::Update(Update::Superseded) => Reply::Update(Update::Done),
            Reply::Update(_) => Reply::Update(Update::Superseded),
            Reply::Complete(_) => Reply::Complete(Completion::Superseded),
            Reply::Get(_) => Reply::Get(None),
        };
    }
}

fn small_history(random: &mut Random) -> History {
    let mut entries = truthful(random);
    if random.per_mille(600) {
        alter(&mut entries, random);
    }
    let entries = entries.into_iter().enumerate();
    history(
        entries
            .map(|(caller, (event, began, end))| entry(caller, event, began, end))
            .collect(),
    )
}

#[test]
fn both_checkers_say_the_same() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..4000 * u64::from(effort()) {
        let mut random = Random::new(seed);
        let history = small_history(&mut random);
        for precision in [Precision::Exact, Precision::WithinSlack] {
            let expected = is_linearizable(&history, precision);
            let found = history.check(precision);
            assert_eq!(
                found.is_ok(),
                expected,
                "seed {seed}, {precision:?}: {history}"
            );
            *(if expected { &mut good } else { &mut bad }) += 1;
            if let Err(broken) = found {
                // What is shown is broken itself, and all of it is needed.
                let shortest = &broken.shortest;
                assert!(
                    !is_linearizable(shortest, precision),
                    "seed {seed}: {shortest}"
                );
            }
        }
    }
    println!("{good} linearizable, {bad} not");
    assert!(good > 2000 && bad > 2000, "{good} linearizable, {bad} not");
}

/// So many callers who reserve one operation at once, all of whom say that somebody else has it, except
/// for so many who say that they do.
fn crowd(callers: u64, winners: u64) -> History {
    let entries = (0..callers).map(|number| {
        let request = ReserveRequest::new(operation("k", "a"), token(number), terms_of(1, 8));
        let outcome = if number < winners {
            Outcome::Reserved {
                attempt: 1,
                progress: None,
            }
        } else {
            Outcome::Conflict {
                retry_after: Some(terms_of(1, 8).lease()),
            }
        };
        let end = Some((100 + number, Some(Reply::Reserve(outcome))));
        entry(
            number as usize,
            Event::Call(Call::Reserve(request)),
            number,
            end,
        )
    });
    history(entries.collect::<Vec<Arc<Entry>>>())
}

#[test]
fn a_crowd_with_two_winners_is_refused_in_no_time() {
    for callers in [2, 6, 10, 12] {
        assert!(crowd(callers, 1).check(Precision::Exact).is_ok());
        let began = Instant::now();
        let broken = crowd(callers, 2).check(Precision::Exact).unwrap_err();
        println!("{callers} callers: {:?}", began.elapsed());
        assert_eq!(broken.shortest.answered(), 2, "{broken}");
    }
}
