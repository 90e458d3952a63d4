//! The lines of a request's head.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::key_header::{Malformed, Reason, read};

const NAME: HeaderName = HeaderName::from_static("idempotency-key");

fn head(lines: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static("example"));
    for line in lines {
        headers.append(NAME, HeaderValue::from_bytes(line).unwrap());
    }
    headers
}

#[test]
fn no_line_is_no_key() {
    assert_eq!(read(&head(&[]), &NAME), Ok(None));
}

#[test]
fn one_line_is_a_key_or_malformed() {
    let key = read(&head(&[b"order-17"]), &NAME).unwrap().unwrap();
    assert_eq!(key.as_str(), "order-17");
    let quoted = read(&head(&[b"\"order-17\""]), &NAME).unwrap().unwrap();
    assert_eq!(key, quoted);

    let length = |length| Err(Malformed(Reason::Length(length)));
    assert_eq!(read(&head(&[b""]), &NAME), length(0));
    assert_eq!(read(&head(&[b"  "]), &NAME), length(0));
    assert_eq!(read(&head(&[b"\t"]), &NAME), Err(Malformed(Reason::Bare)));
    assert_eq!(read(&head(&[&[b'k'; 256]]), &NAME), length(256));
}

#[test]
fn bytes_that_are_no_text_are_malformed() {
    for line in [&b"\xff"[..], b"\"\xff\"", b"order-17\xc3"] {
        assert!(read(&head(&[line]), &NAME).is_err());
    }
}

#[test]
fn more_than_one_line_is_malformed_even_if_they_are_equal_or_blank() {
    for lines in [
        &[&b"a"[..], b"b"][..],
        &[b"a", b"a"],
        &[b"", b"a"],
        &[b"a", b""],
        &[b"\"foo", b"bar\""],
        &[b"a", b"b", b"c"],
    ] {
        assert_eq!(
            read(&head(lines), &NAME),
            Err(Malformed(Reason::SeveralLines))
        );
    }
}

#[test]
fn only_the_header_of_that_name_is_read() {
    let name = HeaderName::from_static("x-request-key");
    assert_eq!(read(&head(&[b"order-17"]), &name), Ok(None));
}

/// `Malformed` goes into answers and logs.
#[test]
fn what_is_refused_is_not_repeated() {
    for line in [
        &b"secret secret"[..],
        b"\"secret",
        b"\"secret\\secret\"",
        b"\"secret\"secret",
        b"\"secret\xff\"",
        &b"secret".repeat(100),
    ] {
        let refused = read(&head(&[line]), &NAME).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("secret"));
    }
}
