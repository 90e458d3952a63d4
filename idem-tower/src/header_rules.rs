//! Which header lines of an answer are kept, and how an answer goes from HTTP to the record and back.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, DATE, HeaderName, PROXY_AUTHENTICATE, SET_COOKIE, TE,
    TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use idem_core::{Header, Response as Stored};

use crate::AnswerBody;

/// The mark of a replay. It is put on the way out: never stored, and never believed when it comes in.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// About one connection or one sending, not about the answer (RFC 9110 sections 7.6.1 and 6.6.1).
const NEVER_KEPT: [HeaderName; 8] = [
    CONNECTION,
    DATE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    REPLAYED,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// For the one who received them: not replayed unless asked.
const NOT_KEPT_UNLESS_ASKED: [HeaderName; 5] = [
    SET_COOKIE,
    WWW_AUTHENTICATE,
    PROXY_AUTHENTICATE,
    HeaderName::from_static("authentication-info"),
    HeaderName::from_static("proxy-authentication-info"),
];

/// What the application asked for. The last word about a name counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderRules {
    asked: Vec<(HeaderName, bool)>,
}

impl HeaderRules {
    pub(crate) fn set(&mut self, name: HeaderName, keep: bool) {
        self.asked.push((name, keep));
    }

    fn keeps(&self, name: &HeaderName, connection: &[HeaderName]) -> bool {
        if NEVER_KEPT.contains(name) || connection.contains(name) {
            return false;
        }
        let asked = self.asked.iter().rev().find(|(asked, _)| asked == name);
        asked.map_or(!NOT_KEPT_UNLESS_ASKED.contains(name), |(_, keep)| *keep)
    }

    /// By name, without those that never are: for [`Policy`](crate::Policy).
    pub(crate) fn not_replayed(&self) -> Vec<HeaderName> {
        let asked = self.asked.iter().map(|(name, _)| name.clone());
        let names: BTreeMap<_, _> = NOT_KEPT_UNLESS_ASKED
            .into_iter()
            .chain(asked)
            .filter(|name| !NEVER_KEPT.contains(name) && !self.keeps(name, &[]))
            .map(|name| (name.to_string(), name))
            .collect();
        names.into_values().collect()
    }

    /// What is recorded of an answer.
    pub(crate) fn stored(
        &self,
        parts: &Parts,
        body: Bytes,
        trailers: Option<&HeaderMap>,
    ) -> Stored {
        let connection = listed(&parts.headers);
        let lines = |stored: Stored, headers: &HeaderMap, add: fn(Stored, Header) -> Stored| {
            let kept = headers
                .iter()
                .filter(|(name, _)| self.keeps(name, &connection));
            kept.fold(stored, |stored, (name, value)| {
                let name = name.as_str().to_owned();
                let value = Bytes::copy_from_slice(value.as_bytes());
                add(stored, Header { name, value })
            })
        };
        let stored = Stored::new(parts.status.as_u16()).body(body);
        let stored = lines(stored, &parts.headers, |stored, line| {
            stored.header(line.name, line.value)
        });
        match trailers {
            Some(trailers) => lines(stored, trailers, |stored, line| {
                stored.trailer(line.name, line.value)
            }),
            None => stored,
        }
    }
}

/// What `Connection` lists goes no further than the connection.
fn listed(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    values.flat_map(|value| names(value.as_bytes())).collect()
}

fn names(list: &[u8]) -> impl Iterator<Item = HeaderName> {
    list.split(|&byte| byte == b',')
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
}

/// Whether a `Content-Length` tells of the body that there would be, and not of the one that is there.
fn tells_of_another(parts: &Parts, method: &Method, body_length: usize) -> bool {
    body_length == 0 && (method == Method::HEAD || parts.status == StatusCode::NOT_MODIFIED)
}

/// The body ended before the length that was declared for it: it is not the whole answer.
pub(crate) fn is_cut_short(parts: &Parts, method: &Method, body_length: usize) -> bool {
    let mut lines = parts.headers.get_all(CONTENT_LENGTH).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let declared = line.to_str().ok().and_then(|line| line.parse::<u64>().ok());
    declared.is_some_and(|declared| declared > body_length as u64)
        && !tells_of_another(parts, method, body_length)
}

/// A `Content-Length` that is not the length of the body would break the connection.
pub(crate) fn mend_content_length(parts: &mut Parts, method: &Method, body_length: usize) {
    if tells_of_another(parts, method, body_length) {
        return;
    }
    let mut lines = parts.headers.get_all(CONTENT_LENGTH).iter();
    let right = match (lines.next(), lines.next()) {
        (None, _) => return,
        (Some(line), None) => line.as_bytes() == body_length.to_string().as_bytes(),
        _ => false,
    };
    if !right {
        parts.headers.remove(CONTENT_LENGTH);
    }
}

/// A stored answer as HTTP, for an answer to `method`. `None` if it is not HTTP: another program wrote
/// it into the same store.
///
/// The rules hold whoever stored it: a handler that recorded its answer itself may have put anything
/// into it. Without `rules` it is the first answer, of which only what is never kept is taken off.
pub(crate) fn as_http(
    stored: &Stored,
    method: Option<&Method>,
    rules: Option<&HeaderRules>,
) -> Option<Response<AnswerBody>> {
    let status = StatusCode::from_u16(stored.status()).ok()?;
    let headers = header_map(stored.headers(), rules)?;
    let trailers = header_map(stored.trailers(), rules)?;
    let body = stored.body_bytes().clone();
    let length = body.len();
    let mut response = Response::new(AnswerBody::new(body, Some(trailers)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    let (mut parts, body) = response.into_parts();
    mend_content_length(&mut parts, method.unwrap_or(&Method::POST), length);
    Some(Response::from_parts(parts, body))
}

fn header_map(lines: &[Header], rules: Option<&HeaderRules>) -> Option<HeaderMap> {
    let about_connection: Vec<_> = lines
        .iter()
        .filter(|line| line.name.eq_ignore_ascii_case("connection"))
        .flat_map(|line| names(&line.value))
        .collect();
    let mut headers = HeaderMap::with_capacity(lines.len());
    for line in lines {
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        let value = HeaderValue::from_maybe_shared(line.value.clone()).ok()?;
        let kept = match rules {
            Some(rules) => rules.keeps(&name, &about_connection),
            None => !NEVER_KEPT.contains(&name) && !about_connection.contains(&name),
        };
        if kept {
            headers.try_append(name, value).ok()?;
        }
    }
    Some(headers)
}
