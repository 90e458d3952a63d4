//! R8: when a record is forgotten.

use super::*;

/// Each kind of record, and when it expires.
#[rustfmt::skip]
fn ends() -> Vec<(Record, Option<u64>)> {
    let lease_outlives_retention =
        |record: Record| record.with_flight(|flight| flight.lease_end = at(1200));
    vec![
        (in_flight(),                                     Some(1000)),
        (in_flight().started(),                           Some(1000)),
        (in_flight().held(),                              Some(1000)),
        (in_flight().held().started(),                    None),
        (in_flight().abandoned(40),                       Some(1000)),
        (in_flight().started().abandoned(40),             Some(1000)),
        (in_flight().held().abandoned(40),                Some(1000)),
        (in_flight().held().started().abandoned(40),      Some(1000)),
        (in_flight().completed(),                         Some(1000)),
        (in_flight().held().completed(),                  Some(1000)),
        (lease_outlives_retention(in_flight()),           Some(1200)),
        (lease_outlives_retention(in_flight().held()),    Some(1200)),
        (lease_outlives_retention(in_flight().held().started()), None),
    ]
}

#[test]
fn r8_every_kind_of_record_expires_at_its_end_and_not_one_before() {
    for (record, end) in ends() {
        assert_eq!(expires_at(&record), end.map(at), "{record:?}");
        if let Some(end) = end {
            assert!(!is_expired(&record, at(end - 1)), "{record:?}");
            assert!(is_expired(&record, at(end)), "{record:?}");
            assert!(is_expired(&record, at(end + 1)), "{record:?}");
        }
    }
}

#[test]
fn r8_what_was_held_and_started_never_expires_in_flight() {
    let held = in_flight().held().started();
    for now in [
        at(0),
        at(1000),
        at(1_000_000),
        Timestamp::from_millis(u64::MAX),
    ] {
        assert!(!is_expired(&held, now));
    }
}

#[test]
fn r8_once_completed_or_abandoned_it_expires_as_any_other() {
    let held = in_flight().held().started();
    let (_, completed) = complete(Some(&held), &current(), &answer(), at(5000));
    let (_, abandoned) = abandon(Some(&held), &current(), at(5000));
    for change in [completed, abandoned] {
        assert_eq!(expires_at(&change.into_record()), Some(at(6000)));
    }
}
