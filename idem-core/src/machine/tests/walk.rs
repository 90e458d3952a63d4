//! Random walks through the machine: what the laws promise of whole histories.

use proptest::prelude::*;

use super::*;
use crate::test_support::proptest_config;
use crate::{Completion, Update};

#[derive(Clone, Debug)]
enum Step {
    Reserve(ReserveRequest),
    Complete,
    Renew(Terms),
    Abandon,
    Release,
}

fn any_terms() -> impl Strategy<Value = Terms> {
    (1_u64..60, 0_u64..200).prop_map(|(lease, more)| terms(lease, 2 * lease + more))
}

fn any_request() -> impl Strategy<Value = ReserveRequest> {
    let token = prop::sample::select(vec!['a', 'b', 'c']);
    let age = prop::option::weighted(0.2, 0_u64..300);
    (token, any_terms(), any::<bool>(), age).prop_map(|(by, terms, hold, age)| {
        let on_lapse = if hold {
            OnLapse::Hold
        } else {
            OnLapse::RunAgain
        };
        ReserveRequest {
            terms,
            ..request(by).on_lapse(on_lapse).longest_age(age.map(ms))
        }
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_request().prop_map(Step::Reserve),
        1 => Just(Step::Complete),
        3 => any_terms().prop_map(Step::Renew),
        1 => Just(Step::Abandon),
        1 => Just(Step::Release),
    ]
}

/// Steps, each with the time that passes before it and whether a write of it is by whoever was last
/// told that he holds the record (or else by somebody else who was).
fn any_walk() -> impl Strategy<Value = Vec<(u64, bool, Step)>> {
    let pause = prop_oneof![0_u64..5, 0_u64..80, 0_u64..400];
    prop::collection::vec((pause, prop::bool::weighted(0.8), any_step()), 1..40)
}

/// What one step did.
struct Taken {
    now: Timestamp,
    before: Option<Record>,
    after: Option<Record>,
    step: Step,
    by: Holder,
    granted: Option<u32>,
    done: bool,
}

/// Takes all steps and shows each to `check`.
fn walk(steps: Vec<(u64, bool, Step)>, mut check: impl FnMut(&Taken)) {
    let mut now = at(0);
    let mut record = None;
    let mut holders = vec![holder('z', 1)];
    for (pause, latest, step) in steps {
        now = now.saturating_add(ms(pause));
        let before: Option<Record> = record.clone();
        let by = match latest {
            true => holders[holders.len() - 1].clone(),
            false => holders[holders.len() / 2].clone(),
        };
        let mut granted = None;
        let mut done = false;
        let change = match &step {
            Step::Reserve(request) => {
                let (outcome, change) = reserve(record.as_ref(), request, now);
                if let Outcome::Reserved { attempt, .. } = outcome {
                    granted = Some(attempt);
                    holders.push(Holder::new(record_id(), request.token, attempt));
                }
                change
            }
            Step::Complete => {
                let (completion, change) = complete(record.as_ref(), &by, &answer(), now);
                done = matches!(completion, Completion::Completed { .. });
                change
            }
            write => {
                let (update, change) = match write {
                    Step::Renew(terms) => renew(record.as_ref(), &by, *terms, None, now),
                    Step::Abandon => abandon(record.as_ref(), &by, now),
                    _ => release(record.as_ref(), &by, now),
                };
                done = update == Update::Done;
                change
            }
        };
        match change {
            Change::Keep => {}
            Change::Put(put) => record = Some(put),
            Change::Remove => record = None,
        }
        check(&Taken {
            now,
            before,
            after: record.clone(),
            step,
            by,
            granted,
            done,
        });
    }
}

impl Taken {
    /// The record before, if it was not expired.
    fn alive(&self) -> Option<&Record> {
        let record = self.before.as_ref()?;
        (!is_expired(record, self.now)).then_some(record)
    }

    /// The record before and after, if it is the same one.
    fn same_record(&self) -> Option<(&Record, &Record)> {
        self.alive().zip(self.after.as_ref())
    }
}

proptest! {
    #![proptest_config(proptest_config(256))]

    #[test]
    fn t3_half_of_the_retention_is_left_after_every_lease_and_every_answer(steps in any_walk()) {
        walk(steps, |taken| {
            if taken.before == taken.after {
                return;
            }
            let Some(record) = &taken.after else { return };
            let from = match &record.state {
                State::InFlight(flight) => flight.lease_end,
                State::Completed(_) => taken.now,
            };
            let left = record.retention_end.saturating_since(from);
            assert!(2 * left >= record.retention, "{record:?}");
        });
    }

    #[test]
    fn t3_no_record_is_forgotten_before_its_first_retention_unless_released(steps in any_walk()) {
        let mut promised = None;
        walk(steps, |taken| {
            if let Some(end) = promised {
                assert!(taken.now >= end || taken.alive().is_some());
            }
            match (&taken.step, taken.alive(), &taken.after) {
                (_, _, None) => promised = None,
                (Step::Reserve(request), None, Some(record)) => {
                    promised = Some(record.first_reserved.saturating_add(request.terms.retention()));
                }
                _ => {}
            }
        });
    }

    #[test]
    fn t3_the_end_of_the_retention_never_moves_back(steps in any_walk()) {
        walk(steps, |taken| {
            if let Some((before, after)) = taken.same_record() {
                assert!(before.retention_end <= after.retention_end);
            }
        });
    }

    #[test]
    fn r5_one_attempt_more_for_each_new_token_and_for_nothing_else(steps in any_walk()) {
        walk(steps, |taken| {
            if let Some((before, after)) = taken.same_record() {
                let taken_over = before.token != after.token;
                assert_eq!(after.attempt, before.attempt + u32::from(taken_over));
                assert_eq!(after.first_reserved, before.first_reserved);
                assert_eq!(after.fingerprint, before.fingerprint);
            }
        });
    }

    #[test]
    fn r3_nothing_is_granted_to_another_token_while_a_lease_is_live(steps in any_walk()) {
        walk(steps, |taken| {
            if let (Step::Reserve(request), Some(_), Some(record)) =
                (&taken.step, taken.granted, taken.alive())
            {
                let flight = record.flight();
                assert!(
                    request.token == record.token
                        || flight.abandoned
                        || flight.lease_end <= taken.now
                );
            }
        });
    }

    #[test]
    fn r5_what_was_held_and_started_runs_again_only_if_it_was_abandoned(steps in any_walk()) {
        walk(steps, |taken| {
            if let (Some(_), Some(record)) = (taken.granted, &taken.before)
                && record.on_lapse == OnLapse::Hold
                && let State::InFlight(flight) = &record.state
            {
                assert!(!flight.started || flight.abandoned);
            }
        });
    }

    #[test]
    fn c3_only_the_current_holder_writes(steps in any_walk()) {
        walk(steps, |taken| {
            if matches!(taken.step, Step::Reserve(_)) {
                return;
            }
            let current = taken.alive().is_some_and(|record| {
                record.token == taken.by.token && record.attempt == taken.by.attempt
            });
            assert!(current || (!taken.done && taken.before == taken.after));
        });
    }

    #[test]
    fn c5_a_completed_record_never_changes_until_it_expires(steps in any_walk()) {
        walk(steps, |taken| {
            if let Some(record) = taken.alive()
                && matches!(record.state, State::Completed(_))
            {
                assert_eq!(taken.after.as_ref(), Some(record));
            }
        });
    }
}
