//! What the handler answers when there is no payment: problem details (RFC 9457), as the layer's own.
//!
//! The `type` of a problem is a `tag:` URI (RFC 4151), which RFC 9457 section 3.1.1 provides for types
//! that nobody is meant to look up: it is absolute, stays what it is wherever the server runs, and
//! needs no host. In a service of your own, put your domain and the year in which you had it.

use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What all types begin with.
pub(crate) const TYPE_PREFIX: &str = "tag:payments.example,2026:";

/// The kinds of problem that are not the layer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Unauthorized,
    InvalidPayment,
    CardDeclined,
}

impl Kind {
    /// The end of its type, its status and its title.
    fn row(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (
                "unauthorized",
                StatusCode::UNAUTHORIZED,
                "The client is not known",
            ),
            Self::InvalidPayment => (
                "invalid-payment",
                StatusCode::BAD_REQUEST,
                "The payment is not valid",
            ),
            Self::CardDeclined => (
                "card-declined",
                StatusCode::PAYMENT_REQUIRED,
                "The card was declined",
            ),
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
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (slug, status, title) = self.kind.row();
        let body = json!({
            "type": format!("{TYPE_PREFIX}{slug}"),
            "title": title,
            "status": status.as_u16(),
            "detail": self.detail,
        });
        let content_type = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, content_type, body.to_string()).into_response();
        if self.kind == Kind::Unauthorized {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
