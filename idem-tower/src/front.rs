//! From a request to an operation: key, scope, body, fingerprint. Nothing is reserved here, and whatever
//! is refused leaves the key unused.

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderMap, Request};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError};
use idem_core::{Fingerprint, Key, Operation, RecordId, Scope};
use tokio::time::timeout;

use crate::chunks::Chunks;
use crate::problem::{Problem, ProblemKind};
use crate::settings::{IDEMPOTENCY_KEY, KeySource, Settings};
use crate::{AnswerBody, RequestBody, body_fingerprint, key_header};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a guarded request turned out to be.
pub(crate) enum Front<B> {
    Operation(Operation, Request<RequestBody<B>>),
    /// It has no key, and need not have one.
    NoKey(Request<RequestBody<B>>),
}

pub(crate) async fn read<B>(settings: &Settings, parts: Parts, body: B) -> Result<Front<B>, Problem>
where
    B: Body<Error: Into<BoxError>>,
{
    // What can be refused, or needs no protection, is so before its body is read.
    let early = match &settings.key {
        KeySource::Header(name) => key_header::read(&parts.headers, name)
            .map_err(|reason| malformed(reason.to_string()))
            .map(Some)?,
        KeySource::Parts(key_of) => key_of(&parts)
            .map_err(|error| malformed(error.to_string()))
            .map(Some)?,
        KeySource::Body(_) => None,
    };
    let (key, scope, whole) = match (early, &settings.key) {
        (Some(None), _) if settings.key_required => return Err(key_missing(settings)),
        (Some(None), _) => {
            let request = Request::from_parts(parts, RequestBody::untouched(body));
            return Ok(Front::NoKey(request));
        }
        (Some(Some(key)), _) => {
            check_form(settings, &key)?;
            let scope = scope(settings, &parts)?;
            (key, scope, arrived(body, &parts, settings).await?)
        }
        (None, source) => {
            let whole = arrived(body, &parts, settings).await?;
            let key = match source {
                KeySource::Body(key_of) => {
                    key_of(&parts, &whole.data).map_err(|error| malformed(error.to_string()))?
                }
                _ => None,
            };
            match key {
                None if settings.key_required => return Err(key_missing(settings)),
                None => return Ok(Front::NoKey(whole.request(parts))),
                Some(key) => {
                    check_form(settings, &key)?;
                    (key, scope(settings, &parts)?, whole)
                }
            }
        }
    };
    let fingerprint = fingerprint(settings, &parts, &whole.data);
    let operation = Operation::new(scope, key, fingerprint);
    Ok(Front::Operation(operation, whole.request(parts)))
}

/// The record that the request is about, as far as it can be told without the body.
pub(crate) fn record(settings: &Settings, parts: &Parts) -> Option<RecordId> {
    let key = match &settings.key {
        KeySource::Header(name) => key_header::read(&parts.headers, name).ok()?,
        KeySource::Parts(key_of) => key_of(parts).ok()?,
        KeySource::Body(_) => None,
    };
    Some(RecordId::new(settings.scope.scope(parts)?, key?))
}

/// Everything that decides what the request does, and nothing that may differ between its retries.
fn fingerprint(settings: &Settings, parts: &Parts, body: &Bytes) -> Fingerprint {
    let builder = Fingerprint::builder().bytes("method", parts.method.as_str());
    let builder = match &settings.path {
        Some(path) => builder.bytes("path", path(parts)),
        None => builder.bytes("path", path_and_query(parts)),
    };
    let builder = settings
        .fingerprint_headers
        .iter()
        .flat_map(|name| {
            let lines = parts.headers.get_all(name).iter();
            lines.map(move |value| (name, value))
        })
        .fold(builder, |builder, (name, value)| {
            builder
                .bytes("header", name.as_str())
                .bytes("value", value.as_bytes())
        });
    match &settings.body {
        Some(body_of) => body_fingerprint::add_how_it_is_read(builder, &parts.headers)
            .bytes("chosen-body", body_of(parts, body)),
        None => body_fingerprint::add(builder, &parts.headers, body),
    }
    .finish()
}

/// Without scheme and authority, which HTTP/1.1 and HTTP/2 spell differently.
fn path_and_query(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
}

fn check_form(settings: &Settings, key: &Key) -> Result<(), Problem> {
    match &settings.key_form {
        Some(form) if !(form.accepts)(key.as_str()) => {
            Err(malformed(format!("the key is to be {}", form.description)))
        }
        _ => Ok(()),
    }
}

struct Whole {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl Whole {
    fn request<B>(self, parts: Parts) -> Request<RequestBody<B>> {
        let body = AnswerBody::new(self.data, self.trailers);
        Request::from_parts(parts, RequestBody::whole(body))
    }
}

/// The whole body, in time.
async fn arrived<B>(body: B, parts: &Parts, settings: &Settings) -> Result<Whole, Problem>
where
    B: Body<Error: Into<BoxError>>,
{
    let reading = read_whole(body, parts, settings.request_limit);
    match timeout(settings.request_within, reading).await {
        Ok(whole) => whole,
        Err(_) => Err(Problem::new(
            ProblemKind::BodyTooSlow,
            format!("at most {:?} are allowed", settings.request_within),
        )),
    }
}

/// The whole body, or none of it: what broke off has no fingerprint.
async fn read_whole<B>(body: B, parts: &Parts, limit: usize) -> Result<Whole, Problem>
where
    B: Body<Error: Into<BoxError>>,
{
    let declared = declared_length(&parts.headers);
    let at_least = declared.unwrap_or(0).max(body.size_hint().lower());
    if at_least > limit as u64 {
        return Err(too_large(limit));
    }
    let mut body = std::pin::pin!(body);
    let mut chunks = Chunks::default();
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreadable(error.into()))?;
        match crate::request_body::into_bytes(frame).into_data() {
            Ok(data) if data.len() > limit - chunks.length() => return Err(too_large(limit)),
            Ok(data) => chunks.push(data),
            // Nothing comes after trailers: the end need not be waited for.
            Err(frame) => {
                trailers = frame.into_trailers().ok();
                if trailers.is_some() {
                    break;
                }
            }
        }
    }
    let data = chunks.whole();
    // Something outside has read the body already: its fingerprint would be that of nothing.
    if declared.is_some_and(|declared| (data.len() as u64) < declared) {
        return Err(Problem::new(
            ProblemKind::BodyIncomplete,
            "fewer bytes arrived than Content-Length says: send it again; if it was sent whole, a layer \
             outside has read or changed it",
        ));
    }
    Ok(Whole { data, trailers })
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A limit outside this layer speaks through the body's error.
fn unreadable(error: BoxError) -> Problem {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Problem::new(
                ProblemKind::BodyTooLarge,
                "it is larger than the server allows",
            );
        }
        cause = error.source();
    }
    Problem::new(
        ProblemKind::BodyIncomplete,
        "it broke off: send the request again, with the same key",
    )
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        ProblemKind::BodyTooLarge,
        format!("at most {limit} bytes are allowed"),
    )
}

fn malformed(reason: String) -> Problem {
    Problem::new(ProblemKind::KeyMalformed, reason)
}

fn key_missing(settings: &Settings) -> Problem {
    let place = match &settings.key {
        KeySource::Header(name) if *name != IDEMPOTENCY_KEY => format!(" in the header {name}"),
        _ => String::new(),
    };
    Problem::new(
        ProblemKind::KeyMissing,
        format!(
            "send a key{place}: a fresh one for each operation, the same one for each retry of it"
        ),
    )
}

fn scope(settings: &Settings, parts: &Parts) -> Result<Scope, Problem> {
    settings.scope.scope(parts).ok_or_else(no_scope)
}

fn no_scope() -> Problem {
    tracing::error!(
        "no scope: the request is refused; put this layer inside the one that authenticates, which in \
         axum is added after it, and make sure that the scope extractor finds what that one leaves",
    );
    Problem::new(
        ProblemKind::NoScope,
        "nothing ran; this is a fault of the server, and retrying does not help until it is mended",
    )
}
