//! What is answered when there is no payment to answer with: problem details (RFC 9457).
//!
//! The `type` of a problem is a `tag:` URI (RFC 4151), which RFC 9457 section 3.1.1 provides for types
//! that nobody is meant to look up: it is absolute, stays what it is wherever the server runs, and
//! needs no host. In a service of your own, put your domain and the year in which you had it.

use idempotency::Response;
use serde_json::json;

/// What all types begin with.
pub(crate) const TYPE_PREFIX: &str = "tag:payments.example,2026:";

/// The kinds of problem, by what a client should do about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Unauthorized,
    KeyMissing,
    KeyMalformed,
    BodyUnreadable,
    BodyTooLarge,
    InvalidPayment,
    CardDeclined,
    InFlight,
    Unresolved,
    KeyReused,
    AnswerNotRetained,
    OutcomeUnknown,
    StoreUnavailable,
}

impl Kind {
    /// The end of its type, its status and its title.
    #[rustfmt::skip]
    fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::Unauthorized => ("unauthorized", 401, "The client is not known"),
            Self::KeyMissing => ("key-missing", 400, "Idempotency-Key is missing"),
            Self::KeyMalformed => ("key-malformed", 400, "Idempotency-Key is malformed"),
            Self::BodyUnreadable => ("body-unreadable", 400, "The body could not be read"),
            Self::BodyTooLarge => ("body-too-large", 413, "The body is too large"),
            Self::InvalidPayment => ("invalid-payment", 400, "The payment is not valid"),
            Self::CardDeclined => ("card-declined", 402, "The card was declined"),
            Self::InFlight => ("in-flight", 409, "A request is outstanding for this Idempotency-Key"),
            Self::Unresolved => ("unresolved", 409, "Nobody knows whether this payment happened"),
            Self::KeyReused => ("key-reused", 422, "Idempotency-Key is already used"),
            Self::AnswerNotRetained => ("answer-not-retained", 410, "The answer was too large to keep"),
            Self::OutcomeUnknown => ("outcome-unknown", 500, "The payment was interrupted"),
            Self::StoreUnavailable => ("store-unavailable", 503, "The store of keys is unavailable"),
        }
    }

    /// A header that belongs to this kind.
    fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Unauthorized => Some(("www-authenticate", "Bearer")),
            Self::InFlight | Self::StoreUnavailable => Some(("retry-after", "1")),
            _ => None,
        }
    }
}

/// A kind, and what to say about this occurrence of it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: Kind,
    detail: String,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { kind, detail }
    }

    /// The problem as a response: an answer of the handler is kept and replayed like any other.
    pub(crate) fn response(&self) -> Response {
        let (slug, status, title) = self.kind.row();
        let body = json!({
            "type": format!("{TYPE_PREFIX}{slug}"),
            "title": title,
            "status": status,
            "detail": self.detail,
        });
        let response = Response::new(status).header("content-type", "application/problem+json");
        match self.kind.header() {
            Some((name, value)) => response.header(name, value),
            None => response,
        }
        .body(body.to_string())
    }
}
