//! T1: no instant panics, none wraps.

use super::*;
use crate::{Completion, Update};

const LAST: Timestamp = Timestamp::from_millis(u64::MAX);

fn just_before_the_last(millis: u64) -> Timestamp {
    Timestamp::from_millis(u64::MAX - millis)
}

/// The longest of both.
fn longest() -> Terms {
    Terms::new(Duration::MAX, Duration::MAX).unwrap()
}

fn asked(by: char) -> ReserveRequest {
    ReserveRequest {
        terms: longest(),
        ..request(by)
    }
}

#[test]
fn t1_the_longest_terms_are_kept_to_the_millisecond() {
    let record = reserve(None, &asked('a'), at(0)).1.into_record();
    let lease_end = at(0).saturating_add(Terms::MAX_LEASE);
    assert_eq!(record.flight().lease_end, lease_end);
    assert_eq!(record.retention, Terms::MAX_RETENTION);
    assert_eq!(
        record.retention_end,
        at(0).saturating_add(Terms::MAX_RETENTION)
    );
    // Half of the retention is left after the lease: nothing is counted anew.
    let retry_after = Some(Terms::MAX_LEASE);
    assert_eq!(
        reserve(Some(&record), &asked('b'), at(0)),
        (Outcome::Conflict { retry_after }, Change::Keep)
    );
}

#[test]
fn t1_the_shortest_terms_last_one_millisecond_and_two() {
    let mut shortest = asked('a');
    shortest.terms = Terms::new(Duration::from_nanos(1), ms(2)).unwrap();
    let record = reserve(None, &shortest, at(0)).1.into_record();
    assert_eq!(record.flight().lease_end, at(1));
    assert_eq!(record.retention_end, at(2));
}

#[test]
fn t1_at_the_end_of_time_everything_saturates() {
    let now = just_before_the_last(10);
    let mut record = reserve(None, &asked('a'), now).1.into_record();
    assert_eq!(record.flight().lease_end, LAST);
    assert_eq!(record.retention_end, LAST);
    let holder = holder('a', 1);

    let (update, change) = renew(Some(&record), &holder, longest(), None, now);
    assert_eq!(update, Update::Done);
    record = change.into_record();
    assert_eq!(record.flight().lease_end, LAST);
    assert_eq!(record.retention_end, LAST);
    assert_eq!(reserve(Some(&record), &asked('b'), now), conflict(10));

    let (completion, change) = complete(Some(&record), &holder, &answer(), now);
    let remembered_for = ms(10);
    assert_eq!(completion, Completion::Completed { remembered_for });
    assert_eq!(change, Change::Put(record.clone().completed()));

    let (_, change) = abandon(Some(&record), &holder, now);
    assert_eq!(change.into_record().retention_end, LAST);
}

#[test]
fn t1_a_record_from_the_beginning_of_time_meets_the_end_of_it() {
    let held = Record {
        first_reserved: Timestamp::default(),
        last_reserved: Timestamp::default(),
        ..in_flight().held().started()
    };
    assert_eq!(reserve(Some(&held), &asked('b'), LAST), unresolved());
    let info = view(&record_id(), &held, LAST).unwrap();
    assert_eq!(info.first_reserved_ago, ms(u64::MAX));
    assert_eq!(info.last_reserved_ago, ms(u64::MAX));
}
