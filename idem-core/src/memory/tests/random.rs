//! Random steps against the machine over a plain map: same outcomes, same records, invariant kept.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{LEASE, RETENTION, operation, store};
use crate::machine::{self, Change, Record};
use crate::{
    Clock, Fingerprint, Holder, IdempotencyStore, Inspect, OnLapse, RecordId, ReserveRequest,
    Response, Terms, Token,
};

#[derive(Clone, Debug)]
enum Step {
    Reserve {
        key: u8,
        token: u8,
        other: bool,
        hold: bool,
    },
    Complete {
        key: u8,
        token: u8,
        attempt: u32,
    },
    Renew {
        key: u8,
        token: u8,
        attempt: u32,
    },
    Abandon {
        key: u8,
        token: u8,
        attempt: u32,
    },
    Release {
        key: u8,
        token: u8,
        attempt: u32,
    },
    Wait(u32),
    Purge(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let holder = || (0..6_u8, 0..4_u8, 1..3_u32);
    prop_oneof![
        4 => (0..6_u8, 0..4_u8, prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(key, token, other, hold)| Step::Reserve { key, token, other, hold }),
        2 => holder().prop_map(|(key, token, attempt)| Step::Complete { key, token, attempt }),
        2 => holder().prop_map(|(key, token, attempt)| Step::Renew { key, token, attempt }),
        1 => holder().prop_map(|(key, token, attempt)| Step::Abandon { key, token, attempt }),
        1 => holder().prop_map(|(key, token, attempt)| Step::Release { key, token, attempt }),
        3 => prop_oneof![Just(1), Just(5_000), Just(10_000), Just(50_000), Just(100_000)]
            .prop_map(Step::Wait),
        1 => (0..4_usize).prop_map(Step::Purge),
    ]
}

/// The specification: the machine over a plain map that never purges.
#[derive(Default)]
struct Model(HashMap<RecordId, Record>);

impl Model {
    fn apply<T>(&mut self, id: &RecordId, step: (T, Change)) -> T {
        match step.1 {
            Change::Keep => {}
            Change::Put(record) => drop(self.0.insert(id.clone(), record)),
            Change::Remove => drop(self.0.remove(id)),
        }
        step.0
    }
}

fn holder(key: u8, token: u8, attempt: u32) -> Holder {
    Holder::new(
        operation(format!("{key}")).record,
        Token::from_bytes([token; 16]),
        attempt,
    )
}

async fn run(steps: Vec<Step>) {
    let (store, clock) = store();
    let mut model = Model::default();
    let terms = Terms::new(LEASE, RETENTION).unwrap();
    for (n, step) in steps.into_iter().enumerate() {
        let now = clock.now();
        match step {
            Step::Reserve {
                key,
                token,
                other,
                hold,
            } => {
                let mut operation = operation(format!("{key}"));
                if other {
                    operation.fingerprint = Fingerprint::raw("another");
                }
                let on_lapse = if hold {
                    OnLapse::Hold
                } else {
                    OnLapse::RunAgain
                };
                let request = ReserveRequest::new(operation, Token::from_bytes([token; 16]), terms)
                    .on_lapse(on_lapse);
                let id = &request.operation.record;
                let step = machine::reserve(model.0.get(id), &request, now);
                assert_eq!(
                    store.reserve(&request).await.unwrap(),
                    model.apply(id, step)
                );
            }
            Step::Complete {
                key,
                token,
                attempt,
            } => {
                let holder = holder(key, token, attempt);
                let answer = Response::new(200).body(format!("{n}")).into();
                let id = &holder.record;
                let step = machine::complete(model.0.get(id), &holder, &answer, now);
                let seen = store.complete(&holder, &answer).await.unwrap();
                assert_eq!(seen, model.apply(id, step));
            }
            Step::Renew {
                key,
                token,
                attempt,
            } => {
                let holder = holder(key, token, attempt);
                let id = &holder.record;
                let step = machine::renew(model.0.get(id), &holder, terms, None, now);
                let seen = store.renew(&holder, terms, None).await.unwrap();
                assert_eq!(seen, model.apply(id, step));
            }
            Step::Abandon {
                key,
                token,
                attempt,
            } => {
                let holder = holder(key, token, attempt);
                let step = machine::abandon(model.0.get(&holder.record), &holder, now);
                let seen = store.abandon(&holder).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Release {
                key,
                token,
                attempt,
            } => {
                let holder = holder(key, token, attempt);
                let step = machine::release(model.0.get(&holder.record), &holder, now);
                let seen = store.release(&holder).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Wait(millis) => clock.advance(Duration::from_millis(millis.into())),
            Step::Purge(limit) => {
                assert!(store.purge_expired(limit).await.unwrap().removed <= limit);
            }
        }
        let now = clock.now();
        for (id, record) in &model.0 {
            assert_eq!(store.get(id).await.unwrap(), machine::view(id, record, now));
        }
        store.check();
    }
}

proptest! {
    #![proptest_config(crate::test_support::proptest_config(128))]

    #[test]
    fn random_steps_agree_with_the_machine(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(steps));
    }
}
