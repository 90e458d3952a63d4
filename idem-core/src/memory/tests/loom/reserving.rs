//! reserve × reserve: of all who reserve at once, one wins (law R2), and what the others are told is
//! true (law R3).

use super::*;
use crate::machine;

type Reserve = fn(&MemoryStore, &ReserveRequest) -> Outcome;

fn one_of_three_wins(by: Reserve) {
    let (store, _) = store();
    let others = [1, 2].map(|token| {
        let store = store.clone();
        thread::spawn(move || by(&store, &asks(token)))
    });
    let last = by(&store, &asks(3));
    let mut outcomes = others.map(|other| other.join().unwrap()).to_vec();
    outcomes.push(last);

    let won: Vec<_> = (0..3).filter(|&n| is_reserved(&outcomes[n], 1)).collect();
    assert_eq!(won.len(), 1, "so many won: {outcomes:?}");
    assert_eq!(outcomes.iter().filter(|one| is_conflict(one)).count(), 2);
    // The winner's token is the one that stands.
    let winner = holder(won[0] as u8 + 1, 1);
    let completed = complete(&store, &winner, &answer("paid"));
    assert!(matches!(completed, Completion::Completed { .. }));
}

#[test]
fn of_three_that_reserve_at_once_one_wins() {
    holds("reserve × reserve × reserve", || {
        one_of_three_wins(reserve)
    });
}

#[test]
fn a_store_that_looks_and_then_writes_grants_twice() {
    fails("fault: reserve in two steps", "so many won", || {
        one_of_three_wins(|store, request| {
            in_two_steps(store, &request.operation.record, |record, now| {
                machine::reserve(record, request, now)
            })
        })
    });
}

/// Time passes while two reserve. No hint is longer than the lease: the step that comes later never
/// sees an earlier time.
fn no_hint_is_longer_than_the_lease(by: Reserve) {
    let (store, clock) = store();
    let time = thread::spawn(move || clock.advance(Duration::from_secs(1)));
    let other = {
        let store = store.clone();
        thread::spawn(move || by(&store, &asks(1)))
    };
    let outcomes = [by(&store, &asks(2)), other.join().unwrap()];
    time.join().unwrap();
    let is_true = |one: &Outcome| is_reserved(one, 1) || is_conflict(one);
    assert!(outcomes.iter().all(is_true), "a false hint: {outcomes:?}");
}

#[test]
fn hints_are_true_while_time_passes() {
    holds("reserve × reserve × time", || {
        no_hint_is_longer_than_the_lease(reserve);
    });
}

#[test]
fn a_store_that_reads_its_clock_before_it_locks_gives_false_hints() {
    fails("fault: clock read before the lock", "a false hint", || {
        no_hint_is_longer_than_the_lease(|store, request| {
            let now = store.0.clock.now();
            store.step(&request.operation.record, |record, _| {
                machine::reserve(record, request, now)
            })
        })
    });
}
