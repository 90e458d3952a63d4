//! T3: for how long a record is remembered.

use super::*;
use crate::Completion;

/// Reserved at 0 by `a`, with a lease of 200 and a retention of 1000.
fn first() -> Record {
    let mut asked = request('a');
    asked.terms = terms(200, 1000);
    reserve(None, &asked, at(0)).1.into_record()
}

#[test]
fn t3_it_counts_from_the_first_reservation() {
    assert_eq!(first().retention_end, at(1000));
}

#[test]
fn t3_a_lease_that_takes_half_of_it_leaves_it_as_it_is() {
    let mut asked = request('a');
    asked.terms = terms(500, 1000);
    let record = reserve(None, &asked, at(0)).1.into_record();
    assert_eq!(record.retention_end, at(1000));
    // A repeat one millisecond later would leave 499 after its lease.
    let repeated = reserve(Some(&record), &asked, at(1)).1.into_record();
    assert_eq!(repeated.retention_end, at(1001));
}

#[test]
fn t3_an_odd_retention_is_halved_without_rounding() {
    let odd = Record {
        retention: ms(1001),
        ..first()
    };
    // 501 is more than half of 1001, 500 is less.
    for (now, retention_end) in [(499, 1000), (500, 1501)] {
        let (_, change) = abandon(Some(&odd), &holder('a', 1), at(now));
        assert_eq!(change.into_record().retention_end, at(retention_end));
    }
}

#[test]
fn t3_a_repeat_and_a_takeover_count_it_by_the_end_of_the_lease_that_they_set() {
    // With a lease of 200, exactly half of 1000 is left after it if it is set at 300.
    for by in ['a', 'b'] {
        let mut asked = request(by);
        asked.terms = terms(200, 1000);
        for (now, retention_end) in [(300, 1000), (301, 1301)] {
            let record = reserve(Some(&first()), &asked, at(now)).1.into_record();
            assert_eq!(record.retention_end, at(retention_end), "{by} at {now}");
        }
    }
}

#[test]
fn t3_a_shorter_retention_asked_later_does_not_shorten_what_was_promised() {
    for by in ['a', 'b'] {
        let mut asked = request(by);
        asked.terms = terms(10, 20);
        let record = reserve(Some(&first()), &asked, at(300)).1.into_record();
        assert_eq!(record.retention, ms(20));
        assert_eq!(record.retention_end, at(1000));
    }
}

#[test]
fn t3_a_longer_one_asked_later_is_counted_from_then() {
    for by in ['a', 'b'] {
        let mut asked = request(by);
        asked.terms = terms(200, 5000);
        let record = reserve(Some(&first()), &asked, at(300)).1.into_record();
        assert_eq!(record.retention, ms(5000));
        assert_eq!(record.retention_end, at(5300));
    }
}

#[test]
fn t3_counting_anew_never_ends_earlier_even_if_the_clock_ran_back() {
    // The lease that the renewal keeps ends 10 before the retention; the clock stands at -900.
    let record = first().with_flight(|flight| flight.lease_end = at(990));
    let ran_back = Timestamp::from_millis(ORIGIN - 900);
    let (_, change) = renew(
        Some(&record),
        &holder('a', 1),
        terms(200, 1000),
        None,
        ran_back,
    );
    assert_eq!(change.into_record().retention_end, at(1000));
}

#[test]
fn t3_neither_mismatch_conflict_nor_replay_writes_anything() {
    let mut mismatch = request('b');
    mismatch.operation.fingerprint = other_fingerprint();
    for (record, asked) in [
        (first(), &mismatch),
        (first(), &request('b')),
        (first().completed(), &request('b')),
    ] {
        assert_eq!(reserve(Some(&record), asked, at(199)).1, Change::Keep);
    }
}

#[test]
fn t3_what_a_completion_says_is_what_a_replay_keeps() {
    for now in [0, 499, 500, 501, 999] {
        let (completion, change) = complete(Some(&first()), &holder('a', 1), &answer(), at(now));
        let Completion::Completed { remembered_for } = completion else {
            panic!("{completion:?}");
        };
        let record = change.into_record();
        let end = at(now).saturating_add(remembered_for);
        let just_before = Timestamp::from_millis(end.as_millis() - 1);
        assert_eq!(
            reserve(Some(&record), &request('b'), just_before).0,
            Outcome::Replay(standing_answer(1))
        );
        assert_eq!(
            reserve(Some(&record), &request('b'), end).0,
            reserved(1, None)
        );
    }
}
