//! How a row is written: two requests, the answer that each must get, and how often the handler ran.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use idem_core::Builder;
use idem_tower::{Disposition, IdempotencyLayer};
use serde_json::Value;

use super::store::Fault;
use crate::support::client::Protocol;

pub(super) type Line = (HeaderName, HeaderValue);

/// Names are lower case, values any bytes that a header may have.
fn line(name: &'static str, value: impl AsRef<[u8]>) -> Line {
    let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
    (HeaderName::from_static(name), value)
}

/// A pair of requests, with a layer, a store and a server of its own.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) layer: fn(IdempotencyLayer) -> IdempotencyLayer,
    pub(super) executor: fn(Builder) -> Builder,
    pub(super) fault: Fault,
    /// What the handler answers: the first run the first, and so on; the last one from then on.
    pub(super) replies: Vec<Reply>,
    pub(super) first: Exchange,
    pub(super) second: Exchange,
    pub(super) between: Between,
    pub(super) runs: usize,
    /// How many reservations the store was asked for, where the row is about that.
    pub(super) reserves: Option<usize>,
    pub(super) over: Over,
}

pub(super) struct Exchange {
    pub(super) ask: Ask,
    pub(super) want: Want,
}

/// What is between the two requests.
#[derive(Clone, Copy)]
pub(super) struct Between {
    pub(super) first_runs: Runs,
    /// So much time passes for the store.
    pub(super) passes: Duration,
}

/// For how long the handler has the first request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Runs {
    /// It has answered before the second request.
    Before,
    /// Until the second request has its answer.
    UntilAnswered,
    /// Until the second request waits for the answer of the first.
    UntilWaitedFor,
}

#[derive(Clone, Copy)]
pub(super) enum Over {
    /// Both requests over HTTP/1.1, then in a new world over HTTP/2.
    Both,
    /// Only over this one, and why.
    Only(Protocol, &'static str),
    /// The first over one, the second over the other, both ways.
    Across,
}

/// The beginning of a row: its name is a sentence. Requests, answers and [`Row::runs`] are to follow.
pub(super) fn row(name: &'static str) -> Row {
    let exchange = || Exchange {
        ask: post("k"),
        want: ran(1),
    };
    Row {
        name,
        layer: |layer| layer,
        executor: |builder| builder,
        fault: Fault::None,
        replies: vec![Reply::default()],
        first: exchange(),
        second: exchange(),
        between: Between {
            first_runs: Runs::Before,
            passes: Duration::ZERO,
        },
        runs: usize::MAX,
        reserves: None,
        over: Over::Both,
    }
}

impl Row {
    pub(super) fn layer(mut self, set: fn(IdempotencyLayer) -> IdempotencyLayer) -> Self {
        self.layer = set;
        self
    }

    pub(super) fn executor(mut self, set: fn(Builder) -> Builder) -> Self {
        self.executor = set;
        self
    }

    pub(super) fn store(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    pub(super) fn handler(self, reply: Reply) -> Self {
        self.handlers([reply])
    }

    pub(super) fn handlers<const N: usize>(mut self, replies: [Reply; N]) -> Self {
        self.replies = replies.into();
        self
    }

    pub(super) fn first(mut self, ask: Ask, want: Want) -> Self {
        self.first = Exchange { ask, want };
        self
    }

    pub(super) fn second(mut self, ask: Ask, want: Want) -> Self {
        self.second = Exchange { ask, want };
        self
    }

    /// The same request twice.
    pub(super) fn twice(self, ask: Ask, first: Want, second: Want) -> Self {
        self.first(ask.clone(), first).second(ask, second)
    }

    pub(super) fn first_still_runs(mut self) -> Self {
        self.between.first_runs = Runs::UntilAnswered;
        self
    }

    pub(super) fn first_runs_until_waited_for(mut self) -> Self {
        self.between.first_runs = Runs::UntilWaitedFor;
        self
    }

    pub(super) fn after(mut self, passes: Duration) -> Self {
        self.between.passes = passes;
        self
    }

    pub(super) fn runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }

    pub(super) fn reserves(mut self, reserves: usize) -> Self {
        self.reserves = Some(reserves);
        self
    }

    pub(super) fn only_http1(mut self, why: &'static str) -> Self {
        self.over = Over::Only(Protocol::Http1, why);
        self
    }

    pub(super) fn only_http2(mut self, why: &'static str) -> Self {
        self.over = Over::Only(Protocol::Http2, why);
        self
    }

    pub(super) fn across(mut self) -> Self {
        self.over = Over::Across;
        self
    }
}

/// A request.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) headers: Vec<Line>,
    pub(super) body: Body,
}

#[derive(Clone)]
pub(super) enum Body {
    Whole(Bytes),
    /// In pieces, and without a length that is known before.
    Pieces(&'static [&'static str]),
    /// After these bytes nothing comes any more, and no end.
    NeverEnds(&'static str),
    /// After these bytes its client is gone.
    BreaksOff(&'static str),
}

/// `POST /payments` of the client `ana` with this key and the body `pay`.
pub(super) fn post(key: impl AsRef<[u8]>) -> Ask {
    keyless().header("idempotency-key", key)
}

/// The same without a key.
pub(super) fn keyless() -> Ask {
    nobody().client("ana")
}

/// The same without a key, of nobody.
pub(super) fn nobody() -> Ask {
    Ask {
        method: Method::POST,
        path: "/payments",
        headers: Vec::new(),
        body: Body::Whole(Bytes::from_static(b"pay")),
    }
}

/// With the key `k`, and JSON.
pub(super) fn json(body: &'static str) -> Ask {
    typed("application/json", body)
}

/// With the key `k`, and a body of this content type.
pub(super) fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Ask {
    post("k").header("content-type", content_type).body(body)
}

impl Ask {
    pub(super) fn method(mut self, method: &str) -> Self {
        self.method = method.parse().unwrap();
        self
    }

    pub(super) fn path(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// One more line.
    pub(super) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push(line(name, value));
        self
    }

    pub(super) fn client(mut self, name: &'static str) -> Self {
        self.headers.retain(|(name, _)| name != "x-client");
        self.header("x-client", name)
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Body::Whole(body.into());
        self
    }

    pub(super) fn pieces(mut self, pieces: &'static [&'static str]) -> Self {
        self.body = Body::Pieces(pieces);
        self
    }

    pub(super) fn never_ends(mut self, after: &'static str) -> Self {
        self.body = Body::NeverEnds(after);
        self
    }

    pub(super) fn breaks_off(mut self, after: &'static str) -> Self {
        self.body = Body::BreaksOff(after);
        self
    }
}

/// What the handler answers. In its body `{run}` is the number of the run, `{attempt}` that of the
/// reservation, `{method}`, `{path}` and `{body}` are the request's, and `{idempotent-replayed}` is what
/// the handler has seen of that header.
#[derive(Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<Line>,
    pub(super) body: Bytes,
    /// The body has no length that is known before its end.
    pub(super) streams: bool,
    pub(super) trailers: Vec<Line>,
    pub(super) disposition: Option<Disposition>,
    pub(super) does: Does,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Does {
    Answer,
    Panic,
    /// It completes its own record, and answers with what it has recorded.
    Record,
    /// Its body breaks off after what there is of it.
    BreakOff,
}

/// `201` with `run {run}` as text.
impl Default for Reply {
    fn default() -> Self {
        reply(201)
            .header("content-type", "text/plain")
            .body("run {run}")
    }
}

/// No headers, no body.
pub(super) fn reply(status: u16) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body: Bytes::new(),
        streams: false,
        trailers: Vec::new(),
        disposition: None,
        does: Does::Answer,
    }
}

impl Reply {
    pub(super) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push(line(name, value));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn streams(mut self) -> Self {
        self.streams = true;
        self
    }

    /// With trailers, the body streams.
    pub(super) fn trailer(mut self, name: &'static str, value: &'static str) -> Self {
        self.trailers.push(line(name, value));
        self
    }

    pub(super) fn says(mut self, disposition: Disposition) -> Self {
        self.disposition = Some(disposition);
        self
    }

    pub(super) fn does(mut self, does: Does) -> Self {
        self.does = does;
        self
    }
}

/// The answer that a request must get: all of its headers, apart from `date`.
#[derive(Clone)]
pub(super) struct Want {
    pub(super) status: u16,
    pub(super) headers: Vec<Line>,
    pub(super) body: WantBody,
    pub(super) trailers: Vec<Line>,
    pub(super) length: Length,
    pub(super) date: Date,
}

#[derive(Clone)]
pub(super) enum WantBody {
    Exactly(Bytes),
    /// The same JSON.
    Json(Value),
    /// There is no answer at all: the connection or the stream breaks off.
    NoAnswer,
}

/// What an answer says about the length of its body, if no line of the row does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Length {
    /// `content-length` is right. Of an empty body, HTTP/1.1 says it and HTTP/2 does not.
    Known,
    /// HTTP/1.1 says `transfer-encoding: chunked`, HTTP/2 nothing.
    Streams,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Date {
    Any,
    Is(&'static str),
    IsNot(&'static str),
}

/// No headers but the body's length, no body.
pub(super) fn answer(status: u16) -> Want {
    Want {
        status,
        headers: Vec::new(),
        body: WantBody::Exactly(Bytes::new()),
        trailers: Vec::new(),
        length: Length::Known,
        date: Date::Any,
    }
}

/// The [default answer](Reply::default) of this run.
pub(super) fn ran(run: usize) -> Want {
    answer(201)
        .header("content-type", "text/plain")
        .body(format!("run {run}"))
}

/// The default answer of this run, replayed.
pub(super) fn replay(run: usize) -> Want {
    ran(run).replayed()
}

pub(super) fn no_answer() -> Want {
    let mut want = answer(0);
    want.body = WantBody::NoAnswer;
    want
}

impl Want {
    pub(super) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push(line(name, value));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = WantBody::Exactly(body.into());
        self
    }

    pub(super) fn replayed(self) -> Self {
        self.header("idempotent-replayed", "true")
    }

    pub(super) fn streams(mut self) -> Self {
        self.length = Length::Streams;
        self
    }

    pub(super) fn trailer(mut self, name: &'static str, value: &'static str) -> Self {
        self.trailers.push(line(name, value));
        self
    }

    pub(super) fn date(mut self, date: Date) -> Self {
        self.date = date;
        self
    }
}
