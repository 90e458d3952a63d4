//! What a client is told when there is no answer to send: problem details (RFC 9457).

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, LINK, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use crate::AnswerBody;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $slug:literal, $status:literal, $title:literal;)*) => {
        /// The kinds of problem, by what a client should do about them. The end of a problem's `type`
        /// is its [slug](Self::slug), which never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])* $kind,)*
        }

        impl ProblemKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// What the problem's `type` ends with, after its base.
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$kind => $slug,)* }
            }

            /// The status, unless [another is set](crate::IdempotencyLayer::problem_status).
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$kind => match StatusCode::from_u16($status) {
                    Ok(status) => status,
                    Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
                },)* }
            }

            /// The `title`: the same for every occurrence.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }
        }
    };
}

kinds! {
    /// `key-missing`, 400. No key came, and one is required. Nothing ran. Send one: a fresh one for each
    /// operation, the same one for each retry of it. The titles say `Idempotency-Key` as the draft's do,
    /// whatever carries the key.
    KeyMissing = "key-missing", 400, "Idempotency-Key is missing";
    /// `key-malformed`, 400. What came is not clearly a key; ignored, the request would have run
    /// unprotected. Nothing ran. Correct the key.
    KeyMalformed = "key-malformed", 400, "Idempotency-Key is malformed";
    /// `body-incomplete`, 400. The body broke off. Nothing ran, and the key is not used up: send the
    /// request again, with the same key.
    BodyIncomplete = "body-incomplete", 400, "The body did not arrive whole";
    /// `body-too-slow`, 408. The body did not arrive in time. Nothing ran: send the request again, with
    /// the same key.
    BodyTooSlow = "body-too-slow", 408, "The body did not arrive in time";
    /// `body-too-large`, 413. The body is larger than what is compared between retries. Nothing ran.
    BodyTooLarge = "body-too-large", 413, "The body is too large";
    /// `in-flight`, 409, with `Retry-After`. The first request with this key still runs. Send the same
    /// one again after that time.
    InFlight = "in-flight", 409, "A request is outstanding for this Idempotency-Key";
    /// `unresolved`, 409, without `Retry-After`. It was interrupted, and nobody knows whether it
    /// happened; it will not run again by itself. Waiting does not help: a person has to look.
    Unresolved = "unresolved", 409, "Nobody knows whether this request happened";
    /// `key-reused`, 422. The key was used for another request: a bug of the client. Nothing ran. A new
    /// operation needs a new key.
    KeyReused = "key-reused", 422, "Idempotency-Key is already used";
    /// `answer-not-retained`, 410. It happened, and was answered once, with the status in
    /// `original_status`; the answer was too large to keep, or a stream. Do not send it again.
    AnswerNotRetained = "answer-not-retained", 410, "The answer was not kept";
    /// `store-unavailable`, 503, with `Retry-After`. The store of keys did not answer. Nothing ran. Send
    /// the request again, with the same key.
    StoreUnavailable = "store-unavailable", 503, "The store of idempotency keys is unavailable";
    /// `overloaded`, 503, with `Retry-After`. As many handlers run as
    /// [may](crate::IdempotencyLayer::running_limit). Nothing ran. Send the request again, with the same
    /// key.
    Overloaded = "overloaded", 503, "Too many requests are running";
    /// `outcome-unknown`, 500. The handler broke off. It may have had its effect: to learn what became of
    /// it, send the same request again, with the same key.
    OutcomeUnknown = "outcome-unknown", 500, "The request was interrupted";
    /// `record-unreadable`, 500. What is stored under this key cannot be read, or is no HTTP answer (then
    /// with `original_status`). Nothing ran now, and nothing will under this key until somebody has
    /// looked.
    RecordUnreadable = "record-unreadable", 500, "The record of this Idempotency-Key cannot be read";
    /// `no-scope`, 500. The server does not know whose request this is: a bug of the server. Nothing
    /// ran.
    NoScope = "no-scope", 500, "The server does not know whose request this is";
}

/// On a problem that is over after a while: a layer outside must not keep it as the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotNow;

/// How problems are written.
#[derive(Clone, Debug)]
pub(crate) struct ProblemStyle {
    pub(crate) type_base: Cow<'static, str>,
    pub(crate) documentation: Option<HeaderValue>,
    pub(crate) documentation_url: Option<String>,
    pub(crate) statuses: Vec<(ProblemKind, StatusCode)>,
}

/// An unregistered URN namespace: absolute, stable wherever the server runs, and nothing to look up.
pub(crate) const TYPE_BASE: &str = "urn:idempotency-key:";

impl Default for ProblemStyle {
    fn default() -> Self {
        Self {
            type_base: Cow::Borrowed(TYPE_BASE),
            documentation: None,
            documentation_url: None,
            statuses: Vec::new(),
        }
    }
}

impl ProblemStyle {
    pub(crate) fn type_of(&self, kind: ProblemKind) -> String {
        format!("{}{}", self.type_base, kind.slug())
    }

    pub(crate) fn status_of(&self, kind: ProblemKind) -> StatusCode {
        let set = self.statuses.iter().rev().find(|(set, _)| *set == kind);
        set.map_or(kind.status(), |(_, status)| *status)
    }
}

/// A kind of problem, and what to say about this occurrence of it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    detail: Cow<'static, str>,
    retry_after_seconds: Option<u64>,
    original_status: Option<u16>,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            retry_after_seconds: None,
            original_status: None,
        }
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    pub(crate) fn original_status(mut self, status: u16) -> Self {
        self.original_status = Some(status);
        self
    }

    pub(crate) fn response(&self, style: &ProblemStyle) -> Response<AnswerBody> {
        let status = style.status_of(self.kind);
        let mut body = json!({
            "type": style.type_of(self.kind),
            "title": self.kind.title(),
            "status": status.as_u16(),
            "detail": self.detail,
        });
        if let Some(original) = self.original_status {
            body["original_status"] = original.into();
        }
        let body = Bytes::from(body.to_string());
        let mut response = Response::new(AnswerBody::new(body, None));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static("en"));
        // True now, and perhaps not in a second.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(link) = &style.documentation {
            headers.insert(LINK, link.clone());
        }
        if self.retry_after_seconds.is_some() {
            response.extensions_mut().insert(NotNow);
        }
        response
    }
}
