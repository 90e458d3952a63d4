//! C7: what an abandonment writes, and who runs next.

use super::*;
use crate::Update;

fn abandoned(record: &Record, now: u64) -> (Update, Change) {
    abandon(Some(record), &current(), at(now))
}

#[test]
fn c7_it_ends_the_lease_now_and_keeps_everything_else() {
    for record in [in_flight(), in_flight().started(), in_flight().held()] {
        let expected = record.clone().abandoned(60);
        assert_eq!(
            abandoned(&record, 60),
            (Update::Done, Change::Put(expected))
        );
    }
}

#[test]
fn c7_a_second_time_changes_nothing() {
    assert_eq!(
        abandoned(&in_flight().abandoned(40), 60),
        (Update::Done, Change::Keep)
    );
}

#[test]
fn c7_the_next_reserve_takes_over_at_once_also_under_hold() {
    let record = abandoned(&in_flight().held().started(), 60).1.into_record();
    let asked = request('b').on_lapse(OnLapse::Hold);
    let (outcome, change) = reserve(Some(&record), &asked, at(60));
    assert_eq!(outcome, reserved(4, Some(progress("saved"))));

    // The successor starts anew: not abandoned, not started.
    let flight = change.into_record().flight().clone();
    assert!(!flight.abandoned && !flight.started);
}

#[test]
fn c7_but_for_its_longest_age() {
    let record = abandoned(&in_flight(), 60).1.into_record();
    let asked = |age| request('b').longest_age(Some(ms(age)));
    assert_eq!(reserve(Some(&record), &asked(70), at(70)), unresolved());
    assert_eq!(
        reserve(Some(&record), &asked(71), at(70)).0,
        reserved(4, Some(progress("saved")))
    );
}

#[test]
fn c7_another_fingerprint_is_still_a_mismatch() {
    let mut asked = request('b');
    asked.operation.fingerprint = other_fingerprint();
    assert_eq!(
        reserve(Some(&in_flight().abandoned(40)), &asked, at(60)),
        (Outcome::Mismatch, Change::Keep)
    );
}

#[test]
fn c7_the_retention_is_counted_anew_if_less_than_half_would_be_left() {
    // 500 is exactly half of it.
    for (now, retention_end) in [(500, 1000), (501, 1501)] {
        let expected = Record {
            retention_end: at(retention_end),
            ..in_flight().abandoned(now)
        };
        assert_eq!(
            abandoned(&in_flight(), now),
            (Update::Done, Change::Put(expected))
        );
    }
}

#[test]
fn c4_a_lapsed_lease_is_abandoned_as_of_now_not_as_of_its_lapse() {
    assert_eq!(
        abandoned(&in_flight(), 300),
        (Update::Done, Change::Put(in_flight().abandoned(300)))
    );
}

#[test]
fn c4_an_unresolved_record_is_settled_long_after_its_retention_and_can_run_again() {
    let unresolved = in_flight().held().started();
    let expected = Record {
        retention_end: at(6000),
        ..unresolved.clone().abandoned(5000)
    };
    let (update, change) = abandoned(&unresolved, 5000);
    assert_eq!((update, &change), (Update::Done, &Change::Put(expected)));
    assert_eq!(
        reserve(Some(&change.into_record()), &request('b'), at(5000)).0,
        reserved(4, Some(progress("saved")))
    );
}

#[test]
fn c5_it_does_not_touch_a_completed_record() {
    assert_eq!(
        abandoned(&in_flight().completed(), 60),
        (Update::AlreadyCompleted(standing_answer(940)), Change::Keep)
    );
}

#[test]
fn c3_whoever_was_taken_over_does_not_abandon_the_successor() {
    let taken = reserve(Some(&in_flight()), &request('b'), at(100))
        .1
        .into_record();
    assert_eq!(abandoned(&taken, 110), (Update::Superseded, Change::Keep));
}
