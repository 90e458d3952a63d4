//! C1, C2, C3, C5 of completing: what is written, and what stands.

use super::*;
use crate::Completion;

fn completed(record: &Record, now: u64) -> (Completion, Change) {
    complete(Some(record), &current(), &answer(), at(now))
}

#[test]
fn c1_the_current_token_completes_and_the_record_keeps_everything_else() {
    for record in [in_flight(), in_flight().held().started()] {
        let (completion, change) = completed(&record, 60);
        let remembered_for = ms(940);
        assert_eq!(completion, Completion::Completed { remembered_for });
        assert_eq!(change, Change::Put(record.completed()));
    }
}

#[test]
fn c1_the_next_reserve_replays() {
    let record = completed(&in_flight(), 60).1.into_record();
    assert_eq!(
        reserve(Some(&record), &request('b'), at(70)),
        (Outcome::Replay(standing_answer(930)), Change::Keep)
    );
}

#[test]
fn c1_an_answer_too_large_to_keep_completes_all_the_same() {
    let too_large = Answer::NotRetained {
        status: 200,
        body_length: 1 << 40,
    };
    let (_, change) = complete(Some(&in_flight()), &current(), &too_large, at(60));
    assert_eq!(change, Change::Put(in_flight().completed_with(too_large)));
}

#[test]
fn c1_the_retention_is_counted_anew_if_less_than_half_would_be_left() {
    // 500 is exactly half of it.
    for (now, remembered_for, retention_end) in [(500, 500, 1000), (501, 1000, 1501)] {
        let (completion, change) = completed(&in_flight(), now);
        let remembered_for = ms(remembered_for);
        assert_eq!(completion, Completion::Completed { remembered_for });
        let expected = Record {
            retention_end: at(retention_end),
            ..in_flight().completed()
        };
        assert_eq!(change, Change::Put(expected));
    }
}

#[test]
fn c2_repeating_it_answers_with_the_response_that_stands() {
    let record = in_flight().completed();
    assert_eq!(
        complete(Some(&record), &current(), &other_answer(), at(60)),
        (
            Completion::AlreadyCompleted(standing_answer(940)),
            Change::Keep
        )
    );
}

#[test]
fn c3_whoever_was_taken_over_does_not_overwrite_the_successor() {
    let taken = reserve(Some(&in_flight()), &request('b'), at(100))
        .1
        .into_record();
    let superseded = (Completion::Superseded, Change::Keep);
    assert_eq!(completed(&taken, 110), superseded);

    let by_successor = complete(Some(&taken), &holder('b', 4), &other_answer(), at(120));
    assert_eq!(completed(&by_successor.1.into_record(), 130), superseded);
}

#[test]
fn c3_a_revived_token_is_not_mistaken_for_the_attempt_that_it_once_was() {
    let revived = reserve(None, &request('a'), at(0)).1.into_record();
    assert_eq!(
        completed(&revived, 10),
        (Completion::Superseded, Change::Keep)
    );
}

#[test]
fn c4_a_lapsed_lease_that_nobody_took_over_still_completes() {
    let (completion, change) = completed(&in_flight(), 400);
    let remembered_for = ms(600);
    assert_eq!(completion, Completion::Completed { remembered_for });
    assert_eq!(change, Change::Put(in_flight().completed()));
}

#[test]
fn c4_one_that_expired_does_not() {
    assert_eq!(
        completed(&in_flight(), 1000),
        (Completion::Superseded, Change::Keep)
    );
}

#[test]
fn c4_an_unresolved_record_completes_long_after_its_retention() {
    let unresolved = in_flight().held().started();
    let (completion, change) = completed(&unresolved, 5000);
    let remembered_for = ms(1000);
    assert_eq!(completion, Completion::Completed { remembered_for });
    let expected = Record {
        retention_end: at(6000),
        ..unresolved.completed()
    };
    assert_eq!(change, Change::Put(expected));
}

#[test]
fn c7_an_abandoned_record_still_takes_the_answer_of_its_token() {
    let (completion, change) = completed(&in_flight().abandoned(40), 60);
    let remembered_for = ms(940);
    assert_eq!(completion, Completion::Completed { remembered_for });
    assert_eq!(change, Change::Put(in_flight().completed()));
}
