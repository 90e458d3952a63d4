//! Keys, bodies and lines that are not what they should be.

use testkit::Rng;

use super::requests::REQUEST_LIMIT;

pub(crate) fn malformed(rng: &mut Rng) -> Vec<u8> {
    match rng.below(8) {
        0 => Vec::new(),
        1 => b"\"\"".to_vec(),
        2 => b"\"rawkey".to_vec(),
        3 => b"rawkey,rawkey".to_vec(),
        4 => b"\"rawkey\"; =".to_vec(),
        5 => b"raw\xc3\xa9key".to_vec(),
        6 => vec![b'x'; 256 + rng.below(8_000) as usize],
        _ => [b"rawkey ", &[0x80 | rng.next() as u8][..], b"\""].concat(),
    }
}

pub(crate) fn odd_body(rng: &mut Rng) -> Vec<u8> {
    match rng.below(5) {
        0 => vec![b'['; 1 + rng.below(REQUEST_LIMIT as u64) as usize],
        1 => format!("{}1e{}", "-".repeat(rng.below(2) as usize), rng.next()).into(),
        2 => b"--a\r\n\r\n--a--\r\n--a".repeat(1 + rng.below(200) as usize),
        3 => r#"{"a":"\ud800","a":1}"#.into(),
        _ => noise(rng, 3000),
    }
}

pub(crate) fn noise(rng: &mut Rng, longest: u64) -> Vec<u8> {
    let length = rng.below(longest);
    (0..length).map(|_| rng.next() as u8).collect()
}

pub(crate) const LINES: &[&[u8]] = &[
    b"",
    b"POST",
    b"POST /pay",
    b"POST  /pay HTTP/1.1",
    b" POST /pay HTTP/1.1",
    b"POST /pay HTTP/1.1 x",
    b"POST /pay HTTP/9.9",
    b"POST /pay HTTP/1.0",
    b"POST /pay http/1.1",
    b"POST /p\0ay HTTP/1.1",
    b"POST /p\xffay HTTP/1.1",
    b"POST pay HTTP/1.1",
    b"POST http://[::1 HTTP/1.1",
    b"POST http://elsewhere.example/pay HTTP/1.1",
    b"POST * HTTP/1.1",
    b"POST //?#%zz HTTP/1.1",
    b"P\x7fST /pay HTTP/1.1",
    b"PRI * HTTP/2.0",
];

pub(crate) const BAD_CHUNKS: &[&[u8]] = &[
    b"",
    b"zz\r\n",
    b"-1\r\nx\r\n0\r\n\r\n",
    b"5\r\nabc",
    b"5\r\nabcdefgh\r\n0\r\n\r\n",
    b"ffffffffffffffff\r\nabc",
    b"10000000000000000\r\nabc",
    b"5\nabcde\n0\n\n",
    b"5;\x00\r\nabcde\r\n0\r\n\r\n",
    b"0\r\nno trailer\r\n\r\n",
    b"0\r\n",
    b"\r\n\r\n",
];
