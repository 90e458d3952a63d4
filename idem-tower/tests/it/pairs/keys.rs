//! How keys may be spelt, where they come from, and what is refused.

use bytes::Bytes;
use http::HeaderName;
use http::request::Parts;
use idem_core::{Error, Key};

use super::problems::{
    after_the_quote, bad_escape, key_empty, key_malformed, key_missing, key_reused,
    no_closing_quote, not_bare, not_printable, several_lines,
};
use super::row::{Row, answer, keyless, post, ran, replay, reply, row};

const UUID: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = spellings();
    rows.extend(refused());
    rows.extend(optional());
    rows.extend(carriers());
    rows
}

/// Two spellings of one key, and keys that are two.
fn spellings() -> Vec<Row> {
    vec![
        row("the same request again is replayed")
            .twice(post(UUID), ran(1), replay(1))
            .runs(1)
            .reserves(2),
        row("a quoted key is the same key as a bare one")
            .first(post("order-17"), ran(1))
            .second(post("\"order-17\""), replay(1))
            .runs(1),
        row("a bare UUID that begins with a digit is the quoted one")
            .first(post(quoted(UUID)), ran(1))
            .second(post(UUID), replay(1))
            .runs(1),
        row("a quoted key may have a quote and a backslash in it")
            .twice(post(r#""a\"b\\c""#), ran(1), replay(1))
            .runs(1),
        row("parameters after a quoted key are ignored")
            .first(post("\"k\""), ran(1))
            .second(post("\"k\";v=1; flag;name=\"x\";t=token"), replay(1))
            .runs(1),
        row("other values of parameters are no other key")
            .first(post("\"k\";v=1"), ran(1))
            .second(post("\"k\";v=2"), replay(1))
            .runs(1),
        row("spaces around a key do not belong to it, bare or quoted")
            .first(post("  k  "), ran(1))
            .second(post(" \"k\" "), replay(1))
            .runs(1),
        row("an inner space belongs to a quoted key")
            .first(post("\"a b\""), ran(1))
            .second(post("\"ab\""), ran(2))
            .runs(2),
        row("spaces at the ends of a quoted key belong to it")
            .first(post("\" k\""), ran(1))
            .second(post("\"k\""), ran(2))
            .runs(2),
        row("a quoted key may be one space")
            .twice(post("\" \""), ran(1), replay(1))
            .runs(1),
        row("keys that differ in the case of a letter are two keys")
            .first(post("order-a"), ran(1))
            .second(post("order-A"), ran(2))
            .runs(2),
        row("percent signs are not decoded")
            .first(post("a%20b"), ran(1))
            .second(post("\"a b\""), ran(2))
            .runs(2),
        row("a bare key with a percent sign is the quoted one")
            .first(post("100%25"), ran(1))
            .second(post("\"100%25\""), replay(1))
            .runs(1),
        row("leading zeros count: keys are no numbers")
            .first(post("7"), ran(1))
            .second(post("07"), ran(2))
            .runs(2),
        row("all visible ASCII that is allowed in a bare key is one with the quoted")
            .first(post("!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"), ran(1))
            .second(post("\"!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~\""), replay(1))
            .runs(1),
        row("single quotes are part of a bare key")
            .first(post("'k'"), ran(1))
            .second(post("k"), ran(2))
            .runs(2),
        row("a byte sequence of structured fields is a bare key like any other")
            .first(post(":YWJj:"), ran(1))
            .second(post("\":YWJj:\""), replay(1))
            .runs(1),
        row("a bare key may have 255 bytes")
            .first(post("k".repeat(255)), ran(1))
            .second(post(quoted(&"k".repeat(255))), replay(1))
            .runs(1),
        row("keys that differ in their 255th byte are two keys")
            .first(post("k".repeat(255)), ran(1))
            .second(post("k".repeat(254) + "l"), ran(2))
            .runs(2),
        row("backslashes that escape do not count for the length")
            .twice(post(quoted(&"\\\"".repeat(255))), ran(1), replay(1))
            .runs(1),
        row("a key names one operation: another body is refused, and changes nothing")
            .first(post("k"), ran(1))
            .second(post("\"k\"").body("pay more"), key_reused())
            .runs(1),
        row("without a key in common there is nothing in common")
            .first(post("one"), ran(1))
            .second(post("two").body("pay more"), ran(2))
            .runs(2),
    ]
}

/// What is not clearly a key.
fn refused() -> Vec<Row> {
    vec![
        row("a missing key is refused, and no store is asked")
            .twice(keyless(), key_missing(), key_missing())
            .runs(0)
            .reserves(0),
        row("an empty key is refused")
            .twice(post(""), key_empty(), key_empty())
            .runs(0)
            .reserves(0),
        row("an empty quoted key is refused")
            .first(post("\"\""), key_empty())
            .second(post("\"\";v=1"), key_empty())
            .runs(0),
        row("a key of blanks is refused as empty")
            .twice(post("   "), key_empty(), key_empty())
            .runs(0),
        row("a tab around a key is white space of HTTP/1.1")
            .first(post("\t"), key_empty())
            .second(post("\tk\t"), ran(1))
            .only_http1("its parser takes white space off, HTTP/2 knows none around a value")
            .runs(1),
        row("a tab around a key is refused where nothing has taken it off")
            .first(post("\t"), not_bare())
            .second(post("k\t"), not_bare())
            .only_http2("the parser of HTTP/1.1 takes it off")
            .runs(0),
        row("a tab in a bare key is refused")
            .twice(post("a\tb"), not_bare(), not_bare())
            .runs(0),
        row("a tab in a quoted key is refused")
            .twice(post("\"a\tb\""), not_printable(), not_printable())
            .runs(0),
        row("bytes that are not ASCII are refused in a bare key")
            .first(post("schlüssel"), not_bare())
            .second(post(b"k\xff"), not_bare())
            .runs(0),
        row("bytes that are not ASCII are refused in a quoted key")
            .first(post("\"schlüssel\""), not_printable())
            .second(post(b"\"k\xff\""), not_printable())
            .runs(0),
        row("two lines are refused, even if they are the same")
            .first(post("k").header("idempotency-key", "l"), several_lines())
            .second(post("k").header("idempotency-key", "k"), several_lines())
            .runs(0)
            .reserves(0),
        row("lines that a proxy has joined are refused")
            .first(post("a, b"), not_bare())
            .second(post("\"a\", \"b\""), after_the_quote())
            .runs(0),
        row("a comma is allowed in a quoted key, and refused in a bare one")
            .first(post("a,b"), not_bare())
            .second(post("\"a,b\""), ran(1))
            .runs(1),
        row("256 bytes are refused, and are not cut")
            .first(
                post("k".repeat(256)),
                key_malformed("the key has 256 bytes: 1 to 255 bytes are allowed"),
            )
            .second(post("k".repeat(255)), ran(1))
            .runs(1),
        row("300 bytes are refused, whatever the first 255 are")
            .first(
                post("k".repeat(300)),
                key_malformed("the key has 300 bytes: 1 to 255 bytes are allowed"),
            )
            .second(
                post("k".repeat(299) + "l"),
                key_malformed("the key has 300 bytes: 1 to 255 bytes are allowed"),
            )
            .runs(0),
        row("256 quoted bytes are refused, counted without their escapes")
            .first(
                post(quoted(&"\\\\".repeat(256))),
                key_malformed("the key has 256 bytes: 1 to 255 bytes are allowed"),
            )
            .second(post(quoted(&"\\\\".repeat(255))), ran(1))
            .runs(1),
        row("a bare key with a space in it is refused")
            .twice(post("a b"), not_bare(), not_bare())
            .runs(0),
        row("a bare key with a parameter is refused")
            .first(post("k;v=1"), not_bare())
            .second(post("k;"), not_bare())
            .runs(0),
        row("a quote or a backslash in a bare key is refused")
            .first(post("a\"b"), not_bare())
            .second(post("a\\b"), not_bare())
            .runs(0),
        row("a quoted key without its end is refused, never taken for a bare one")
            .first(post("\"k"), no_closing_quote())
            .second(post("\"k\\\""), no_closing_quote())
            .runs(0)
            .reserves(0),
        row("an escape of anything but a quote or a backslash is refused")
            .first(post("\"a\\nb\""), bad_escape())
            .second(post("\"k\\"), bad_escape())
            .runs(0),
        row("anything but parameters after the quoted key is refused")
            .first(post("\"k\"x"), after_the_quote())
            .second(post("\"k\" ;v=1"), after_the_quote())
            .runs(0),
        row("parameters that are malformed are refused")
            .first(post("\"k\";V=1"), after_the_quote())
            .second(post("\"k\";v="), after_the_quote())
            .runs(0),
        row("a malformed key leaves the right one unused")
            .first(post("\"k"), no_closing_quote())
            .second(post("k"), ran(1))
            .runs(1),
    ]
}

fn optional() -> Vec<Row> {
    vec![
        row("where keys are optional, requests without one run unprotected")
            .layer(|layer| layer.key_optional())
            .twice(keyless(), ran(1), ran(2))
            .runs(2)
            .reserves(0),
        row("where keys are optional, one that is sent protects")
            .layer(|layer| layer.key_optional())
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("where keys are optional, a request without one is none of those with one")
            .layer(|layer| layer.key_optional())
            .first(post("k"), ran(1))
            .second(keyless(), ran(2))
            .runs(2),
        row("where keys are optional, an empty one is refused all the same")
            .layer(|layer| layer.key_optional())
            .first(post(""), key_empty())
            .second(post("\"\""), key_empty())
            .runs(0),
        row("where keys are optional, a malformed one is refused all the same")
            .layer(|layer| layer.key_optional())
            .first(post("\"k"), no_closing_quote())
            .second(post("a, b"), not_bare())
            .runs(0)
            .reserves(0),
        row("where keys are optional, two lines are refused all the same")
            .layer(|layer| layer.key_optional())
            .first(post("k").header("idempotency-key", "k"), several_lines())
            .second(post("").header("idempotency-key", ""), several_lines())
            .runs(0),
        row("where keys are optional, a request without one has its body untouched, however large")
            .layer(|layer| layer.key_optional().request_limit(3))
            .handler(reply(200).body("{body}"))
            .first(
                keyless().body("more than three"),
                answer(200).body("more than three"),
            )
            .second(
                keyless().pieces(&["as ", "it ", "comes"]),
                answer(200).body("as it comes"),
            )
            .runs(2),
    ]
}

/// Where else the key may come from.
fn carriers() -> Vec<Row> {
    vec![
        row("the header may have another name, and then the usual one says nothing")
            .layer(|layer| layer.key_header(HeaderName::from_static("x-payout-idempotency")))
            .first(
                post("k"),
                key_missing().member(
                    "detail",
                    "send a key in the header x-payout-idempotency: a fresh one for each operation, the \
                     same one for each retry of it",
                ),
            )
            .second(keyless().header("x-payout-idempotency", "k"), ran(1))
            .runs(1),
        row("under another name the key is the same, quoted or bare")
            .layer(|layer| layer.key_header(HeaderName::from_static("x-payout-idempotency")))
            .first(keyless().header("x-payout-idempotency", "k"), ran(1))
            .second(keyless().header("x-payout-idempotency", "\"k\""), replay(1))
            .runs(1),
        row("a webhook's id is its key")
            .layer(|layer| layer.key_from(webhook_id))
            .twice(keyless().header("webhook-id", "msg_1"), ran(1), replay(1))
            .runs(1),
        row("a webhook without an id is refused, and one with an empty id is malformed")
            .layer(|layer| layer.key_from(webhook_id))
            .first(keyless(), key_missing())
            .second(
                keyless().header("webhook-id", ""),
                key_malformed("key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0),
        row("where the key comes from elsewhere, its header says nothing")
            .layer(|layer| layer.key_from(webhook_id))
            .first(post("k").header("webhook-id", "msg_1"), ran(1))
            .second(post("k").header("webhook-id", "msg_2"), ran(2))
            .runs(2),
        row("a key from a webhook's id may be optional")
            .layer(|layer| layer.key_from(webhook_id).key_optional())
            .twice(keyless(), ran(1), ran(2))
            .runs(2)
            .reserves(0),
        row("a form's hidden field is its key")
            .layer(|layer| layer.key_from_body(form_field))
            .twice(
                keyless().body("to=ana&idempotency_key=8e03978e&amount=5"),
                ran(1),
                replay(1),
            )
            .runs(1),
        row("a form that was changed under its hidden field is refused")
            .layer(|layer| layer.key_from_body(form_field))
            .first(keyless().body("idempotency_key=8e03978e&amount=5"), ran(1))
            .second(
                keyless().body("idempotency_key=8e03978e&amount=6"),
                key_reused(),
            )
            .runs(1),
        row("a form without its hidden field is refused, and one with it empty is malformed")
            .layer(|layer| layer.key_from_body(form_field))
            .first(keyless().body("amount=5"), key_missing())
            .second(
                keyless().body("idempotency_key=&amount=5"),
                key_malformed("key is empty: 1 to 255 bytes are allowed"),
            )
            .runs(0),
        row("where keys have a form, another is refused, and the store is not asked")
            .layer(|layer| layer.key_form("a UUID", is_uuid))
            .twice(
                post("order-17"),
                key_malformed("the key is to be a UUID"),
                key_malformed("the key is to be a UUID"),
            )
            .runs(0)
            .reserves(0),
        row("where keys have a form, it is the client's text that must have it")
            .layer(|layer| layer.key_form("a UUID", is_uuid))
            .first(post(UUID), ran(1))
            .second(post(quoted(UUID)), replay(1))
            .runs(1),
    ]
}

/// The recipe of [`idem_tower::IdempotencyLayer::key_from`] for webhooks.
fn webhook_id(parts: &Parts) -> Result<Option<Key>, Error> {
    match parts.headers.get("webhook-id") {
        None => Ok(None),
        Some(id) => Key::new(String::from_utf8_lossy(id.as_bytes())).map(Some),
    }
}

/// The recipe of [`idem_tower::IdempotencyLayer::key_from`] for forms.
fn form_field(_: &Parts, body: &Bytes) -> Result<Option<Key>, Error> {
    let mut fields = body.split(|&byte| byte == b'&');
    match fields.find_map(|field| field.strip_prefix(b"idempotency_key=")) {
        None => Ok(None),
        Some(text) => Key::new(String::from_utf8_lossy(text)).map(Some),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
