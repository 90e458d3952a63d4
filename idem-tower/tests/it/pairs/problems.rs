//! The problems that the layer answers with, spelled out once.

use serde_json::json;

use super::row::{Want, WantBody, answer};

/// A problem (RFC 9457) with the layer's type, and its headers.
pub(super) fn problem(status: u16, slug: &str, title: &str, detail: &str) -> Want {
    let mut want = answer(status)
        .header("content-type", "application/problem+json")
        .header("content-language", "en")
        .header("cache-control", "no-store");
    want.body = WantBody::Json(json!({
        "type": format!("urn:idempotency-key:{slug}"),
        "title": title,
        "status": status,
        "detail": detail,
    }));
    want
}

impl Want {
    /// With another member, or another value of one.
    pub(super) fn member(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        match &mut self.body {
            WantBody::Json(body) => body[name] = value.into(),
            _ => panic!("only problems have members"),
        }
        self
    }

    /// With another status, in both places.
    pub(super) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self.member("status", status)
    }
}

pub(super) fn key_missing() -> Want {
    problem(
        400,
        "key-missing",
        "Idempotency-Key is missing",
        "send a key: a fresh one for each operation, the same one for each retry of it",
    )
}

pub(super) fn key_malformed(detail: &str) -> Want {
    problem(400, "key-malformed", "Idempotency-Key is malformed", detail)
}

pub(super) fn key_empty() -> Want {
    key_malformed("the key is empty: 1 to 255 bytes are allowed")
}

pub(super) fn not_bare() -> Want {
    key_malformed(
        "a bare key has only visible ASCII (bytes 0x21 to 0x7E) without quote, backslash, comma and \
         semicolon: other printable ASCII needs a quoted key",
    )
}

pub(super) fn several_lines() -> Want {
    key_malformed("there is more than one line of it: one is allowed")
}

pub(super) fn no_closing_quote() -> Want {
    key_malformed("the closing quote is missing: what begins with a quote is a quoted key")
}

pub(super) fn bad_escape() -> Want {
    key_malformed("in a quoted key, a backslash escapes only a quote or a backslash")
}

pub(super) fn not_printable() -> Want {
    key_malformed("a quoted key has only printable ASCII (bytes 0x20 to 0x7E)")
}

pub(super) fn after_the_quote() -> Want {
    key_malformed("only parameters of RFC 9651, such as `;name=1`, may follow the closing quote")
}

pub(super) fn body_too_large(limit: usize) -> Want {
    let detail = format!("at most {limit} bytes are allowed");
    problem(413, "body-too-large", "The body is too large", &detail)
}

pub(super) fn in_flight(retry_after: &'static str) -> Want {
    problem(
        409,
        "in-flight",
        "A request is outstanding for this Idempotency-Key",
        "the first request with this key is still running: send the same one again",
    )
    .header("retry-after", retry_after)
}

pub(super) fn unresolved() -> Want {
    problem(
        409,
        "unresolved",
        "Nobody knows whether this request happened",
        "it was interrupted and will not run again by itself: somebody has to look into it",
    )
}

pub(super) fn key_reused() -> Want {
    problem(
        422,
        "key-reused",
        "Idempotency-Key is already used",
        "this key was used for another request: a new operation needs a new key",
    )
}

pub(super) fn not_retained(status: u16) -> Want {
    let detail = format!("it was answered once, with status {status}: do not send it again");
    problem(
        410,
        "answer-not-retained",
        "The answer was not kept",
        &detail,
    )
    .member("original_status", status)
}

pub(super) fn store_unavailable(retry_after: &'static str) -> Want {
    problem(
        503,
        "store-unavailable",
        "The store of idempotency keys is unavailable",
        "nothing ran: send the request again, with the same key",
    )
    .header("retry-after", retry_after)
}

pub(super) fn outcome_unknown() -> Want {
    problem(
        500,
        "outcome-unknown",
        "The request was interrupted",
        "it may have had its effect: to learn what became of it, send the same request again, with the \
         same key",
    )
}

pub(super) fn record_unreadable() -> Want {
    problem(
        500,
        "record-unreadable",
        "The record of this Idempotency-Key cannot be read",
        "nothing ran; retrying does not help until somebody has looked",
    )
}

pub(super) fn no_scope() -> Want {
    problem(
        500,
        "no-scope",
        "The server does not know whose request this is",
        "nothing ran; this is a fault of the server, and retrying does not help until it is mended",
    )
}
