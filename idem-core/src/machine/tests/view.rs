//! P2: what operators see.

use super::*;
use crate::{Condition, RecordInfo};

/// [`in_flight`] at `now`, as operators see it.
fn shown(now: u64, condition: Condition) -> RecordInfo {
    RecordInfo {
        operation: Operation {
            record: record_id(),
            fingerprint: fingerprint(),
        },
        holder: current(),
        condition,
        on_lapse: OnLapse::RunAgain,
        started: false,
        progress: Some(progress("saved")),
        first_reserved_ago: ms(now),
        last_reserved_ago: ms(now - 30),
        remembered_for: Some(ms(1000 - now)),
    }
}

fn seen(record: &Record, now: u64) -> Option<RecordInfo> {
    view(&record_id(), record, at(now))
}

#[test]
fn p2_a_live_lease_is_shown_with_what_is_left_of_it() {
    let lease_left = ms(1);
    assert_eq!(
        seen(&in_flight(), 99),
        Some(shown(99, Condition::Live { lease_left }))
    );
}

#[test]
fn p2_a_lapsed_lease_is_shown_with_how_long_ago_it_ended() {
    for (now, ago) in [(100, 0), (130, 30)] {
        let ago = ms(ago);
        let expected = shown(now, Condition::Lapsed { ago });
        assert_eq!(seen(&in_flight(), now), Some(expected.clone()));

        // Made under Hold and not started, it has not run: it is lapsed like any other.
        let held = RecordInfo {
            on_lapse: OnLapse::Hold,
            ..expected.clone()
        };
        assert_eq!(seen(&in_flight().held(), now), Some(held));

        let started = RecordInfo {
            started: true,
            ..expected
        };
        assert_eq!(seen(&in_flight().started(), now), Some(started));
    }
}

#[test]
fn p2_what_was_held_and_started_is_live_and_then_unresolved_for_good() {
    let held = |now, condition, remembered_for| {
        Some(RecordInfo {
            on_lapse: OnLapse::Hold,
            started: true,
            remembered_for,
            ..shown(now, condition)
        })
    };
    let record = in_flight().held().started();
    let lease_left = ms(1);
    assert_eq!(
        seen(&record, 99),
        held(99, Condition::Live { lease_left }, Some(ms(901)))
    );
    for (now, ago) in [(100, 0), (999, 899)] {
        let ago = ms(ago);
        assert_eq!(
            seen(&record, now),
            held(now, Condition::Unresolved { ago }, None)
        );
    }
    let long_after = seen(&record, 9000).unwrap();
    assert_eq!(
        long_after.condition,
        Condition::Unresolved { ago: ms(8900) }
    );
    assert_eq!(long_after.remembered_for, None);
}

#[test]
fn p2_an_abandoned_record_is_marked_so_also_under_hold() {
    let ago = ms(10);
    let expected = RecordInfo {
        started: true,
        ..shown(50, Condition::Abandoned { ago })
    };
    let record = in_flight().started().abandoned(40);
    assert_eq!(seen(&record, 50), Some(expected.clone()));

    let held = RecordInfo {
        on_lapse: OnLapse::Hold,
        ..expected
    };
    assert_eq!(seen(&record.held(), 50), Some(held));
}

#[test]
fn p2_a_completed_record_is_shown_with_its_answer() {
    let expected = RecordInfo {
        started: true,
        progress: None,
        ..shown(50, Condition::Completed(answer()))
    };
    assert_eq!(seen(&in_flight().completed(), 50), Some(expected));
}

#[test]
fn p2_an_expired_record_is_absent() {
    for record in [
        in_flight(),
        in_flight().abandoned(40),
        in_flight().completed(),
    ] {
        assert!(seen(&record, 999).is_some());
        assert_eq!(seen(&record, 1000), None);
    }
}

#[test]
fn p2_it_is_shown_under_the_name_that_was_asked_for() {
    let other = RecordId::new(Scope::new("other").unwrap(), Key::new("one").unwrap());
    let info = view(&other, &in_flight(), at(50)).unwrap();
    assert_eq!(info.operation.record, other);
    assert_eq!(info.holder.record, other);
}

/// Each kind of record, and since when it is listed at 99, 100, 999 and 1000.
#[test]
#[rustfmt::skip]
fn p2_lapsed_lists_what_is_in_flight_without_a_live_lease() {
    for (record, expected) in [
        (in_flight(),                  [None, Some(100), Some(100), None]),
        (in_flight().started(),        [None, Some(100), Some(100), None]),
        (in_flight().held(),           [None, Some(100), Some(100), None]),
        (in_flight().held().started(), [None, Some(100), Some(100), Some(100)]),
        (in_flight().abandoned(40),    [Some(40), Some(40), Some(40), None]),
        (in_flight().abandoned(100),   [Some(100), Some(100), Some(100), None]),
        (in_flight().completed(),      [None; 4]),
    ] {
        let listed = [99, 100, 999, 1000].map(|now| lapsed_since(&record, at(now)));
        assert_eq!(listed, expected.map(|since| since.map(at)), "{record:?}");
    }
}
