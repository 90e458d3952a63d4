//! The rules, frozen: records outlive the release that wrote them. The digests were computed apart from
//! this code, as the SHA-256 of the parts that are named here, framed as the golden vectors of
//! `idem_core::Fingerprint` are: `["idem.fingerprint"] 01`, and for each part `kind [label] [bytes]`.

use std::fmt::Write as _;

use super::{Lines, fingerprint, of_type};
use idem_core::Fingerprint;

#[track_caller]
fn assert_digest(fingerprint: Fingerprint, expected: &str) {
    let digest = fingerprint.as_bytes().iter();
    let hex = digest.fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    assert_eq!(hex, expected);
}

/// `00 ["body"] [""]`
#[test]
fn nothing() {
    assert_digest(
        fingerprint(&[], ""),
        "9fcc3fce4c41a46ed28ac02977a6be1e41b1dd2b807d0512bc6a6fbf17e8b38c",
    );
}

/// `00 ["content-type"] ["Text/Plain; charset=utf-8"] 00 ["body"] ["150.00"]`
#[test]
fn text() {
    assert_digest(
        of_type("Text/Plain; charset=utf-8", "150.00"),
        "ba0c05d0b341cf730cc3a595584fff50912b522ffd5d15dd79eca1291a75d0db",
    );
}

/// `00 ["content-type"] ["application/json"] 01 ["body"] [{"amount":1.5,"to":"ana"}]`
#[test]
fn json() {
    assert_digest(
        of_type(
            "Application/JSON; charset=utf-8",
            r#"{ "to": "ana", "amount": 1.50 }"#,
        ),
        "43b617835e4d6ef69c9994954b7fdc18b499822557f8d324f0c309fb7b04c8e6",
    );
}

/// `00 ["content-type"] ["application/json"] 00 ["body"] [{"amount":]`
#[test]
fn json_that_is_cut() {
    assert_digest(
        of_type("application/json; charset=utf-8", r#"{"amount":"#),
        "532a423702716b862a9c2aa9394dfe70a287fcf465e23a7b15ece465cbdc8e5e",
    );
}

/// `00 ["content-encoding"] ["gzip"] 00 ["content-type"] ["application/json"] 00 ["body"] [1f 8b 08]`
#[test]
fn gzip() {
    let lines: Lines<'_> = &[
        ("content-type", b"application/json"),
        ("content-encoding", b"gzip"),
    ];
    assert_digest(
        fingerprint(lines, b"\x1f\x8b\x08"),
        "703d8ebb65a0c431d1e9e9830cb36af1a1f1a37d4753936c81869df440ef603a",
    );
}

/// `00 ["content-type"] ["text/plain"] 00 ["content-type"] ["text/html"] 00 ["body"] ["a"]`
#[test]
fn two_content_types() {
    let lines: Lines<'_> = &[
        ("content-type", b"text/plain"),
        ("content-type", b"text/html"),
    ];
    assert_digest(
        fingerprint(lines, "a"),
        "791147de5fd9070e1b9ed354b90c4db7614e2fb6082e04fb4b49f9bda588d52c",
    );
}

/// `00 ["content-type"] ["multipart/form-data"]`, for each part `00 ["part"]` and the bytes from one
/// delimiter to the next, `00 ["parts"]` and their number as eight bytes, `00 ["end"] [-- CRLF]`
#[test]
fn form_data() {
    let body = "--b\r\ncontent-disposition: form-data; name=\"to\"\r\n\r\nana\r\n\
                --b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n17\r\n--b--\r\n";
    assert_digest(
        of_type("multipart/form-data; boundary=b", body),
        "797681ca907ea28570b879059501ceacfb5ee3113cd05dc7c00c742852bc56e1",
    );
}

/// After the content type: `00 ["content-type-parameter"] [start="<a>"]`. The end is `--`.
#[test]
fn multipart_with_a_parameter() {
    assert_digest(
        of_type(
            "multipart/related; boundary=b; Start=\"<a>\"",
            "--b\r\n\r\na\r\n--b--",
        ),
        "4bf7c55468285be58b67323f9409cba2e24a5090393e9aca3f57e398acf1635a",
    );
}

/// `00 ["content-type"] ["multipart/mixed; boundary=b"] 00 ["body"]` and the body
#[test]
fn multipart_without_an_end() {
    assert_digest(
        of_type("multipart/mixed; boundary=b", "--b\r\n\r\na\r\n"),
        "5fc62c079be1e451c316390868ade2837e14ecfda1991a3d0cc2b91b3f619aa7",
    );
}
