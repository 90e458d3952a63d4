//! Parts, labels and kinds.

use super::{bytes, json};
use crate::Fingerprint;

fn request(method: &str, path: &str, body: &str) -> Fingerprint {
    Fingerprint::builder()
        .bytes("method", method)
        .bytes("path", path)
        .bytes("body", body)
        .finish()
}

#[test]
fn parts_do_not_run_into_each_other() {
    let requests = [
        ("a", "b|c", "d"),
        ("a|b", "c", "d"),
        ("a", "b", "c|d"),
        ("POST", "/p", "x"),
        ("POST/", "p", "x"),
        ("POST", "/px", ""),
        ("", "POST/p", "x"),
        ("POST", "", "/px"),
        // Without lengths, these two would be hashed alike.
        ("POST", "/p\0body", "x"),
        ("POST", "/p", "\0bodyx"),
        ("POST", "?a=&a=b&c=", ""),
        ("POST", "?a=&b=c&b=", ""),
    ];
    for (i, (method, path, body)) in requests.into_iter().enumerate() {
        for (method2, path2, body2) in requests.into_iter().skip(i + 1) {
            assert_ne!(
                request(method, path, body),
                request(method2, path2, body2),
                "{method} {path} {body} and {method2} {path2} {body2}"
            );
        }
    }
}

#[test]
fn a_label_does_not_run_into_its_bytes() {
    let part = |label, text| Fingerprint::builder().bytes(label, text).finish();
    assert_ne!(part("ab", "c"), part("a", "bc"));
    assert_ne!(part("", "abc"), part("abc", ""));
}

#[test]
fn every_byte_of_the_query_counts() {
    let queries = [
        "/p",
        "/p?",
        "/p?dry=1",
        "/p?a=1&b=2",
        "/p?b=2&a=1",
        "/p?a=1&a=2",
        "/p?a=2&a=1",
        "/p?a",
        "/p?a=",
        "/p?a=%20",
        "/p?a=+",
        "/p?x=%2F",
        "/p?x=/",
    ];
    for (i, query) in queries.into_iter().enumerate() {
        for other in queries.into_iter().skip(i + 1) {
            assert_ne!(
                request("POST", query, "{}"),
                request("POST", other, "{}"),
                "{query} and {other}"
            );
        }
    }
}

#[test]
fn order_labels_and_number_of_parts_count() {
    let ab = Fingerprint::builder().bytes("a", "1").bytes("b", "2");
    let ba = Fingerprint::builder().bytes("b", "2").bytes("a", "1");
    let swapped = Fingerprint::builder().bytes("a", "2").bytes("b", "1");
    let with_empty = ab.clone().bytes("", "");
    assert_ne!(ab.clone().finish(), ba.finish());
    assert_ne!(ab.clone().finish(), swapped.finish());
    assert_ne!(ab.finish(), with_empty.finish());
}

#[test]
fn a_json_part_is_not_the_same_bytes_as_a_raw_part() {
    assert_eq!(super::spelling("{}"), "{}");
    assert_ne!(json("{}"), bytes("{}"));
}

#[test]
fn the_version_tells_fingerprints_apart() {
    let fingerprint = Fingerprint::raw("150.00");
    let kept = Fingerprint::from_parts(fingerprint.version(), *fingerprint.as_bytes());
    let newer = Fingerprint::from_parts(fingerprint.version() + 1, *fingerprint.as_bytes());
    assert_eq!(fingerprint, kept);
    assert_ne!(fingerprint, newer);
}

#[test]
fn debug_shows_neither_digest_nor_parts() {
    let builder = Fingerprint::builder().bytes("secret label", "secret");
    assert_eq!(format!("{builder:?}"), "FingerprintBuilder(..)");
    assert_eq!(format!("{:?}", builder.finish()), "Fingerprint(v1)");
}
