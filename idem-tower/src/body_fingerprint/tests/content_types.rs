//! What is taken byte for byte, and what its content type and encoding add.

use super::{Lines, assert_all_differ, fingerprint, of_type};

#[test]
fn the_order_of_a_forms_fields_counts() {
    let form = |body| of_type("application/x-www-form-urlencoded", body);
    assert_eq!(form("a=1&b=2"), form("a=1&b=2"));
    assert_ne!(form("a=1&b=2"), form("b=2&a=1"));
    assert_ne!(form("a=1"), form("a=%31"));
}

#[test]
fn the_same_bytes_of_another_content_type_differ() {
    let types = [
        "",
        "text/plain",
        "text/plain; charset=utf-8",
        "text/plain; charset=latin1",
        "text/plain;charset=utf-8",
        "TEXT/PLAIN",
        "text/xml",
        "text",
        "application/octet-stream",
        "application/json",
        "multipart/form-data",
        "multipart/form-data; boundary=b",
        "multipart/form-data; boundary=c",
        "multipart/mixed; boundary=b",
    ];
    for body in ["", "17", "--b\r\n\r\n17\r\n--b--x"] {
        assert_all_differ(&types.map(|content_type| (content_type, of_type(content_type, body))));
        assert!(
            types
                .iter()
                .all(|other| of_type(other, body) != fingerprint(&[], body))
        );
    }
}

#[test]
fn each_line_of_the_head_counts() {
    const JSON: (&str, &[u8]) = ("content-type", b"application/json");
    const TEXT: (&str, &[u8]) = ("content-type", b"text/plain");
    const BOTH: (&str, &[u8]) = ("content-type", b"application/json, text/plain");
    const GZIP: (&str, &[u8]) = ("content-encoding", b"gzip");
    const BR: (&str, &[u8]) = ("content-encoding", b"br");
    const IDENTITY: (&str, &[u8]) = ("content-encoding", b"identity");
    let heads: [(&str, Lines<'_>); 16] = [
        ("none", &[]),
        ("empty type", &[("content-type", b"")]),
        (
            "two empty types",
            &[("content-type", b""), ("content-type", b"")],
        ),
        ("json", &[JSON]),
        ("json twice", &[JSON, JSON]),
        ("json, text", &[JSON, TEXT]),
        ("text, json", &[TEXT, JSON]),
        ("both in a line", &[BOTH]),
        ("not ASCII", &[("content-type", b"text/\xff")]),
        ("gzip", &[GZIP]),
        ("gzip twice", &[GZIP, GZIP]),
        ("gzip, br", &[GZIP, BR]),
        ("br, gzip", &[BR, GZIP]),
        ("gzip json", &[GZIP, JSON]),
        ("identity twice", &[IDENTITY, IDENTITY]),
        ("gzip as a type", &[("content-type", b"gzip")]),
    ];
    assert_all_differ(&heads.map(|(name, lines)| (name, fingerprint(lines, "[1]"))));
    // How lines of different names are mixed does not reach the server as a rule.
    assert_eq!(
        fingerprint(&[GZIP, JSON], "[1]"),
        fingerprint(&[JSON, GZIP], "[1]")
    );
    assert_eq!(fingerprint(&[IDENTITY], "[1]"), fingerprint(&[], "[1]"));
}

#[test]
fn other_headers_do_not_count() {
    let date: (&str, &[u8]) = ("date", b"Tue, 15 Nov 1994 08:12:31 GMT");
    assert_eq!(fingerprint(&[date], "a"), fingerprint(&[], "a"));
}

#[test]
fn an_empty_body_of_any_type_is_equal_to_itself_and_to_no_other_body() {
    for content_type in [
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=b",
    ] {
        assert_eq!(of_type(content_type, []), of_type(content_type, ""));
        for other in ["\0", " ", "{}", "null", "\r\n", "--b--"] {
            assert_ne!(of_type(content_type, ""), of_type(content_type, other));
        }
    }
}

#[test]
fn what_was_added_before_counts_too() {
    let after = |method| {
        let builder = idem_core::Fingerprint::builder().bytes("method", method);
        super::super::add(builder, &http::HeaderMap::new(), b"a").finish()
    };
    assert_ne!(after("POST"), after("PATCH"));
}
