//! C6 and its kin: what a renewal writes.

use super::*;
use crate::Update;

/// A renewal of [`in_flight`]'s holder, with this lease and a retention of 1000.
fn renewed(record: &Record, lease: u64, now: u64) -> (Update, Change) {
    let terms = terms(lease, 1000);
    renew(Some(record), &current(), terms, None, at(now))
}

fn expect_lease_end(result: (Update, Change), lease_end: u64) {
    let expected = in_flight()
        .started()
        .with_flight(|flight| flight.lease_end = at(lease_end));
    assert_eq!(result, (Update::Done, Change::Put(expected)));
}

#[test]
fn c6_it_extends_the_lease_from_now_and_marks_the_reservation_started() {
    expect_lease_end(renewed(&in_flight(), 200, 60), 260);
}

#[test]
fn c6_it_never_shortens_the_lease() {
    expect_lease_end(renewed(&in_flight(), 39, 60), 100);
    expect_lease_end(renewed(&in_flight(), 40, 60), 100);
    expect_lease_end(renewed(&in_flight(), 41, 60), 101);
}

#[test]
fn c6_renewing_again_changes_the_lease_only() {
    let (_, change) = renewed(&in_flight(), 200, 60);
    expect_lease_end(renewed(&change.into_record(), 200, 70), 270);
}

#[test]
fn c6_progress_is_saved_and_kept_until_replaced() {
    let save = |record: &Record, saved: Option<&Progress>| {
        renew(Some(record), &current(), terms(200, 1000), saved, at(60))
            .1
            .into_record()
    };
    let first = save(&in_flight(), Some(&progress("further")));
    assert_eq!(first.flight().progress, Some(progress("further")));

    let kept = save(&first, None);
    assert_eq!(kept.flight().progress, Some(progress("further")));

    // Empty progress is progress, not none.
    let replaced = save(&kept, Some(&progress("")));
    assert_eq!(replaced.flight().progress, Some(progress("")));
}

#[test]
fn c6_it_takes_the_renewals_retention_as_the_records() {
    let (_, change) = renew(Some(&in_flight()), &current(), terms(50, 600), None, at(60));
    let expected = Record {
        retention: ms(600),
        ..in_flight()
            .started()
            .with_flight(|flight| flight.lease_end = at(110))
    };
    assert_eq!(change, Change::Put(expected));
}

#[test]
fn c6_the_retention_is_counted_anew_if_less_than_half_would_be_left_after_the_lease() {
    // With a lease of 200, exactly half of 1000 is left after a renewal at 300.
    for (now, retention_end) in [(300, 1000), (301, 1301)] {
        let record = renewed(&in_flight(), 200, now).1.into_record();
        assert_eq!(record.retention_end, at(retention_end), "renewed at {now}");
    }
}

#[test]
fn c4_a_lapsed_lease_is_renewed() {
    expect_lease_end(renewed(&in_flight(), 200, 150), 350);
}

#[test]
fn c4_one_that_expired_is_not() {
    assert_eq!(
        renewed(&in_flight(), 200, 1000),
        (Update::Superseded, Change::Keep)
    );
}

#[test]
fn c4_an_unresolved_record_is_renewed_long_after_its_retention() {
    let unresolved = in_flight().held().started();
    let expected = Record {
        retention_end: at(6000),
        ..unresolved
            .clone()
            .with_flight(|flight| flight.lease_end = at(5200))
    };
    assert_eq!(
        renewed(&unresolved, 200, 5000),
        (Update::Done, Change::Put(expected))
    );
}

#[test]
fn c5_it_does_not_touch_a_completed_record() {
    assert_eq!(
        renewed(&in_flight().completed(), 200, 60),
        (Update::AlreadyCompleted(standing_answer(940)), Change::Keep)
    );
}

#[test]
fn c7_a_late_heartbeat_does_not_bring_an_abandoned_record_back() {
    for abandoned in [
        in_flight().abandoned(40),
        in_flight().held().started().abandoned(40),
    ] {
        assert_eq!(
            renewed(&abandoned, 200, 60),
            (Update::Superseded, Change::Keep)
        );
    }
}
