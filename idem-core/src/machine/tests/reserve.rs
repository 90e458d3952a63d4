//! Reserving, law by law, with the numbers of an example.

use super::*;

#[test]
fn r1_a_vacant_key_is_reserved_as_attempt_1_with_what_the_request_asks() {
    let asked = request('a').on_lapse(OnLapse::Hold);
    let (outcome, change) = reserve(None, &asked, at(5));
    assert_eq!(outcome, reserved(1, None));
    let expected = Record {
        fingerprint: fingerprint(),
        first_reserved: at(5),
        last_reserved: at(5),
        retention: ms(1400),
        retention_end: at(1405),
        token: token('a'),
        attempt: 1,
        on_lapse: OnLapse::Hold,
        state: State::InFlight(InFlight {
            lease_end: at(205),
            abandoned: false,
            started: false,
            progress: None,
        }),
    };
    assert_eq!(change, Change::Put(expected));
}

#[test]
fn r1_a_longest_age_does_not_hinder_the_first_run() {
    let asked = request('a').longest_age(Some(Duration::ZERO));
    assert_eq!(reserve(None, &asked, at(5)).0, reserved(1, None));
}

#[test]
fn r2_of_many_that_reserve_one_vacant_key_exactly_one_wins() {
    let mut record = None;
    let outcomes = ['a', 'b', 'c', 'd'].map(|by| {
        let (outcome, change) = reserve(record.as_ref(), &request(by), at(0));
        if let Change::Put(put) = change {
            record = Some(put);
        }
        outcome
    });
    let lost = conflict(200).0;
    assert_eq!(
        outcomes,
        [reserved(1, None), lost.clone(), lost.clone(), lost]
    );
    assert_eq!(record.unwrap().token, token('a'));
}

#[test]
fn r3_the_hint_is_what_is_left_of_the_lease_whatever_the_clock_did() {
    let record = in_flight();
    assert_eq!(reserve(Some(&record), &request('b'), at(99)), conflict(1));
    let mut of_short_lease = request('b');
    of_short_lease.terms = terms(1, 1400);
    assert_eq!(
        reserve(Some(&record), &of_short_lease, at(50)),
        conflict(50)
    );
    let before_everything = Timestamp::from_millis(ORIGIN - 10);
    assert_eq!(
        reserve(Some(&record), &request('b'), before_everything),
        conflict(110)
    );
}

#[test]
fn r4_the_same_digest_by_another_version_of_the_algorithm_is_a_mismatch() {
    let mut asked = request('b');
    asked.operation.fingerprint = Fingerprint::from_parts(2, *fingerprint().as_bytes());
    for record in [in_flight(), in_flight().completed()] {
        assert_eq!(
            reserve(Some(&record), &asked, at(50)),
            (Outcome::Mismatch, Change::Keep)
        );
    }
}

#[test]
fn r4_before_r10_the_own_token_with_another_fingerprint_is_a_mismatch() {
    let mut asked = request('a');
    asked.operation.fingerprint = other_fingerprint();
    assert_eq!(
        reserve(Some(&in_flight()), &asked, at(50)),
        (Outcome::Mismatch, Change::Keep)
    );
}

#[test]
fn r5_a_lapsed_lease_is_taken_over_with_its_progress() {
    let lapsed = in_flight().started();
    let (outcome, change) = reserve(Some(&lapsed), &request('b'), at(100));
    assert_eq!(outcome, reserved(4, Some(progress("saved"))));
    let expected = Record {
        last_reserved: at(100),
        retention: ms(1400),
        token: token('b'),
        attempt: 4,
        state: State::InFlight(InFlight {
            lease_end: at(300),
            abandoned: false,
            started: false,
            progress: Some(progress("saved")),
        }),
        ..in_flight()
    };
    assert_eq!(change, Change::Put(expected));
}

#[test]
fn r5_the_successor_brings_its_own_word_on_lapse() {
    let not_run = in_flight().held();
    for asked in [OnLapse::RunAgain, OnLapse::Hold] {
        let (_, change) = reserve(Some(&not_run), &request('b').on_lapse(asked), at(100));
        assert_eq!(change.into_record().on_lapse, asked);
    }
}

#[test]
fn r5_only_the_end_of_the_lease_matters_not_the_length_of_the_successors_own() {
    for lease in [1, 99, 100, 101, 500] {
        let mut asked = request('b');
        asked.terms = terms(lease, 1400);
        assert_eq!(reserve(Some(&in_flight()), &asked, at(99)), conflict(1));
        let (outcome, _) = reserve(Some(&in_flight()), &asked, at(100));
        assert_eq!(outcome, reserved(4, Some(progress("saved"))));
    }
}

#[test]
fn r5_an_abandoned_record_is_taken_over_at_once_even_if_the_clock_ran_back() {
    let abandoned = in_flight().held().started().abandoned(80);
    for now in [79, 80, 81] {
        let (outcome, _) = reserve(Some(&abandoned), &request('b'), at(now));
        assert_eq!(outcome, reserved(4, Some(progress("saved"))), "at {now}");
    }
}

#[test]
fn r5_the_longest_age_counts_from_the_first_reservation_not_from_the_last() {
    // First reserved at 0, last at 30, both by the record.
    let asked = |age| request('b').longest_age(Some(ms(age)));
    assert_eq!(
        reserve(Some(&in_flight()), &asked(100), at(100)),
        unresolved()
    );
    assert_eq!(
        reserve(Some(&in_flight()), &asked(101), at(100)).0,
        reserved(4, Some(progress("saved")))
    );
}

#[test]
fn r5_the_longest_age_is_not_a_reason_while_the_lease_is_live() {
    let asked = request('b').longest_age(Some(Duration::ZERO));
    assert_eq!(reserve(Some(&in_flight()), &asked, at(50)), conflict(50));
}

#[test]
fn r5_the_number_of_attempts_saturates_and_the_token_still_fences() {
    let last = Record {
        attempt: u32::MAX,
        ..in_flight()
    };
    let (outcome, change) = reserve(Some(&last), &request('b'), at(100));
    assert_eq!(outcome, reserved(u32::MAX, Some(progress("saved"))));
    let taken = change.into_record();
    let before = holder('a', u32::MAX);
    assert_eq!(release(Some(&taken), &before, at(101)).1, Change::Keep);
}

#[test]
fn r6_a_replay_gives_exactly_the_stored_answer_and_for_how_long_it_stands() {
    let awkward = Answer::Full(
        Response::new(0)
            .header("Set-Cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("x", vec![0xff, 0x00])
            .trailer("grpc-status", "0"),
    );
    let too_large = Answer::NotRetained {
        status: 200,
        body_length: u64::MAX,
    };
    for answer in [awkward, too_large] {
        let completed = in_flight().completed_with(answer.clone());
        let remembered_for = ms(1);
        let replay = Replay {
            answer,
            remembered_for,
        };
        assert_eq!(
            reserve(Some(&completed), &request('b'), at(999)),
            (Outcome::Replay(replay), Change::Keep)
        );
    }
}

#[test]
fn r7_and_r9_records_are_told_apart_byte_for_byte() {
    let id =
        |scope: &str, key: &str| RecordId::new(Scope::new(scope).unwrap(), Key::new(key).unwrap());
    let all = [
        id("a", "b:c"),
        id("a:b", "c"),
        id("a", "key"),
        id("a", "Key"),
        id("a", "key "),
        id("a", " key"),
        id("a", "\u{e9}"),
        id("a", "e\u{301}"),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(all[index + 1..].iter().all(|other| other != one));
    }
}

#[test]
fn r8_an_expired_record_is_vacant_to_any_fingerprint() {
    let mut asked = request('b');
    asked.operation.fingerprint = other_fingerprint();
    for expired in [
        in_flight(),
        in_flight().abandoned(40),
        in_flight().completed(),
    ] {
        let (outcome, change) = reserve(Some(&expired), &asked, at(1000));
        assert_eq!(outcome, reserved(1, None));
        // Nothing of the old record is left in the new one.
        assert_eq!(change, reserve(None, &asked, at(1000)).1);
    }
}

#[test]
fn r10_a_repeat_gets_the_same_reservation_with_a_lease_of_its_own_length() {
    let mut repeat = request('a');
    for (now, lease, lease_end) in [(50, 200, 250), (50, 10, 60), (100, 200, 300)] {
        repeat.terms = terms(lease, 1400);
        let (outcome, change) = reserve(Some(&in_flight()), &repeat, at(now));
        assert_eq!(outcome, reserved(3, Some(progress("saved"))));
        let expected = Record {
            retention: ms(1400),
            ..in_flight().with_flight(|flight| flight.lease_end = at(lease_end))
        };
        assert_eq!(change, Change::Put(expected));
    }
}

#[test]
fn r10_a_late_copy_does_not_touch_a_reservation_that_started_or_was_abandoned() {
    let late = request('a');
    assert_eq!(
        reserve(Some(&in_flight().started()), &late, at(50)),
        conflict(1)
    );
    assert_eq!(
        reserve(Some(&in_flight().started()), &late, at(500)),
        conflict(1)
    );
    assert_eq!(
        reserve(Some(&in_flight().abandoned(40)), &late, at(500)),
        conflict(1)
    );
}

#[test]
fn r10_waiting_does_not_help_a_late_copy_whose_record_is_unresolved() {
    let held = in_flight().held().started();
    assert_eq!(reserve(Some(&held), &request('a'), at(50)), conflict(1));
    assert_eq!(reserve(Some(&held), &request('a'), at(100)), unresolved());
}

#[test]
fn r10_comes_after_r6_the_token_that_completed_is_answered_by_a_replay() {
    assert_eq!(
        reserve(Some(&in_flight().completed()), &request('a'), at(50)),
        (Outcome::Replay(standing_answer(950)), Change::Keep)
    );
}

#[test]
fn t2_a_clock_that_ran_back_makes_a_record_no_older_than_nothing() {
    let long_ago = Timestamp::from_millis(ORIGIN - 10);
    let abandoned = in_flight().abandoned(40);
    let asked = |age| request('b').longest_age(Some(age));
    assert_eq!(
        reserve(Some(&abandoned), &asked(ms(1)), long_ago).0,
        reserved(4, Some(progress("saved")))
    );
    assert_eq!(
        reserve(Some(&abandoned), &asked(Duration::ZERO), long_ago),
        unresolved()
    );
}
