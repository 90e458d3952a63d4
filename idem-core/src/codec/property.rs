//! What holds of the formats, whatever the bytes: for the tests, and for the fuzz target
//! `record_codec`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::time::Duration;

use bytes::Bytes;

use crate::machine::{InFlight, Record, State};
use crate::{Answer, Error, Fingerprint, OnLapse, Progress, Response, Timestamp, Token};

/// Reads the bytes as each format; and writes and reads values that are made out of the bytes.
///
/// # Panics
/// If what is read is not written as the same bytes, or what is written is not read as the same value.
pub fn check(bytes: &[u8]) {
    check_reading(bytes, Response::decode, Response::encode);
    check_reading(bytes, Record::decode, Record::encode);

    let response = Draw(bytes).response();
    let written = response.encode();
    assert_eq!(written.len(), response.encoded_len());
    assert!(Response::decode(&written).unwrap() == response);

    let record = Draw(bytes).record();
    assert!(Record::decode(&record.encode()).unwrap() == record);
}

fn check_reading<T>(
    bytes: &[u8],
    decode: fn(&[u8]) -> Result<T, Error>,
    encode: fn(&T) -> Vec<u8>,
) {
    match decode(bytes) {
        Ok(value) => assert_eq!(encode(&value), bytes),
        Err(error) => assert!(error.is_corrupt(), "{error}"),
    }
}

/// Makes values out of arbitrary bytes; zeros follow their end.
struct Draw<'a>(&'a [u8]);

impl Draw<'_> {
    fn record(&mut self) -> Record {
        Record {
            fingerprint: Fingerprint::from_parts(self.byte(), self.array()),
            first_reserved: self.timestamp(),
            last_reserved: self.timestamp(),
            retention: Duration::from_millis(self.number()),
            retention_end: self.timestamp(),
            token: Token::from_bytes(self.array()),
            attempt: u32::from_be_bytes(self.array()).max(1),
            on_lapse: match self.flag() {
                false => OnLapse::RunAgain,
                true => OnLapse::Hold,
            },
            state: match self.byte() % 3 {
                0 => State::InFlight(InFlight {
                    lease_end: self.timestamp(),
                    abandoned: self.flag(),
                    started: self.flag(),
                    progress: self
                        .flag()
                        .then(|| Progress::new(self.some_bytes()).unwrap()),
                }),
                1 => State::Completed(Answer::Full(self.response())),
                _ => State::Completed(Answer::NotRetained {
                    status: u16::from_be_bytes(self.array()),
                    body_length: self.number(),
                }),
            },
        }
    }

    fn response(&mut self) -> Response {
        let mut response = Response::new(u16::from_be_bytes(self.array()));
        for _ in 0..self.byte() % 4 {
            response = response.header(self.text(), self.some_bytes());
        }
        response = response.body(self.some_bytes());
        for _ in 0..self.byte() % 4 {
            response = response.trailer(self.text(), self.some_bytes());
        }
        response
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.some_bytes()).into_owned()
    }

    fn some_bytes(&mut self) -> Bytes {
        let length = self.byte().into();
        Bytes::copy_from_slice(self.take(length))
    }

    fn timestamp(&mut self) -> Timestamp {
        Timestamp::from_millis(self.number())
    }

    fn number(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    fn byte(&mut self) -> u8 {
        u8::from_be_bytes(self.array())
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.take(N);
        let mut array = [0; N];
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// So many bytes, or as many as are left.
    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
