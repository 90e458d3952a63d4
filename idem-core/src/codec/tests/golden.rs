//! Golden bytes: version 1 as it was released. A change that fails here would strand stored records;
//! a new format gets a new version and new golden bytes beside these.

use std::time::Duration;

use super::hex;
use crate::machine::{InFlight, Record, State};
use crate::{Answer, Fingerprint, OnLapse, Progress, Response, Timestamp, Token};

fn response() -> Response {
    Response::new(201)
        .header("Set-Cookie", "a=1")
        .header("set-cookie", vec![0xff, 0x00])
        .body(vec![0x00, 0xff, b'o', b'k'])
        .trailer("grpc-status", "0")
        .trailer("grpc-status", "")
}

pub(super) const RESPONSE: &str = "
    01                              | version
    00c9                            | status 201
    0000000000000002                | headers
    000000000000000a                |
    5365742d436f6f6b6965            |   Set-Cookie
    0000000000000003                |
    613d31                          |   a=1
    000000000000000a                |
    7365742d636f6f6b6965            |   set-cookie
    0000000000000002                |
    ff00                            |   not UTF-8
    0000000000000004                | body
    00ff6f6b                        |
    0000000000000002                | trailers
    000000000000000b                |
    677270632d737461747573          |   grpc-status
    0000000000000001                |
    30                              |   0
    000000000000000b                |
    677270632d737461747573          |   grpc-status
    0000000000000000                |   empty
";

/// What all golden records begin with.
const HEAD: &str = "
    01                              | version
    01                              | fingerprint: version of its algorithm
    000102030405060708090a0b0c0d0e0f|   digest
    101112131415161718191a1b1c1d1e1f|
    0000018bcfe56800                | first reserved, 1 700 000 000 000
    0000018bcfe568ff                | last reserved
    0000000005265c00                | retention, 86 400 000
    0000018bd50bc400                | its end, 1 700 086 400 000
    00112233445566778899aabbccddeeff| token
";

fn record(attempt: u32, on_lapse: OnLapse, state: State) -> Record {
    Record {
        fingerprint: Fingerprint::from_parts(1, std::array::from_fn(|index| index as u8)),
        first_reserved: Timestamp::from_millis(1_700_000_000_000),
        last_reserved: Timestamp::from_millis(1_700_000_000_255),
        retention: Duration::from_secs(24 * 60 * 60),
        retention_end: Timestamp::from_millis(1_700_086_400_000),
        token: Token::from_bytes(std::array::from_fn(|index| 0x11 * index as u8)),
        attempt,
        on_lapse,
        state,
    }
}

fn in_flight(abandoned: bool, started: bool, progress: Option<&'static [u8]>) -> State {
    State::InFlight(InFlight {
        lease_end: Timestamp::from_millis(1_700_000_060_000),
        abandoned,
        started,
        progress: progress.map(|bytes| Progress::new(bytes).unwrap()),
    })
}

/// Every golden record with its bytes.
pub(super) fn records() -> Vec<(Record, Vec<u8>)> {
    let golden = |record, tail: &str| (record, [hex(HEAD), hex(tail)].concat());
    vec![
        // Live.
        golden(
            record(1, OnLapse::RunAgain, in_flight(false, false, None)),
            "
            00000001                | attempt
            00                      | on lapse: run again
            00                      | in flight
            0000018bcfe65260        |   lease end, 1 700 000 060 000
            00                      |   not abandoned
            00                      |   not started
            00                      |   no progress
            ",
        ),
        // Started under hold, with progress.
        golden(
            record(
                2,
                OnLapse::Hold,
                in_flight(false, true, Some(&[0x00, 0xff])),
            ),
            "
            00000002                | attempt
            01                      | on lapse: hold
            00                      | in flight
            0000018bcfe65260        |   lease end
            00                      |   not abandoned
            01                      |   started
            01                      |   progress
            0000000000000002        |
            00ff                    |
            ",
        ),
        // Abandoned, with empty progress, which is not the same as none.
        golden(
            record(
                0x0102_0304,
                OnLapse::RunAgain,
                in_flight(true, false, Some(&[])),
            ),
            "
            01020304                | attempt
            00                      | on lapse: run again
            00                      | in flight
            0000018bcfe65260        |   lease end
            01                      |   abandoned
            00                      |   not started
            01                      |   progress
            0000000000000000        |   empty
            ",
        ),
        // Completed with repeated and non-UTF-8 headers, and trailers.
        golden(
            record(1, OnLapse::Hold, State::Completed(Answer::Full(response()))),
            &format!(
                "
                00000001            | attempt
                01                  | on lapse: hold
                01                  | completed
                000000000000008f    |   response, 143 bytes
                {RESPONSE}
                "
            ),
        ),
        // Completed, too large to keep.
        golden(
            record(
                u32::MAX,
                OnLapse::RunAgain,
                State::Completed(Answer::NotRetained {
                    status: 503,
                    body_length: 1 << 40,
                }),
            ),
            "
            ffffffff                | attempt
            00                      | on lapse: run again
            02                      | completed, not retained
            01f7                    |   status 503
            0000010000000000        |   body length
            ",
        ),
    ]
}

#[test]
fn a_response_is_these_bytes() {
    assert_eq!(response().encode(), hex(RESPONSE));
    assert_eq!(Response::decode(&hex(RESPONSE)).unwrap(), response());
}

#[test]
fn the_smallest_response_is_these_bytes() {
    let dump = "
        01                          | version
        0000                        | status 0
        0000000000000000            | no headers
        0000000000000000            | empty body
        0000000000000000            | no trailers
    ";
    assert_eq!(Response::new(0).encode(), hex(dump));
    assert_eq!(Response::decode(&hex(dump)).unwrap(), Response::new(0));
}

#[test]
fn a_record_is_these_bytes() {
    for (record, bytes) in records() {
        assert_eq!(record.encode(), bytes, "{record:?}");
        assert_eq!(Record::decode(&bytes).unwrap(), record);
    }
}
