//! The value of a record.
//!
//! ```text
//! 01           the version of this layout
//! 01 or 02     written by the native command, or by a script
//! 8 bytes      when it was written, by the server's clock; nothing in a native one
//! 4 bytes      how often it was written before
//! …            the record, as idem-core encodes it
//! ```
//! All numbers are big-endian. The native command cannot know the server's time. It writes the record as it would
//! be had it been reserved at the instant 0, and the server's own expiry, a retention after the write, says when
//! that instant was: what a reader must know is in the value, and none of it comes from the reader's own settings.
//!
//! `lua/record.lua` reads and writes the same by position.

use std::time::Duration;

use idem_core::machine::{self, Change, InFlight, Record, State};
use idem_core::{
    Answer, Error, Fingerprint, OnLapse, Outcome, Progress, Replay, ReserveRequest, Timestamp,
    Token,
};

const LAYOUT: u8 = 1;
const NATIVE: u8 = 1;
const SCRIPT: u8 = 2;

/// Before the record.
const HEAD: usize = 1 + 1 + 8 + 4;

/// Where the state stands in a record, and with it all that differs between one in flight and an answer.
const STATE: usize = 1 + 1 + 32 + 4 * 8 + 16 + 4 + 1;

/// Where the progress stands in a record in flight: after the end of the lease and two flags.
const PROGRESS: usize = STATE + 1 + 8 + 1 + 1;

/// The latest instant and the longest duration: up to here, Lua's numbers are exact.
const LATEST: u64 = 1 << 53;

/// In whole milliseconds, rounded up, as stores count.
pub(crate) fn millis(duration: Duration) -> u64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(LATEST).min(LATEST)
}

/// What the native command writes for a new key.
pub(crate) fn native(request: &ReserveRequest) -> Vec<u8> {
    let (_, change) = machine::reserve(None, request, Timestamp::default());
    let Change::Put(record) = change else {
        // A try at a vacant key is always a reservation.
        return Vec::new();
    };
    let mut value = vec![LAYOUT, NATIVE];
    value.extend([0; HEAD - 2]);
    value.extend(record.encode());
    value
}

/// The replay that the native command's answer amounts to, if it is one.
pub(crate) fn replay(value: &[u8], fingerprint: &Fingerprint, now: Timestamp) -> Option<Replay> {
    let (head, record) = value.split_first_chunk::<HEAD>()?;
    let [LAYOUT, SCRIPT, written @ .., _, _, _, _] = head else {
        return None;
    };
    // What is in flight is not worth decoding, and what cannot be read is somebody else's to report.
    if *record.get(STATE)? == 0 {
        return None;
    }
    let record = Record::decode(record).ok()?;
    // A clock that was set back must not show more than was given.
    let now = now.max(Timestamp::from_millis(u64::from_be_bytes(*written)));
    let remembered_for = record.retention_end.saturating_since(now);
    match record.state {
        State::Completed(answer)
            if record.fingerprint == *fingerprint && !remembered_for.is_zero() =>
        {
            Some(Replay {
                answer,
                remembered_for,
            })
        }
        _ => None,
    }
}

/// A fingerprint as it stands in a record.
pub(crate) fn fingerprint(fingerprint: &Fingerprint) -> [u8; 33] {
    let mut bytes = [fingerprint.version(); 33];
    bytes[1..].copy_from_slice(fingerprint.as_bytes());
    bytes
}

/// An answer as it stands at the end of a record, from its state on.
pub(crate) fn answer(answer: &Answer) -> Vec<u8> {
    any_record(State::Completed(answer.clone()))
        .encode()
        .split_off(STATE)
}

/// Progress as it stands at the end of a record.
pub(crate) fn progress(progress: &Progress) -> Vec<u8> {
    let flight = InFlight {
        lease_end: Timestamp::default(),
        abandoned: false,
        started: false,
        progress: Some(progress.clone()),
    };
    any_record(State::InFlight(flight))
        .encode()
        .split_off(PROGRESS)
}

/// The progress that stands at the end of a record.
pub(crate) fn read_progress(bytes: &[u8]) -> Result<Option<Progress>, Error> {
    let broken = || Error::corrupt("the record cannot be read: its progress");
    match bytes.split_first() {
        Some((0, [])) => Ok(None),
        Some((1, rest)) => {
            let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
            if u64::from_be_bytes(*length) != rest.len() as u64 {
                return Err(broken());
            }
            Progress::new(rest.to_vec()).map(Some).map_err(|_| broken())
        }
        _ => Err(broken()),
    }
}

fn any_record(state: State) -> Record {
    Record {
        fingerprint: Fingerprint::from_parts(0, [0; 32]),
        first_reserved: Timestamp::default(),
        last_reserved: Timestamp::default(),
        retention: Duration::ZERO,
        retention_end: Timestamp::default(),
        token: Token::from_bytes([0; 16]),
        attempt: 1,
        on_lapse: OnLapse::RunAgain,
        state,
    }
}

/// A reservation that was made now, on a new key.
pub(crate) const RESERVED: Outcome = Outcome::Reserved {
    attempt: 1,
    progress: None,
};

#[cfg(test)]
mod tests {
    use idem_core::{Key, Operation, Response, Scope, Terms};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn request() -> ReserveRequest {
        let operation = Operation::new(
            Scope::new("s").unwrap(),
            Key::new("k").unwrap(),
            Fingerprint::from_parts(1, [0xf1; 32]),
        );
        let terms = Terms::new(Duration::from_millis(0x0a), Duration::from_millis(0x0b0c)).unwrap();
        ReserveRequest::new(operation, Token::from_bytes([0x70; 16]), terms).on_lapse(OnLapse::Hold)
    }

    /// As `lua/record.lua` counts: positions begin at 1.
    #[test]
    fn a_native_value_is_frozen() {
        let value = native(&request());
        let zero = "0000000000000000";
        let expected = [
            "0101",
            zero,
            "00000000",
            "01",
            "01",
            &"f1".repeat(32),
            zero,
            zero,
            "0000000000000b0c",
            "0000000000000b0c",
            &"70".repeat(16),
            "00000001",
            "01",
            "00",
            "000000000000000a",
            "00",
            "00",
            "00",
        ]
        .concat();
        assert_eq!(hex(&value), expected);
        assert_eq!(value.len(), 113);
        assert_eq!((HEAD + STATE, HEAD + PROGRESS), (101, 112));
    }

    #[test]
    fn what_stands_at_the_end_of_a_record_is_read_back() {
        let response = Answer::from(Response::new(201).body("paid"));
        let marker = Answer::NotRetained {
            status: 200,
            body_length: 7,
        };
        for given in [response, marker] {
            let mut record = any_record(State::Completed(given.clone())).encode();
            record.truncate(STATE);
            record.extend(answer(&given));
            assert_eq!(
                Record::decode(&record).unwrap().state,
                State::Completed(given)
            );
        }
        for bytes in [&b""[..], b"half way"] {
            let given = Progress::new(bytes.to_vec()).unwrap();
            assert_eq!(read_progress(&progress(&given)).unwrap(), Some(given));
        }
        assert_eq!(read_progress(&[0]).unwrap(), None);
        for broken in [&b""[..], &[0, 0], &[2], &[1], &[1, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert!(read_progress(broken).unwrap_err().is_corrupt());
        }
    }

    #[test]
    fn only_a_completed_record_with_the_same_fingerprint_is_a_replay() {
        let fingerprint = Fingerprint::raw("a");
        let given = Answer::from(Response::new(201).body("paid"));
        let record = Record {
            fingerprint,
            retention_end: Timestamp::from_millis(1000),
            ..any_record(State::Completed(given.clone()))
        };
        let at = Timestamp::from_millis;
        let mut value = vec![LAYOUT, SCRIPT, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 1];
        value.extend(record.encode());
        let left = |now| {
            Some(
                replay(&value, &fingerprint, at(now))?
                    .remembered_for
                    .as_millis(),
            )
        };
        assert_eq!(left(400), Some(600));
        // The clock was set back behind the write.
        assert_eq!(left(0), Some(900));
        assert_eq!(left(1000), None);
        assert_eq!(replay(&value, &Fingerprint::raw("b"), at(400)), None);
        assert_eq!(
            replay(&native(&request()), &request().operation.fingerprint, at(0)),
            None
        );
        for cut in 0..value.len() {
            assert_eq!(replay(&value[..cut], &fingerprint, at(400)), None);
        }
        for byte in [0, 1] {
            let mut other = value.clone();
            other[byte] = 9;
            assert_eq!(replay(&other, &fingerprint, at(400)), None);
        }
    }

    #[test]
    fn durations_round_up_and_are_clamped() {
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_micros(1_001)), 2);
        assert_eq!(millis(Duration::MAX), 1 << 53);
        assert_eq!(millis(Duration::ZERO), 0);
    }
}
