//! Random steps against the machine over a plain map: same outcomes, same records, same lists, nothing
//! expired left after a purge that says so, and the indexes whole.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{LEASE, World, all_lapsed, operation, record, terms};
use crate::cas::index::Index;
use crate::machine::{self, Change, Record};
use crate::time::Timestamp;
use crate::{
    Clock, Fingerprint, Holder, IdempotencyStore, Inspect, OnLapse, Progress, RecordId, RecordInfo,
    ReserveRequest, Response, Terms, Token,
};

/// Who: a key, a token, an attempt. Few of each, so that they meet.
type Who = (u8, u8, u32);

#[derive(Clone, Debug)]
enum Step {
    Reserve {
        who: Who,
        other: bool,
        hold: bool,
        short: bool,
        longest_age: Option<Duration>,
    },
    Complete(Who),
    Renew(Who, bool),
    Abandon(Who),
    Release(Who),
    Wait(u64),
    Purge(usize),
    List(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || (0..6_u8, 0..4_u8, 1..3_u32);
    let longest_age = prop::option::weighted(0.2, Just(LEASE * 2));
    let reserve = (
        who(),
        prop::bool::weighted(0.1),
        any::<bool>(),
        any::<bool>(),
        longest_age,
    );
    prop_oneof![
        4 => reserve.prop_map(|(who, other, hold, short, longest_age)| Step::Reserve {
            who, other, hold, short, longest_age
        }),
        2 => who().prop_map(Step::Complete),
        2 => (who(), any::<bool>()).prop_map(|(who, saves)| Step::Renew(who, saves)),
        1 => who().prop_map(Step::Abandon),
        1 => who().prop_map(Step::Release),
        3 => prop_oneof![Just(1), Just(5_000), Just(10_000), Just(50_000), Just(100_000)]
            .prop_map(Step::Wait),
        1 => (0..4_usize).prop_map(Step::Purge),
        1 => (1..4_usize).prop_map(Step::List),
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

    fn lapsed(&self, now: Timestamp) -> Vec<RecordInfo> {
        let mut lapsed: Vec<_> = self
            .0
            .iter()
            .filter_map(|(id, record)| {
                let since = machine::lapsed_since(record, now)?;
                let info = machine::view(id, record, now)?;
                Some((Index::Lapse.entry_key(since, id), info))
            })
            .collect();
        lapsed.sort_by(|(a, _), (b, _)| a.cmp(b));
        lapsed.into_iter().map(|(_, info)| info).collect()
    }
}

fn holder((key, token, attempt): Who) -> Holder {
    let token = Token::from_bytes([token; 16]);
    Holder::new(record(format!("{key}")), token, attempt)
}

fn reserve_request(
    (key, token, _): Who,
    other: bool,
    hold: bool,
    short: bool,
    longest_age: Option<Duration>,
) -> ReserveRequest {
    let mut operation = operation(format!("{key}"));
    if other {
        operation.fingerprint = Fingerprint::raw("another");
    }
    let terms = if short {
        Terms::new(LEASE / 5, LEASE).unwrap()
    } else {
        terms()
    };
    ReserveRequest::new(operation, Token::from_bytes([token; 16]), terms)
        .on_lapse(if hold {
            OnLapse::Hold
        } else {
            OnLapse::RunAgain
        })
        .longest_age(longest_age)
}

async fn run<const ORDERED: bool>(steps: Vec<Step>) {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let mut model = Model::default();
    for (n, step) in steps.into_iter().enumerate() {
        let now = world.clock.now();
        match step {
            Step::Reserve {
                who,
                other,
                hold,
                short,
                longest_age,
            } => {
                let request = reserve_request(who, other, hold, short, longest_age);
                let id = &request.operation.record;
                let step = machine::reserve(model.0.get(id), &request, now);
                let seen = store.reserve(&request).await.unwrap();
                assert_eq!(seen, model.apply(id, step));
            }
            Step::Complete(who) => {
                let holder = holder(who);
                let answer = Response::new(200).body(format!("{n}")).into();
                let step = machine::complete(model.0.get(&holder.record), &holder, &answer, now);
                let seen = store.complete(&holder, &answer).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Renew(who, saves) => {
                let holder = holder(who);
                let progress = saves.then(|| Progress::new(format!("{n}")).unwrap());
                let (record, progress) = (model.0.get(&holder.record), progress.as_ref());
                let step = machine::renew(record, &holder, terms(), progress, now);
                let seen = store.renew(&holder, terms(), progress).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Abandon(who) => {
                let holder = holder(who);
                let step = machine::abandon(model.0.get(&holder.record), &holder, now);
                let seen = store.abandon(&holder).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Release(who) => {
                let holder = holder(who);
                let step = machine::release(model.0.get(&holder.record), &holder, now);
                let seen = store.release(&holder).await.unwrap();
                assert_eq!(seen, model.apply(&holder.record, step));
            }
            Step::Wait(millis) => world.clock.advance(Duration::from_millis(millis)),
            Step::Purge(limit) => {
                // Not the patrol: it would hide what the index does not know.
                let purged = if ORDERED {
                    store.tidy_lapse(now, limit).await.unwrap();
                    store.purge_due(now, limit).await.unwrap()
                } else {
                    store.purge_expired(limit).await.unwrap()
                };
                assert!(purged.removed <= limit);
                let mut held = world.data.records().into_iter();
                let left = held.any(|(_, record)| machine::is_expired(&record, now));
                assert_eq!(purged.more, left);
            }
            Step::List(limit) => assert_eq!(all_lapsed(&store, limit).await, model.lapsed(now)),
        }
        let now = world.clock.now();
        for (id, record) in &model.0 {
            assert_eq!(store.get(id).await.unwrap(), machine::view(id, record, now));
        }
        if ORDERED {
            world.data.check();
        }
    }
}

proptest! {
    #![proptest_config(crate::test_support::proptest_config(64))]

    #[test]
    fn random_steps_agree_with_the_machine(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run::<true>(steps.clone()));
        runtime.block_on(run::<false>(steps));
    }
}
