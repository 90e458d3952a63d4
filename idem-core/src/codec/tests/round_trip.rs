//! Whatever is written is read back, field by field.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::machine::{InFlight, Record, State};
use crate::test_support::proptest_config;
use crate::{Answer, Fingerprint, OnLapse, Progress, Response, Terms, Timestamp, Token};

fn any_response() -> impl Strategy<Value = Response> {
    let bytes = || vec(any::<u8>(), 0..40);
    let lines = || vec((any::<String>(), bytes()), 0..5);
    (any::<u16>(), lines(), bytes(), lines()).prop_map(|(status, headers, body, trailers)| {
        let response = Response::new(status).body(body);
        let response = headers
            .into_iter()
            .fold(response, |response, (name, value)| {
                response.header(name, value)
            });
        trailers
            .into_iter()
            .fold(response, |response, (name, value)| {
                response.trailer(name, value)
            })
    })
}

fn any_timestamp() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp::from_millis)
}

fn any_state() -> impl Strategy<Value = State> {
    let progress = prop::option::of(vec(any::<u8>(), 0..40));
    let in_flight = (any_timestamp(), any::<bool>(), any::<bool>(), progress).prop_map(
        |(lease_end, abandoned, started, progress)| {
            State::InFlight(InFlight {
                lease_end,
                abandoned,
                started,
                progress: progress.map(|bytes| Progress::new(bytes).unwrap()),
            })
        },
    );
    let not_retained =
        (any::<u16>(), any::<u64>()).prop_map(|(status, body_length)| Answer::NotRetained {
            status,
            body_length,
        });
    prop_oneof![
        in_flight,
        any_response().prop_map(|response| State::Completed(Answer::Full(response))),
        not_retained.prop_map(State::Completed),
    ]
}

fn any_record() -> impl Strategy<Value = Record> {
    (
        (any::<u8>(), any::<[u8; 32]>(), any::<[u8; 16]>()),
        (any_timestamp(), any_timestamp(), any_timestamp()),
        any::<u64>(),
        1..=u32::MAX,
        prop::sample::select(vec![OnLapse::RunAgain, OnLapse::Hold]),
        any_state(),
    )
        .prop_map(|(bytes, instants, retention, attempt, on_lapse, state)| {
            let (version, digest, token) = bytes;
            let (first_reserved, last_reserved, retention_end) = instants;
            Record {
                fingerprint: Fingerprint::from_parts(version, digest),
                first_reserved,
                last_reserved,
                retention: Duration::from_millis(retention),
                retention_end,
                token: Token::from_bytes(token),
                attempt,
                on_lapse,
                state,
            }
        })
}

proptest! {
    #![proptest_config(proptest_config(256))]

    #[test]
    fn s1_a_response_comes_back_unchanged(response in any_response()) {
        let bytes = response.encode();
        prop_assert_eq!(response.encoded_len(), bytes.len());
        prop_assert_eq!(Response::decode(&bytes).unwrap(), response);
    }

    #[test]
    fn s1_a_record_comes_back_unchanged(record in any_record()) {
        prop_assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }
}

/// A record of what the machine writes at most.
#[test]
fn t1_saturated_instants_and_the_longest_retention_come_back_unchanged() {
    let last = Timestamp::from_millis(u64::MAX);
    let record = Record {
        fingerprint: Fingerprint::raw("x"),
        first_reserved: last,
        last_reserved: last,
        retention: Terms::MAX_RETENTION,
        retention_end: last,
        token: Token::from_bytes([0xff; 16]),
        attempt: u32::MAX,
        on_lapse: OnLapse::Hold,
        state: State::InFlight(InFlight {
            lease_end: last,
            abandoned: true,
            started: true,
            progress: Some(Progress::new(vec![0xff; Progress::MAX_LEN]).unwrap()),
        }),
    };
    assert_eq!(Record::decode(&record.encode()).unwrap(), record);
}

#[test]
fn s1_a_megabyte_of_body_and_a_thousand_lines_come_back_unchanged() {
    let mut response = Response::new(200).body(vec![0xa5; 1 << 20]);
    for line in 0..1000 {
        response = response.header(format!("x-{line}"), vec![0x80; line]);
    }
    let bytes = response.encode();
    assert_eq!(response.encoded_len(), bytes.len());
    assert_eq!(Response::decode(&bytes).unwrap(), response);
}
