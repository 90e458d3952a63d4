//! The binary form of a response and of a record: a version byte first, big-endian integers, lengths
//! before contents, and nothing after the end.
//!
//! Every released version is frozen by golden bytes in the tests: stored records outlive upgrades.
//! Reading never trusts a length further than the bytes that are there.

#[cfg(any(test, idem_fuzz))]
pub(crate) mod property;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;

use crate::machine::{InFlight, Record, State};
use crate::response::Header;
use crate::time::{Timestamp, millis_rounded_up};
use crate::{Answer, Error, Fingerprint, OnLapse, Progress, Response, Token};

const RESPONSE_VERSION: u8 = 1;
const RECORD_VERSION: u8 = 1;

pub(crate) fn encode_response(response: &Response) -> Vec<u8> {
    let mut out = Vec::with_capacity(response_len(response));
    out.push(RESPONSE_VERSION);
    out.extend(response.status().to_be_bytes());
    write_lines(&mut out, response.headers());
    write_bytes(&mut out, response.body_bytes());
    write_lines(&mut out, response.trailers());
    out
}

pub(crate) fn response_len(response: &Response) -> usize {
    let lines = |lines: &[Header]| {
        let line = |line: &Header| 16 + line.name.len() + line.value.len();
        8 + lines.iter().map(line).sum::<usize>()
    };
    1 + 2 + lines(response.headers()) + 8 + response.body_bytes().len() + lines(response.trailers())
}

pub(crate) fn decode_response(bytes: &[u8]) -> Result<Response, Error> {
    let mut input = Reader::new("response", bytes);
    input.version(RESPONSE_VERSION)?;
    let mut response = Response::new(input.u16()?);
    for (name, value) in input.lines()? {
        response = response.header(name, value);
    }
    response = response.body(Bytes::copy_from_slice(input.bytes()?));
    for (name, value) in input.lines()? {
        response = response.trailer(name, value);
    }
    input.end()?;
    Ok(response)
}

pub(crate) fn encode_record(record: &Record) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION, record.fingerprint.version()];
    out.extend(record.fingerprint.as_bytes());
    out.extend(record.first_reserved.as_millis().to_be_bytes());
    out.extend(record.last_reserved.as_millis().to_be_bytes());
    out.extend(millis_rounded_up(record.retention).to_be_bytes());
    out.extend(record.retention_end.as_millis().to_be_bytes());
    out.extend(record.token.as_bytes());
    out.extend(record.attempt.to_be_bytes());
    out.push(match record.on_lapse {
        OnLapse::RunAgain => 0,
        OnLapse::Hold => 1,
    });
    match &record.state {
        State::InFlight(flight) => {
            out.push(0);
            out.extend(flight.lease_end.as_millis().to_be_bytes());
            out.push(u8::from(flight.abandoned));
            out.push(u8::from(flight.started));
            match &flight.progress {
                None => out.push(0),
                Some(progress) => {
                    out.push(1);
                    write_bytes(&mut out, progress.as_bytes());
                }
            }
        }
        State::Completed(answer) => encode_answer(&mut out, answer),
    }
    out
}

pub(crate) fn decode_record(bytes: &[u8]) -> Result<Record, Error> {
    let mut input = Reader::new("record", bytes);
    input.version(RECORD_VERSION)?;
    let fingerprint_version = input.u8()?;
    let record = Record {
        fingerprint: Fingerprint::from_parts(fingerprint_version, input.array()?),
        first_reserved: input.timestamp()?,
        last_reserved: input.timestamp()?,
        retention: Duration::from_millis(input.u64()?),
        retention_end: input.timestamp()?,
        token: Token::from_bytes(input.array()?),
        attempt: match input.u32()? {
            0 => return Err(input.corrupt("attempt 0")),
            attempt => attempt,
        },
        on_lapse: if input.flag()? {
            OnLapse::Hold
        } else {
            OnLapse::RunAgain
        },
        state: match input.u8()? {
            0 => State::InFlight(InFlight {
                lease_end: input.timestamp()?,
                abandoned: input.flag()?,
                started: input.flag()?,
                progress: match input.flag()? {
                    false => None,
                    true => match Progress::new(Bytes::copy_from_slice(input.bytes()?)) {
                        Ok(progress) => Some(progress),
                        Err(_) => return Err(input.corrupt("progress over its limit")),
                    },
                },
            }),
            tag => State::Completed(decode_answer_tagged(tag, &mut input)?),
        },
    };
    input.end()?;
    Ok(record)
}

/// With a tag of 1 or 2: in a record, 0 is a state of its own.
pub(crate) fn encode_answer(out: &mut Vec<u8>, answer: &Answer) {
    match answer {
        Answer::Full(response) => {
            out.push(1);
            write_bytes(out, &encode_response(response));
        }
        Answer::NotRetained {
            status,
            body_length,
        } => {
            out.push(2);
            out.extend(status.to_be_bytes());
            out.extend(body_length.to_be_bytes());
        }
    }
}

pub(crate) fn decode_answer(input: &mut Reader<'_>) -> Result<Answer, Error> {
    let tag = input.u8()?;
    decode_answer_tagged(tag, input)
}

fn decode_answer_tagged(tag: u8, input: &mut Reader<'_>) -> Result<Answer, Error> {
    match tag {
        1 => Ok(Answer::Full(decode_response(input.bytes()?)?)),
        2 => Ok(Answer::NotRetained {
            status: input.u16()?,
            body_length: input.u64()?,
        }),
        _ => Err(input.corrupt("unknown state")),
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_be_bytes());
    out.extend(bytes);
}

fn write_lines(out: &mut Vec<u8>, lines: &[Header]) {
    out.extend((lines.len() as u64).to_be_bytes());
    for line in lines {
        write_bytes(out, line.name.as_bytes());
        write_bytes(out, &line.value);
    }
}

/// Takes fields from the front of what is left.
pub(crate) struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes }
    }

    pub(crate) fn corrupt(&self, why: &str) -> Error {
        Error::corrupt(format!("stored {} cannot be read: {why}", self.what))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| self.corrupt("it is cut short"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn timestamp(&mut self) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_millis(self.u64()?))
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.corrupt("a flag is neither 0 nor 1")),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = self.u64()?;
        // A length that does not fit into memory is longer than what is left, too.
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn lines(&mut self) -> Result<Vec<(String, Bytes)>, Error> {
        let count = self.u64()?;
        // Grows with what is really there: the count alone reserves nothing.
        let mut lines = Vec::new();
        for _ in 0..count {
            let name = std::str::from_utf8(self.bytes()?)
                .map_err(|_| self.corrupt("a header name is not UTF-8"))?
                .to_owned();
            lines.push((name, Bytes::copy_from_slice(self.bytes()?)));
        }
        Ok(lines)
    }

    pub(crate) fn version(&mut self, known: u8) -> Result<(), Error> {
        match self.u8()? {
            version if version == known => Ok(()),
            version => Err(self.corrupt(&format!("format {version} is not known, only {known}"))),
        }
    }

    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.corrupt("something follows its end"))
        }
    }
}
