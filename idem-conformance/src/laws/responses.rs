//! What an answer is made of, all of which comes back unchanged: S1.

use idem_core::{Answer, Response};

use super::sizes::assert_comes_back;
use crate::Harness;

/// S1
pub async fn s1_the_status_is_kept(harness: &dyn Harness) {
    let store = &*harness.store();
    let statuses = [
        200, 0, 1, 100, 201, 202, 204, 299, 301, 304, 400, 402, 404, 409, 422, 429, 500, 503, 599,
        600, 999, 32_767, 32_768, 65_535,
    ];
    for status in statuses {
        let answer = Response::new(status).body("answered");
        assert_comes_back(store, &status.to_string(), &answer.into()).await;
    }
}

/// S1
pub async fn s1_headers_keep_their_order(harness: &dyn Harness) {
    let answer = Response::new(200)
        .header("x-request-id", "1")
        .header("content-type", "text/plain")
        .header("a", "first")
        .header("z", "before m")
        .header("m", "last")
        .body("answered");
    assert_comes_back(&*harness.store(), "k", &answer.into()).await;
}

/// S1
pub async fn s1_headers_may_repeat(harness: &dyn Harness) {
    let answer = Response::new(200)
        .header("set-cookie", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT")
        .header("link", "</a>, </b>")
        .header("set-cookie", "b=2")
        .header("set-cookie", "b=2")
        .header("link", "")
        .body("answered");
    assert_comes_back(&*harness.store(), "k", &answer.into()).await;
}

/// S1
pub async fn s1_header_names_keep_their_case(harness: &dyn Harness) {
    let answer = Response::new(200)
        .header("X-Request-ID", "1")
        .header("x-request-id", "2")
        .header("ETag", "\"W\"")
        .header("\u{c4}", "no token, and still a name")
        .header("", "no name at all");
    assert_comes_back(&*harness.store(), "k", &answer.into()).await;
}

/// S1
pub async fn s1_header_values_are_bytes(harness: &dyn Harness) {
    let all_bytes: Vec<u8> = (0..=255).collect();
    let answer = Response::new(200)
        .header("latin", &b"caf\xe9"[..])
        .header("broken", &b"\xff\xfe\xed\xa0\x80"[..])
        .header("empty", "")
        .header("spaces", "  inside  and around  ")
        .header("commas", "a, b,c;d=\"e, f\"")
        .header("all", all_bytes)
        .header("long", vec![b'v'; 16 * 1024]);
    assert_comes_back(&*harness.store(), "k", &answer.into()).await;
}

/// S1
pub async fn s1_the_body_is_bytes(harness: &dyn Harness) {
    let store = &*harness.store();
    let all_bytes: Vec<u8> = (0..=255).collect();
    let bodies: [&[u8]; 9] = [
        &all_bytes,
        b"\0",
        b"a\0b",
        b"\xff\xfe\0\x80",
        b"\xed\xa0\x80",
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"line\r\nline\n\r",
        b"None",
        b"null",
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let answer = Response::new(200).body(body.to_vec());
        assert_comes_back(store, &n.to_string(), &answer.into()).await;
    }
}

/// S1
pub async fn s1_a_body_of_json_is_not_read(harness: &dyn Harness) {
    let store = &*harness.store();
    let bodies = [
        r#"{"zebra":1,"alpha":2}"#,
        r#"{ "n" : 1.0 , "n" : 1 }"#,
        r#"{"s":"\u0000\ud800 \u00e9"}"#,
        "[1e400,12345678901234567890,-0]\n",
        r#"{"cut":"#,
        "  ",
        "\u{feff}{}",
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let answer = Response::new(200)
            .header("content-type", "application/json")
            .body(body);
        assert_comes_back(store, &n.to_string(), &answer.into()).await;
    }
}

/// S1
pub async fn s1_an_empty_body_is_an_answer(harness: &dyn Harness) {
    let store = &*harness.store();
    assert_comes_back(store, "nothing at all", &Response::new(204).into()).await;
    let headers_only = Response::new(201).header("location", "/payments/1");
    assert_comes_back(store, "headers only", &headers_only.into()).await;
}

/// S1
pub async fn s1_trailers_are_kept(harness: &dyn Harness) {
    let answer = Response::new(200)
        .header("trailer", "grpc-status")
        .body("answered")
        .trailer("grpc-status", "0")
        .trailer("Grpc-Message", &b"\xff"[..])
        .trailer("grpc-status", "0");
    assert_comes_back(&*harness.store(), "k", &answer.into()).await;
    let no_headers = Response::new(200).trailer("grpc-status", "5");
    assert_comes_back(&*harness.store(), "no headers", &no_headers.into()).await;
}

/// S1
pub async fn s1_what_was_too_large_is_remembered_as_such(harness: &dyn Harness) {
    let store = &*harness.store();
    for (status, body_length) in [(200, 0), (201, 1 << 20), (404, u64::MAX)] {
        let marker = Answer::NotRetained {
            status,
            body_length,
        };
        assert_comes_back(store, &status.to_string(), &marker).await;
    }
}
