//! Damaged bytes: an error, or a record that those very bytes stand for. Never a panic, never a
//! vacant key.

use proptest::collection::vec;
use proptest::prelude::*;

use super::golden::{RESPONSE, records};
use super::hex;
use crate::machine::Record;
use crate::test_support::proptest_config;
use crate::{Applied, Error, Progress, Response};

/// Each format: an example of its bytes, and how to read them and write them again.
type Format = (Vec<u8>, fn(&[u8]) -> Result<Vec<u8>, Error>);

fn response_again(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Response::decode(bytes).map(|response| response.encode())
}

fn record_again(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Record::decode(bytes).map(|record| record.encode())
}

fn formats() -> Vec<Format> {
    let response: Format = (hex(RESPONSE), response_again);
    let records = records()
        .into_iter()
        .map(|(_, bytes)| -> Format { (bytes, record_again) });
    std::iter::once(response).chain(records).collect()
}

fn expect_canonical(bytes: &[u8], again: fn(&[u8]) -> Result<Vec<u8>, Error>) {
    match again(bytes) {
        Ok(again) => assert_eq!(again, bytes),
        Err(error) => assert!(error.is_corrupt(), "{error}"),
    }
}

fn expect_corrupt<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), message);
    assert!(error.is_corrupt() && !error.is_transient());
    assert_eq!(error.applied(), Applied::No);
}

#[test]
fn every_truncation_is_an_error() {
    for (bytes, again) in formats() {
        for length in 0..bytes.len() {
            assert!(again(&bytes[..length]).unwrap_err().is_corrupt());
        }
    }
}

#[test]
fn every_change_of_one_byte_is_an_error_or_another_value() {
    for (golden, again) in formats() {
        for at in 0..golden.len() {
            let mut bytes = golden.clone();
            for value in 0..=u8::MAX {
                bytes[at] = value;
                expect_canonical(&bytes, again);
            }
        }
    }
}

#[test]
fn every_byte_too_many_is_an_error() {
    for (bytes, again) in formats() {
        for extra in 0..=u8::MAX {
            let longer = [bytes.as_slice(), &[extra]].concat();
            let error = again(&longer).unwrap_err();
            assert!(
                error.to_string().ends_with("something follows its end"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_huge_length_or_count_reserves_no_memory() {
    let huge = [u64::MAX, u64::MAX / 2, 1 << 48, 1 << 32];
    for (golden, again) in formats() {
        for at in 0..golden.len() - 8 {
            for number in huge {
                let mut bytes = golden.clone();
                bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
                expect_canonical(&bytes, again);
            }
        }
    }
}

#[test]
fn an_unknown_version_is_named() {
    let (_, mut record) = records().remove(0);
    let mut response = hex(RESPONSE);
    for version in [0, 2, 255] {
        record[0] = version;
        response[0] = version;
        expect_corrupt(
            Record::decode(&record),
            &format!("stored record cannot be read: format {version} is not known, only 1"),
        );
        expect_corrupt(
            Response::decode(&response),
            &format!("stored response cannot be read: format {version} is not known, only 1"),
        );
    }
}

/// Where what follows the head of a golden record begins: its attempt, on lapse, state.
const ATTEMPT: usize = 2 + 32 + 4 * 8 + 16;
const ON_LAPSE: usize = ATTEMPT + 4;
const STATE: usize = ON_LAPSE + 1;

#[test]
fn what_no_record_can_hold_is_named() {
    let (_, live) = records().remove(0);
    let (_, completed) = records().remove(3);
    let with = |golden: &[u8], at: usize, value: u8| {
        let mut bytes = golden.to_vec();
        bytes[at] = value;
        Record::decode(&bytes)
    };
    let of_record = |why: &str| format!("stored record cannot be read: {why}");

    expect_corrupt(with(&live, ATTEMPT + 3, 0), &of_record("attempt 0"));
    expect_corrupt(with(&live, STATE, 3), &of_record("unknown state"));
    let not_a_flag = of_record("a flag is neither 0 nor 1");
    for flag in [ON_LAPSE, STATE + 9, STATE + 10, STATE + 11] {
        expect_corrupt(with(&live, flag, 2), &not_a_flag);
    }
    // The response inside has a version of its own, which stands after its length.
    expect_corrupt(
        with(&completed, STATE + 9, 2),
        "stored response cannot be read: format 2 is not known, only 1",
    );
    expect_corrupt(Record::decode(&[]), &of_record("it is cut short"));
}

#[test]
fn a_response_inside_a_record_ends_where_its_length_says() {
    let (_, completed) = records().remove(3);
    let length = STATE + 1..STATE + 9;
    let inside = completed[length.end..].len() as u64;

    let mut longer = [completed.as_slice(), &[0]].concat();
    longer[length.clone()].copy_from_slice(&(inside + 1).to_be_bytes());
    expect_corrupt(
        Record::decode(&longer),
        "stored response cannot be read: something follows its end",
    );

    let mut shorter = completed;
    shorter[length].copy_from_slice(&(inside - 1).to_be_bytes());
    expect_corrupt(
        Record::decode(&shorter),
        "stored response cannot be read: it is cut short",
    );
}

#[test]
fn a_header_name_is_utf_8() {
    let mut bytes = hex(RESPONSE);
    let first_name = 1 + 2 + 8 + 8;
    bytes[first_name] = 0xff;
    expect_corrupt(
        Response::decode(&bytes),
        "stored response cannot be read: a header name is not UTF-8",
    );
}

#[test]
fn progress_over_its_limit_is_not_read() {
    let (_, live) = records().remove(0);
    let with_progress = |length: usize| {
        let mut bytes = live.clone();
        bytes[STATE + 11] = 1;
        bytes.extend((length as u64).to_be_bytes());
        bytes.extend(vec![0; length]);
        Record::decode(&bytes)
    };
    assert!(with_progress(Progress::MAX_LEN).is_ok());
    expect_corrupt(
        with_progress(Progress::MAX_LEN + 1),
        "stored record cannot be read: progress over its limit",
    );
}

proptest! {
    #![proptest_config(proptest_config(512))]

    #[test]
    fn any_bytes_are_an_error_or_stand_for_themselves(tail in vec(any::<u8>(), 0..300)) {
        let versioned = [&[1], tail.as_slice()].concat();
        for bytes in [tail, versioned] {
            expect_canonical(&bytes, response_again);
            expect_canonical(&bytes, record_again);
        }
    }

    #[test]
    fn several_damaged_places_are_an_error_or_stand_for_themselves(
        which in 0..formats().len(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (mut bytes, again) = formats().swap_remove(which);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        expect_canonical(&bytes, again);
    }
}
