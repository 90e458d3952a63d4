//! C8: releasing forgets the record.

use super::*;
use crate::Update;

fn released(record: &Record, now: u64) -> (Update, Change) {
    release(Some(record), &current(), at(now))
}

#[test]
fn c8_the_key_is_vacant_again_whatever_the_attempt_had_done() {
    for record in [
        in_flight(),
        in_flight().started(),
        in_flight().held().started(),
        in_flight().abandoned(40),
    ] {
        assert_eq!(released(&record, 60), (Update::Done, Change::Remove));
    }
}

#[test]
fn c8_a_second_time_finds_nothing() {
    assert_eq!(
        release(None, &current(), at(60)),
        (Update::Superseded, Change::Keep)
    );
}

#[test]
fn c4_an_unresolved_record_is_released_long_after_its_retention() {
    let unresolved = in_flight().held().started();
    assert_eq!(released(&unresolved, 5000), (Update::Done, Change::Remove));
}

#[test]
fn c5_it_does_not_touch_a_completed_record() {
    assert_eq!(
        released(&in_flight().completed(), 60),
        (Update::AlreadyCompleted(standing_answer(940)), Change::Keep)
    );
}

#[test]
fn c3_whoever_was_taken_over_does_not_release_the_successor() {
    let taken = reserve(Some(&in_flight()), &request('b'), at(100))
        .1
        .into_record();
    assert_eq!(released(&taken, 110), (Update::Superseded, Change::Keep));
}
