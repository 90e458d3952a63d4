//! Which bodies ask for the same, and which are too large or never arrive.

use super::problems::{body_too_large, key_missing, key_reused};
use super::row::{Row, answer, json, keyless, no_answer, post, ran, replay, reply, row, typed};

const FORM: &str = "application/x-www-form-urlencoded";
const MIB: usize = 1 << 20;

/// What gzip makes of `{"a":1}`; in the second, its header holds another time.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xabVJT\xb2\x32\xac\x05\x00";
const GZIP_LATER: &[u8] = b"\x1f\x8b\x08\x00\x01\x00\x00\x00\x02\xff\xabVJT\xb2\x32\xac\x05\x00";

const UPLOAD: &str = "--b1\r\n\
    Content-Disposition: form-data; name=\"to\"\r\n\r\nana\r\n--b1\r\n\
    Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b1--\r\n";
const SWAPPED: &str = "--b1\r\n\
    Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b1\r\n\
    Content-Disposition: form-data; name=\"to\"\r\n\r\nana\r\n--b1--\r\n";

fn upload(boundary: &str) -> String {
    UPLOAD.replace("b1", boundary)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = json_bodies();
    rows.extend(other_types());
    rows.extend(framing());
    rows.extend(limits());
    rows
}

fn json_bodies() -> Vec<Row> {
    vec![
        row("JSON may change its white space and the order of its members")
            .first(json(r#"{"to":"ana","amount":5}"#), ran(1))
            .second(
                json("{\n  \"amount\": 5,\n  \"to\": \"ana\"\n}\n"),
                replay(1),
            )
            .runs(1),
        row("JSON with another value is another request")
            .first(json(r#"{"amount":5}"#), ran(1))
            .second(json(r#"{"amount":50}"#), key_reused())
            .runs(1),
        row("JSON with one member more is another request")
            .first(json(r#"{"amount":5}"#), ran(1))
            .second(json(r#"{"amount":5,"currency":null}"#), key_reused())
            .runs(1),
        row("a number is one however it is spelt")
            .first(json("[1, 150, 0.5, 1000]"), ran(1))
            .second(json("[1.0, 1.50e2, 5E-1, 1e+3]"), replay(1))
            .runs(1),
        row("a number is no text")
            .first(json(r#"{"amount":5}"#), ran(1))
            .second(json(r#"{"amount":"5"}"#), key_reused())
            .runs(1),
        row("integers beyond 2^53 are not rounded to one")
            .first(json(r#"{"amount":9007199254740993}"#), ran(1))
            .second(json(r#"{"amount":9007199254740992}"#), key_reused())
            .runs(1),
        row("fractions are not rounded to one")
            .first(json("0.1"), ran(1))
            .second(json("0.1000000000000000055511151231257827"), key_reused())
            .runs(1),
        row("an escape is the letter that it stands for")
            .first(json(r#"{"name":"ana/b"}"#), ran(1))
            .second(json(r#"{"\u006eame":"\u0061na\/b"}"#), replay(1))
            .runs(1),
        row("the order of an array counts")
            .first(json("[1,2]"), ran(1))
            .second(json("[2,1]"), key_reused())
            .runs(1),
        row("with a member twice, JSON is compared byte for byte")
            .first(json(r#"{"a":1,"a":2}"#), ran(1))
            .second(json(r#"{"a":2}"#), key_reused())
            .runs(1),
        row("with a member twice, the same bytes are replayed, and other spaces are not")
            .first(json(r#"{"a":1,"a":2}"#), ran(1))
            .second(json(r#"{"a":1, "a":2}"#), key_reused())
            .runs(1),
        row("what is no JSON is replayed for the same bytes")
            .twice(json(r#"{"a":1,}"#), ran(1), replay(1))
            .runs(1),
        row("what is no JSON is compared byte for byte")
            .first(json(r#"{"a":1,}"#), ran(1))
            .second(json(r#"{"a": 1,}"#), key_reused())
            .runs(1),
        row("the charset of JSON, and the case of its type, do not count")
            .first(typed("application/json", r#"{"a":1}"#), ran(1))
            .second(
                typed("Application/JSON; charset=utf-8", r#"{ "a": 1 }"#),
                replay(1),
            )
            .runs(1),
        row("any +json is JSON")
            .first(
                typed("application/vnd.api+json", r#"{"a":1,"b":2}"#),
                ran(1),
            )
            .second(
                typed("application/vnd.api+json", r#"{"b":2,"a":1}"#),
                replay(1),
            )
            .runs(1),
        row("a parameter that is not the charset is another request")
            .first(typed("application/json; version=1", r#"{"a":1}"#), ran(1))
            .second(
                typed("application/json; version=2", r#"{"a":1}"#),
                key_reused(),
            )
            .runs(1),
        row("with such a parameter JSON is compared as JSON all the same")
            .first(
                typed("application/json; version=1", r#"{"a":1,"b":2}"#),
                ran(1),
            )
            .second(
                typed(
                    "application/json; charset=utf-8; version=1",
                    r#"{"b":2,"a":1}"#,
                ),
                replay(1),
            )
            .runs(1),
        row("another type of JSON is another request")
            .first(typed("application/json", r#"{"a":1}"#), ran(1))
            .second(
                typed("application/merge-patch+json", r#"{"a":1}"#),
                key_reused(),
            )
            .runs(1),
        row("two content types are none that is certain: bytes count")
            .first(
                json("[1]").header("content-type", "application/json"),
                ran(1),
            )
            .second(
                json("[1.0]").header("content-type", "application/json"),
                key_reused(),
            )
            .runs(1),
    ]
}

fn other_types() -> Vec<Row> {
    vec![
        row("JSON that says that it is text is text")
            .first(typed("text/plain", r#"{"a":1}"#), ran(1))
            .second(typed("text/plain", r#"{ "a": 1 }"#), key_reused())
            .runs(1),
        row("another content type of the same bytes is another request")
            .first(typed("application/json", "1"), ran(1))
            .second(typed("text/plain", "1"), key_reused())
            .runs(1),
        row("no content type is another one")
            .first(post("k").body("1"), ran(1))
            .second(typed("text/plain", "1"), key_reused())
            .runs(1),
        row("the charset of text counts")
            .first(typed("text/plain", "1"), ran(1))
            .second(typed("text/plain; charset=utf-8", "1"), key_reused())
            .runs(1),
        row("a form is replayed for the same bytes")
            .twice(typed(FORM, "to=ana&amount=5"), ran(1), replay(1))
            .runs(1),
        row("a form's fields in another order are another request")
            .first(typed(FORM, "to=ana&amount=5"), ran(1))
            .second(typed(FORM, "amount=5&to=ana"), key_reused())
            .runs(1),
        row("a form's other escapes are another request")
            .first(typed(FORM, "to=ana+b"), ran(1))
            .second(typed(FORM, "to=ana%20b"), key_reused())
            .runs(1),
        row("binary bodies are compared to the last byte")
            .first(
                typed("application/octet-stream", &b"\xff\xfe\x00\x80"[..]),
                ran(1),
            )
            .second(
                typed("application/octet-stream", &b"\xff\xfe\x00\x81"[..]),
                key_reused(),
            )
            .runs(1),
        row("a binary body reaches the handler, and its retry is replayed")
            .twice(
                typed("application/octet-stream", &b"\xff\xfe\x00\x80"[..]),
                ran(1),
                replay(1),
            )
            .runs(1),
        row("an upload with another boundary is the same request")
            .first(
                typed("multipart/form-data; boundary=b1", upload("b1")),
                ran(1),
            )
            .second(
                typed("multipart/form-data; boundary=\"xYz-2\"", upload("xYz-2")),
                replay(1),
            )
            .runs(1),
        row("an upload with another file name is another request")
            .first(
                typed("multipart/form-data; boundary=b1", upload("b1")),
                ran(1),
            )
            .second(
                typed(
                    "multipart/form-data; boundary=b1",
                    upload("b1").replace("a.txt", "b.txt"),
                ),
                key_reused(),
            )
            .runs(1),
        row("an upload with other content is another request")
            .first(
                typed("multipart/form-data; boundary=b1", upload("b1")),
                ran(1),
            )
            .second(
                typed(
                    "multipart/form-data; boundary=b2",
                    upload("b2").replace("hello", "hallo"),
                ),
                key_reused(),
            )
            .runs(1),
        row("an upload with its parts swapped is another request")
            .first(
                typed("multipart/form-data; boundary=b1", upload("b1")),
                ran(1),
            )
            .second(
                typed("multipart/form-data; boundary=b1", SWAPPED),
                key_reused(),
            )
            .runs(1),
        row("an upload that ends before its end is compared with its boundary")
            .first(
                typed("multipart/form-data; boundary=b1", "--b1\r\n\r\nx\r\n"),
                ran(1),
            )
            .second(
                typed("multipart/form-data; boundary=b2", "--b2\r\n\r\nx\r\n"),
                key_reused(),
            )
            .runs(1),
        row("a compressed body is replayed for the same bytes")
            .twice(
                json("").body(GZIP).header("content-encoding", "gzip"),
                ran(1),
                replay(1),
            )
            .runs(1),
        row("a body compressed anew is another request")
            .first(
                json("").body(GZIP).header("content-encoding", "gzip"),
                ran(1),
            )
            .second(
                json("").body(GZIP_LATER).header("content-encoding", "gzip"),
                key_reused(),
            )
            .runs(1),
        row("an encoded body is not read as the JSON that it is not")
            .first(json("[1]").header("content-encoding", "br"), ran(1))
            .second(json("[1.0]").header("content-encoding", "br"), key_reused())
            .runs(1),
        row("another encoding of the same bytes is another request")
            .first(json("[1]").header("content-encoding", "br"), ran(1))
            .second(json("[1]").header("content-encoding", "zstd"), key_reused())
            .runs(1),
        row("the encoding identity is none")
            .first(json("[1]"), ran(1))
            .second(
                json("[1.0]").header("content-encoding", "identity"),
                replay(1),
            )
            .runs(1),
    ]
}

fn framing() -> Vec<Row> {
    vec![
        row("no body is an empty body")
            .first(post("k").body(""), ran(1))
            .second(post("k").pieces(&[]), replay(1))
            .runs(1),
        row("no body, said or not, is no body")
            .first(post("k").body(""), ran(1))
            .second(post("k").body("").header("content-length", "0"), replay(1))
            .runs(1),
        row("an empty body is not one of spaces")
            .first(post("k").body(""), ran(1))
            .second(post("k").body(" "), key_reused())
            .runs(1),
        row("a body in pieces is the same as in one")
            .first(post("k").body("one body"), ran(1))
            .second(post("k").pieces(&["one", " ", "bo", "dy"]), replay(1))
            .runs(1),
        row("a body in pieces is compared to its end")
            .first(post("k").pieces(&["one", " body"]), ran(1))
            .second(post("k").pieces(&["one", " bode"]), key_reused())
            .runs(1),
        row("the handler gets the whole body, in whatever pieces it came")
            .handler(reply(200).body("{method} {path} {body}"))
            .first(
                post("k").pieces(&["pa", "y"]),
                answer(200).body("POST /payments pay"),
            )
            .second(
                post("k").body("pay"),
                answer(200).body("POST /payments pay").replayed(),
            )
            .runs(1),
        row("a body that breaks off is no request, and leaves its key unused")
            .first(post("k").breaks_off("pa"), no_answer())
            .second(post("k").body("pay"), ran(1))
            .runs(1)
            .reserves(1),
        row("a body that is shorter than it says is no request, and leaves its key unused")
            .first(
                post("k").breaks_off("pa").header("content-length", "3"),
                no_answer(),
            )
            .second(post("k").body("pay"), ran(1))
            .runs(1)
            .reserves(1),
    ]
}

fn limits() -> Vec<Row> {
    vec![
        row("a body may have a MiB")
            .twice(post("k").body("x".repeat(MIB)), ran(1), replay(1))
            .runs(1),
        row("a body that says that it has one byte more than a MiB is refused, and its key unused")
            .first(post("k").body("x".repeat(MIB + 1)), body_too_large(MIB))
            .second(post("k"), ran(1))
            .runs(1)
            .reserves(1),
        row("a body may have as much as is set, in one or in pieces")
            .layer(|layer| layer.request_limit(8))
            .first(post("k").body("12345678"), ran(1))
            .second(post("k").pieces(&["1234", "5678"]), replay(1))
            .runs(1),
        row("a body with one byte more than is set is refused, in one or in pieces")
            .layer(|layer| layer.request_limit(8))
            .first(post("k").body("123456789"), body_too_large(8))
            .second(post("k").pieces(&["1234", "5678", "9"]), body_too_large(8))
            .runs(0)
            .reserves(0),
        row("a body that says that it is too large is refused before it has come")
            .layer(|layer| layer.request_limit(8))
            .first(
                post("k").never_ends("1").header("content-length", "9"),
                body_too_large(8),
            )
            .second(
                post("k")
                    .never_ends("")
                    .header("content-length", "9223372036854775807"),
                body_too_large(8),
            )
            .runs(0),
        row("a body that turns out to be too large is refused before its end")
            .layer(|layer| layer.request_limit(8))
            .first(post("k").never_ends("123456789"), body_too_large(8))
            .second(post("k").body("12345678"), ran(1))
            .runs(1),
        row("where nothing may be sent, nothing is a body")
            .layer(|layer| layer.request_limit(0))
            .first(post("k").body(""), ran(1))
            .second(post("l").body("1"), body_too_large(0))
            .runs(1),
        row("a missing key is told before the body has come")
            .twice(keyless().never_ends("1"), key_missing(), key_missing())
            .runs(0),
    ]
}
