//! Version 1 of the algorithm, frozen. The digests were computed apart from this code, as the SHA-256
//! of these pre-images, where `[x]` stands for the length of `x` as eight bytes, big-endian, and then
//! `x`:
//!
//!     ["idem.fingerprint"] 01  and for each part:  kind [label] [bytes]
//!
//! The kind is one byte: 00 for bytes as they are, 01 for the canonical spelling of a JSON text.

use crate::Fingerprint;
use crate::digest::hex;

#[track_caller]
fn assert_digest(fingerprint: Fingerprint, expected: &str) {
    assert_eq!(fingerprint.version(), 1);
    assert_eq!(hex(fingerprint.as_bytes()), expected);
}

/// No part follows the version.
#[test]
fn no_parts() {
    assert_digest(
        Fingerprint::builder().finish(),
        "18c9553bd147f46440686d40c1994c2076d454e29dfe503ceda02132abcb17f7",
    );
}

/// `00 [""] [""]`
#[test]
fn raw_of_nothing() {
    assert_digest(
        Fingerprint::raw(""),
        "cbbf9ba8823a3a45152bbeea6d8cae0a8550ed00dff4011ce462ecc34fd12e2f",
    );
}

/// `00 [""] ["150.00"]`
#[test]
fn raw_text() {
    assert_digest(
        Fingerprint::raw("150.00"),
        "fe6046d1942dcdafdcb5df7f5db7a7312fe4bac4e4f1b62c10d308435848206a",
    );
}

/// `00 [""] [00 ff]`
#[test]
fn raw_bytes() {
    assert_digest(
        Fingerprint::raw(b"\x00\xff"),
        "47c132788823f59fe8b584acf703532f0705f39bc73f56e0aac99f12b076d8b7",
    );
}

/// `00 ["method"] ["POST"] 00 ["path"] ["/payments?dry=1"] 00 ["body"] [""]`
#[test]
fn several_parts_and_an_empty_body() {
    assert_digest(
        Fingerprint::builder()
            .bytes("method", "POST")
            .bytes("path", "/payments?dry=1")
            .bytes("body", "")
            .finish(),
        "bc85215f0681d70f2fe54a926438e29fa7142d2ad0a4ad8329b3f85f70ac05e8",
    );
}

/// `00 ["method"] ["POST"] 00 ["path"] ["/payments"] 01 ["body"] [{"amount":1.5,"to":"ana"}]`
#[test]
fn a_payment() {
    assert_digest(
        Fingerprint::builder()
            .bytes("method", "POST")
            .bytes("path", "/payments")
            .json("body", r#"{ "to": "\u0061na", "amount": 15.0e-1 }"#)
            .finish(),
        "0e3af80f1dbfa2daaf618f594d295ce168756d1a62fd55e5c99ae6b9074d5682",
    );
}

/// `01 ["body"] [{}]`
#[test]
fn an_empty_object() {
    assert_digest(
        super::json(" { } "),
        "354c50558138c92ffcccdc929585eae31c80369ced894778cf24e241030317c9",
    );
}

/// `01 ["body"] ["1"]`, the string with its quotes
#[test]
fn a_string() {
    assert_digest(
        super::json(r#""\u0031""#),
        "cce2a1dcc058715059469f8ac8434cf5d602255f616b6082b7a29088f2c66439",
    );
}

/// `01 ["body"] [1]`
#[test]
fn a_number() {
    assert_digest(
        super::json("1.0"),
        "7b9f5ca61dc3d3c54f12c934c7ab61b9701c5ee1cba56604cb4e5dd1e92120b8",
    );
}

/// `01 ["a"] [true] 01 ["b"] [[[],{}]]`
#[test]
fn two_json_parts() {
    assert_digest(
        Fingerprint::builder()
            .json("a", "true")
            .json("b", "[ [], {} ]")
            .finish(),
        "4f08ea6a737fa236ab1bf23d414e934b844e0ab6318cc44b41cda6577aad3002",
    );
}

/// `01 ["body"]` and the length-prefixed UTF-8 of
/// `{"ö":[1e+400,-0.000001,9007199254740993,100000000000000000000],"😂":"\"\\\b\u001f/€","דּ":null}`,
/// its members in the order of UTF-16 code units.
#[test]
fn names_numbers_and_escapes() {
    let text = r#"{
        "\ufb33": null,
        "\ud83d\ude02": "\"\u005C\u0008\u001F\/\u20ac",
        "\u00f6": [1E400, -1e-6, 9007199254740993, 1e20]
    }"#;
    assert_digest(
        super::json(text),
        "36cd6578735fb71008d34b4eed839c1b4f267ffe21898400f380bcf55509c0f5",
    );
}

/// `00 ["body"]` and the text, byte for byte
#[test]
fn what_is_not_plain_json() {
    let texts: [(&[u8], &str); 4] = [
        (
            b"",
            "9fcc3fce4c41a46ed28ac02977a6be1e41b1dd2b807d0512bc6a6fbf17e8b38c",
        ),
        (
            b"amount=150",
            "bfb66be9f586a55f7bc0b7740cc0d4e7f33afec67acd98a7973a88dff4d950ba",
        ),
        (
            br#"{"a":1,"a":2}"#,
            "e256f657c972f24a9b189b5c7e4f7adff83373a82db95f544d035a14e5cb76cc",
        ),
        (
            b"\"\xff\"",
            "a5e6e9e5672733ed2ede1ca783520f339ac53eff3fbb4812cfd633f002193ef3",
        ),
    ];
    for (text, expected) in texts {
        assert_digest(super::json(text), expected);
    }
}
