//! complete × takeover: a lapsed attempt that comes back late completes, or is superseded, never both
//! (laws C3, C4, R5).

use super::*;
use crate::machine;

type Complete = fn(&MemoryStore, &Holder, &Answer) -> Completion;

fn one_answer_stands(by: Complete) {
    let (store, clock) = held();
    clock.advance(LEASE);
    let late = {
        let store = store.clone();
        thread::spawn(move || by(&store, &holder(1, 1), &answer("late")))
    };
    let other = {
        let store = store.clone();
        thread::spawn(move || reserve(&store, &asks(2)))
    };
    let outcomes = [reserve(&store, &asks(3)), other.join().unwrap()];
    let late = late.join().unwrap();

    let taken: Vec<_> = (0..2).filter(|&n| is_reserved(&outcomes[n], 2)).collect();
    if let [successor] = taken[..] {
        assert_eq!(late, Completion::Superseded, "both were told that they won");
        assert!(is_conflict(&outcomes[1 - successor]), "{outcomes:?}");
        let successor = holder([3, 2][successor], 2);
        let completed = complete(&store, &successor, &answer("taken over"));
        assert!(
            matches!(completed, Completion::Completed { .. }),
            "a dead token wrote: {completed:?}"
        );
        assert!(replays(&reserve(&store, &asks(4)), &answer("taken over")));
    } else {
        assert!(taken.is_empty(), "so many took over: {outcomes:?}");
        assert!(matches!(late, Completion::Completed { .. }));
        let both = outcomes.iter().all(|one| replays(one, &answer("late")));
        assert!(both, "{outcomes:?}");
    }
}

#[test]
fn of_a_late_completion_and_two_takeovers_one_stands() {
    holds("complete × takeover × takeover", || {
        one_answer_stands(complete);
    });
}

#[test]
fn a_completion_in_two_steps_overwrites_a_successor() {
    let expected = "both were told that they won";
    fails("fault: complete in two steps", expected, || {
        one_answer_stands(|store, holder, answer| {
            in_two_steps(store, &holder.record, |record, now| {
                machine::complete(record, holder, answer, now)
            })
        });
    });
}

#[test]
fn a_completion_that_asks_for_no_token_is_found() {
    let expected = "both were told that they won";
    fails("fault: complete without a token", expected, || {
        one_answer_stands(|store, holder, answer| {
            store.step(&holder.record, |record, now| {
                let mut whoever = holder.clone();
                if let Some(record) = record {
                    (whoever.token, whoever.attempt) = (record.token, record.attempt);
                }
                machine::complete(record, &whoever, answer, now)
            })
        });
    });
}
