//! Hostile requests, drawn at random: the bytes to write, and what may come back.

use testkit::Rng;

use super::clients::{CLIENTS, key_of};
use super::draft::{Draft, aborted_key, payload};
use super::http2;
use super::kinds::{Exchange, Expected, KINDS, Kind, Then};
use super::nonsense::{BAD_CHUNKS, LINES, malformed, noise, odd_body};

/// Most bodies stay far below it.
pub(crate) const REQUEST_LIMIT: usize = 64 << 10;
/// Keys come again and again, so that the store's size says nothing about the number of requests.
const KEYS: u64 = 1024;

const RAN: &[u16] = &[201, 409, 422];

pub(crate) fn draw(rng: &mut Rng, number: u64) -> Exchange {
    let all: u64 = KINDS.iter().map(|(_, weight)| weight).sum();
    let mut at = rng.below(all);
    let drawn = KINDS.iter().find(|(_, weight)| {
        let here = at < *weight;
        at = at.saturating_sub(*weight);
        here
    });
    let kind = drawn.unwrap().0;
    let client = usize::try_from(rng.below(CLIENTS.len() as u64)).unwrap();
    let (writes, then, expected) = of(kind, client, number, rng);
    Exchange {
        kind,
        client,
        writes,
        then,
        expected,
    }
}

fn of(kind: Kind, client: usize, number: u64, rng: &mut Rng) -> (Vec<Vec<u8>>, Then, Expected) {
    use Kind::*;
    let read = |request: Draft, statuses| {
        let written = vec![request.line("connection", "close").bytes()];
        (written, Then::Reads, Expected::Answers(1, statuses))
    };
    let perhaps = |bytes: Vec<u8>| (vec![bytes], Then::HalfCloses, Expected::Perhaps);
    let own = |rng: &mut Rng| Draft::payment(client, client, rng.below(KEYS));
    match kind {
        Valid => read(own(rng), RAN),
        AnothersKey => {
            let other = (client + 1) % CLIENTS.len();
            read(Draft::payment(client, other, rng.below(KEYS)), RAN)
        }
        AnotherPayload => {
            let mut request = own(rng);
            request.body.push(b' ');
            request.path = "/elsewhere".into();
            read(request, RAN)
        }
        MalformedKey => read(
            Draft::keyless(client).line("idempotency-key", malformed(rng)),
            &[400],
        ),
        ManyKeyLines => {
            let lines = 2 + rng.below(40);
            let request = (0..lines).fold(Draft::keyless(client), |request, line| {
                request.line("idempotency-key", key_of(client, line / 2))
            });
            read(request, &[400])
        }
        NoKey => read(Draft::keyless(client), &[400]),
        NoCredential => {
            let mut request = own(rng);
            request.lines.retain(|(name, _)| name != "authorization");
            read(request, &[500])
        }
        // The check is that the answer is not marked: this key is fresh.
        Spoofed => {
            let key = format!("rawkey-spoofed-{number}");
            let request = Draft::keyless(client).line("idempotency-key", key);
            read(request.line("Idempotent-Replayed", "true"), &[201])
        }
        Bomb => {
            let request = own(rng).line("content-encoding", "gzip");
            // A gzip header, and bytes that deflate to very many of the same.
            let bomb = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 1 << 10]].concat();
            read(request.body(bomb), RAN)
        }
        Method => {
            let mut request = own(rng);
            // HEAD and CONNECT have answers of another framing.
            let methods = [
                "GET",
                "DELETE",
                "OPTIONS",
                "PUT",
                "MKCOL",
                "patch",
                "post",
                "!#$%&'*+-.^_`|~",
            ];
            request.method = (*rng.pick(&methods)).into();
            read(request, &[200])
        }
        Body => {
            let content_type = *rng.pick(&[
                "application/json",
                "multipart/form-data; boundary=",
                "multipart/form-data; boundary=a",
                "multipart/mixed; boundary=\"",
                ";;;",
                "application/json; charset=\"",
            ]);
            let request = Draft::keyless(client)
                .line("idempotency-key", key_of(client, KEYS + rng.below(KEYS)))
                .line("content-type", content_type);
            read(request.body(odd_body(rng)), RAN)
        }
        Chunked => {
            let request = own(rng);
            let body = request.body.clone();
            let extension = *rng.pick(&["", ";a=b", ";x=\"\\\"\"", " "]);
            let mut chunks = Vec::new();
            for piece in body.chunks(1 + rng.below(5) as usize) {
                chunks.extend(format!("{:x}{extension}\r\n", piece.len()).bytes());
                chunks.extend([piece, b"\r\n"].concat());
            }
            let trailer = *rng.pick(&[
                "",
                "idempotent-replayed: true\r\n",
                "idempotency-key: rawkey-trailer\r\n",
            ]);
            chunks.extend(format!("0\r\n{trailer}\r\n").bytes());
            read(
                request.line("transfer-encoding", "chunked").framed(chunks),
                RAN,
            )
        }
        ExpectContinue => read(own(rng).line("expect", "100-continue"), RAN),
        DeclaredTooLarge => {
            // hyper takes the largest number for a head that is too large.
            let length = *rng.pick(&["65537", "18446744073709551615", "9223372036854775807"]);
            read(
                Draft::keyed(client, "rawkey-large")
                    .line("content-length", length)
                    .framed(Vec::new()),
                &[413, 431],
            )
        }
        CountedTooLarge => {
            let request = Draft::keyed(client, "rawkey-large").line("transfer-encoding", "chunked");
            let chunk = [b"4000\r\n", &[b'x'; 0x4000][..], b"\r\n"].concat();
            perhaps(request.framed(chunk.repeat(5)).bytes())
        }
        LargeHeader => {
            let length = 8_000 + rng.below(370_000) as usize;
            read(own(rng).line("x-pad", "x".repeat(length)), RAN)
        }
        TooLargeHeader => {
            let length = 430_000 + rng.below(100_000) as usize;
            perhaps(own(rng).line("x-pad", "x".repeat(length)).bytes())
        }
        TooManyHeaders => {
            let lines = 100 + rng.below(200);
            let request = (0..lines).fold(own(rng), |request, line| {
                request.line(&format!("x-{line}"), "")
            });
            perhaps(request.bytes())
        }
        RequestLine => {
            let mut request = own(rng);
            let version = request
                .lines
                .iter()
                .position(|(name, _)| name == "host")
                .unwrap();
            request.lines.remove(version);
            let line = *rng.pick(LINES);
            perhaps([line, b"\r\nhost: service.example", &request.after_line()].concat())
        }
        HeaderBytes => {
            let name = noise(rng, 12);
            let value = noise(rng, 40);
            let colon = *rng.pick(&[&b": "[..], b":", b" : ", b"", b"\r\n"]);
            let line = [&name[..], colon, &value, b"\r\n"].concat();
            perhaps(own(rng).with_raw_line(&line))
        }
        Flipped => {
            let mut bytes = own(rng).bytes();
            for _ in 0..1 + rng.below(8) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.next() as u8;
            }
            perhaps(bytes)
        }
        Noise => perhaps(noise(rng, 2000)),
        LengthTooSmall => {
            let request = own(rng);
            let length = rng.below(request.body.len() as u64).to_string();
            let body = request.body.clone();
            perhaps(request.line("content-length", length).framed(body).bytes())
        }
        LengthTooLarge => {
            let request = Draft::aborted(client, number);
            let length = request.body.len() as u64 + 1 + rng.below(1000);
            let body = request.body.clone();
            let bytes = request
                .line("content-length", length.to_string())
                .framed(body)
                .bytes();
            (
                vec![bytes],
                *rng.pick(&[Then::HalfCloses, Then::HangsUp]),
                Expected::Perhaps,
            )
        }
        BadChunks => {
            let chunks = *rng.pick(BAD_CHUNKS);
            let request = own(rng).line("transfer-encoding", "chunked");
            perhaps(request.framed(chunks.to_vec()).bytes())
        }
        TwoFramings => {
            let length = rng.below(40).to_string();
            let coding = *rng.pick(&[
                "chunked",
                "chunked, chunked",
                "identity",
                "gzip, chunked",
                "xchunked",
            ]);
            let request = own(rng)
                .line("content-length", length)
                .line("transfer-encoding", coding);
            perhaps(
                request
                    .framed(b"5\r\nabcde\r\n0\r\n\r\nPOST /x HTTP/1.1\r\n\r\n".to_vec())
                    .bytes(),
            )
        }
        Trickle => {
            let whole = rng.one_in(2);
            let request = if whole {
                own(rng)
            } else {
                Draft::aborted(client, number)
            };
            let mut bytes = request.line("connection", "close").bytes();
            if !whole {
                bytes.truncate(bytes.len() - 1 - rng.below(8) as usize);
            }
            let (head, slow) = bytes.split_at(bytes.len() - 12);
            let mut writes = vec![head.to_vec()];
            writes.extend(slow.chunks(3).map(<[u8]>::to_vec));
            if whole {
                (writes, Then::Reads, Expected::Answers(1, RAN))
            } else {
                (writes, Then::HangsUp, Expected::Perhaps)
            }
        }
        Pipelined => {
            let requests = 2 + rng.below(7) as usize;
            let mut bytes: Vec<u8> = (1..requests).flat_map(|_| own(rng).bytes()).collect();
            bytes.extend(own(rng).line("connection", "close").bytes());
            (vec![bytes], Then::Reads, Expected::Answers(requests, RAN))
        }
        HalfClosed => perhaps(own(rng).bytes()),
        HungUp => {
            let mut bytes = own(rng).bytes();
            if rng.one_in(2) {
                bytes = Draft::aborted(client, number).bytes();
                bytes.truncate(rng.below(bytes.len() as u64) as usize);
            }
            (vec![bytes], Then::HangsUp, Expected::Perhaps)
        }
        Http2Valid => {
            let number = rng.below(KEYS);
            let bytes = http2::request(client, &key_of(client, number), &payload(client, number));
            (vec![bytes], Then::Reads, Expected::Http2Answer)
        }
        Http2Noise => (
            vec![[http2::PREFACE, &noise(rng, 400)].concat()],
            Then::HalfCloses,
            Expected::Http2,
        ),
        Http2Frames => (
            vec![http2::random_frames(client, rng)],
            Then::HalfCloses,
            Expected::Http2,
        ),
        Http2Resets => {
            let bytes = http2::resets(client, rng, KEYS);
            (vec![bytes], Then::HalfCloses, Expected::Http2)
        }
        Http2HungUp => {
            let mut bytes = http2::request(client, &aborted_key(number), b"{}");
            bytes.truncate(bytes.len() - 1 - rng.below(12) as usize);
            (vec![bytes], Then::HangsUp, Expected::Http2)
        }
    }
}

/// A request that has nothing wrong with it.
pub(crate) fn plain(client: usize, key: &str) -> Exchange {
    let request = Draft::keyed(client, key).line("connection", "close");
    Exchange {
        kind: Kind::Valid,
        client,
        writes: vec![request.bytes()],
        then: Then::Reads,
        expected: Expected::Answers(1, &[201]),
    }
}
