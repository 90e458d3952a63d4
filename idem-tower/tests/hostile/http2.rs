//! HTTP/2 by hand: as much of it as it takes to be rude.

use testkit::Rng;

use super::clients::{CLIENTS, key_of};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn begin() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

/// A header block without compression: RFC 7541, section 6.2.2.
fn block(client: usize, key: &str) -> Vec<u8> {
    // :method POST and :scheme http are in the static table.
    let mut block = vec![0x83, 0x86];
    for (name, value) in [
        (":path", "/pay"),
        (":authority", "service.example"),
        ("authorization", CLIENTS[client].credential),
        ("idempotency-key", key),
        ("content-type", "application/json"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(
                u8::try_from(text.len())
                    .ok()
                    .filter(|length| *length < 127)
                    .unwrap(),
            );
            block.extend(text.bytes());
        }
    }
    block
}

pub(crate) fn request(client: usize, key: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = begin();
    bytes.extend(frame(HEADERS, END_HEADERS, 1, &block(client, key)));
    bytes.extend(frame(DATA, END_STREAM, 1, body));
    bytes
}

/// Requests, each taken back at once.
pub(crate) fn resets(client: usize, rng: &mut Rng, keys: u64) -> Vec<u8> {
    let mut bytes = begin();
    let requests = 1 + u32::try_from(rng.below(60)).unwrap();
    for stream in (0..requests).map(|number| 2 * number + 1) {
        let block = block(client, &key_of(client, rng.below(keys)));
        let flags = END_HEADERS | if rng.one_in(2) { END_STREAM } else { 0 };
        bytes.extend(frame(HEADERS, flags, stream, &block));
        bytes.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    }
    bytes
}

/// Well-framed nonsense, with a request in front of it now and then.
pub(crate) fn random_frames(client: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = begin();
    if rng.one_in(2) {
        bytes.extend(frame(HEADERS, END_HEADERS, 1, &block(client, "rawkey-h2")));
    }
    for _ in 0..1 + rng.below(12) {
        let payload: Vec<u8> = (0..rng.below(60)).map(|_| rng.next() as u8).collect();
        let kind = rng.below(11) as u8;
        let stream = rng.below(6) as u32;
        bytes.extend(frame(kind, rng.next() as u8, stream, &payload));
    }
    bytes
}

/// Whether the answer on the first stream is there to its end.
pub(crate) fn has_answer(mut bytes: &[u8]) -> bool {
    let mut headers = false;
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let Some((_, rest)) = rest.split_at_checked(length) else {
            return false;
        };
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        headers |= (head[3], stream) == (HEADERS, 1);
        if headers && stream == 1 && head[4] & END_STREAM != 0 {
            return true;
        }
        bytes = rest;
    }
    false
}
