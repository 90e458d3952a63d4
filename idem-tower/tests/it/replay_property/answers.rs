//! Any answer that an inner service may give, and any settings of the layer that matter to it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use idem_core::{Idempotency, ManualClock, MemoryStore, OnLapse};
use idem_tower::{Answers, Disposition, IdempotencyLayer};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::by_client;
use crate::support::frames::{Frames, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    Standard,
    Everything,
    SuccessesOnly,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) method: Method,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Frames,
    pub(crate) chosen: Option<Disposition>,
    pub(crate) preset: Preset,
    pub(crate) on_lapse: OnLapse,
    pub(crate) answer_limit: usize,
    pub(crate) response_limit: usize,
    /// The last word about a name counts.
    pub(crate) asked: Vec<(HeaderName, bool)>,
}

impl Case {
    pub(crate) fn layer(&self, clock: ManualClock) -> IdempotencyLayer {
        let store = MemoryStore::with_clock(clock);
        let idempotency = Idempotency::builder(store)
            .on_lapse(self.on_lapse)
            .response_limit(self.response_limit)
            .build()
            .unwrap();
        let layer = IdempotencyLayer::new(idempotency, by_client)
            .methods([Method::POST, Method::HEAD])
            .answer_limit(self.answer_limit)
            .answers(match self.preset {
                Preset::Standard => Answers::standard(),
                Preset::Everything => Answers::everything(),
                Preset::SuccessesOnly => Answers::successes_only(),
            });
        self.asked.iter().fold(layer, |layer, (name, keep)| {
            if *keep {
                layer.keep_header(name.clone())
            } else {
                layer.drop_header(name.clone())
            }
        })
    }

    pub(crate) fn answer(&self) -> Response<Frames> {
        let mut response = Response::new(self.body.clone());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        if let Some(chosen) = self.chosen {
            response.extensions_mut().insert(chosen);
        }
        response
    }
}

const NAMES: &[&str] = &[
    "location",
    "etag",
    "x-request-id",
    "x-a",
    "x-b",
    "trailer",
    "set-cookie",
    "www-authenticate",
    "proxy-authenticate",
    "authentication-info",
    "proxy-authentication-info",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "date",
    "idempotent-replayed",
];

fn name() -> impl Strategy<Value = HeaderName> {
    prop_oneof![
        9 => prop::sample::select(NAMES).prop_map(HeaderName::from_static),
        1 => "[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,9}".prop_map(|name| name.parse().unwrap()),
    ]
}

/// Few enough that one is asked for twice.
fn asked_name() -> impl Strategy<Value = HeaderName> {
    let few = prop::sample::select(&["set-cookie", "x-a", "date"]);
    prop_oneof![2 => few.prop_map(HeaderName::from_static), 1 => name()]
}

/// Any bytes that a field value may have.
fn value() -> impl Strategy<Value = HeaderValue> {
    let byte = prop_oneof![Just(b'\t'), b' '..=b'~', 0x80..=0xff_u8];
    vec(byte, 0..12).prop_map(|bytes| HeaderValue::from_bytes(&bytes).unwrap())
}

fn connection() -> impl Strategy<Value = HeaderValue> {
    let option = prop_oneof![
        Just("close".to_owned()),
        Just(String::new()),
        Just("\"x-a\"".to_owned()),
        Just("Content-Length".to_owned()),
        name().prop_map(|name| name.as_str().to_uppercase()),
        name().prop_map(|name| format!("  {name}\t")),
    ];
    vec(option, 0..4).prop_map(|options| options.join(",").parse().unwrap())
}

fn content_type() -> impl Strategy<Value = HeaderValue> {
    let text = prop::sample::select(&[
        "application/json",
        "text/event-stream",
        " Text/Event-Stream ;charset=utf-8",
        "multipart/x-mixed-replace;boundary=x",
        "text/event-streams",
        "",
    ]);
    text.prop_map(HeaderValue::from_static)
}

#[derive(Clone, Copy, Debug)]
enum Length {
    Right,
    OneMore,
    LeadingZero,
    NoNumber,
}

fn lengths() -> impl Strategy<Value = Vec<Length>> {
    let length = prop_oneof![
        3 => Just(Length::Right),
        1 => Just(Length::OneMore),
        1 => Just(Length::LeadingZero),
        1 => Just(Length::NoNumber),
    ];
    prop_oneof![4 => vec(length.clone(), 0..2), 1 => vec(length, 2..4)]
}

fn headers() -> impl Strategy<Value = Vec<(HeaderName, HeaderValue)>> {
    let line = prop_oneof![
        10 => (name(), value()),
        2 => connection().prop_map(|value| (http::header::CONNECTION, value)),
        1 => content_type().prop_map(|value| (http::header::CONTENT_TYPE, value)),
    ];
    vec(line, 0..9)
}

fn body() -> impl Strategy<Value = Frames> {
    let data = vec(any::<u8>(), 0..9).prop_map(|data| Step::Data(Bytes::from(data)));
    let step = prop_oneof![
        12 => data,
        2 => Just(Step::Data(Bytes::new())),
        2 => Just(Step::Pending),
        1 => Just(Step::Breaks),
    ];
    let trailers = vec((name(), value()), 0..5).prop_map(|lines| lines.into_iter().collect());
    let trailers = prop::option::weighted(0.3, trailers);
    (vec(step, 0..8), trailers, any::<bool>()).prop_map(|(steps, trailers, declares)| Frames {
        steps: steps
            .into_iter()
            .chain(trailers.map(Step::Trailers))
            .collect(),
        declares,
    })
}

fn status() -> impl Strategy<Value = StatusCode> {
    let common = [
        101, 199, 200, 201, 204, 205, 299, 304, 308, 399, 400, 401, 402, 404, 407, 408, 409, 422,
        425, 429, 499, 500, 503, 599, 600, 999,
    ];
    prop_oneof![
        2 => prop::sample::select(&[200_u16, 201, 204, 304][..]),
        2 => prop::sample::select(common.to_vec()),
        1 => 100..=999_u16,
    ]
    .prop_map(|status| StatusCode::from_u16(status).unwrap())
}

fn chosen() -> impl Strategy<Value = Option<Disposition>> {
    let chosen = prop::sample::select(&[
        Disposition::Complete,
        Disposition::CompleteWithoutBody,
        Disposition::Abandon,
        Disposition::Release,
        Disposition::Unknown,
    ]);
    prop::option::weighted(0.2, chosen)
}

prop_compose! {
    pub(crate) fn case()(
        (mut lines, lengths, body) in (headers(), lengths(), body()),
        (method, status) in (prop::sample::select(&[Method::POST, Method::HEAD]), status()),
        chosen in chosen(),
        preset in prop::sample::select(&[Preset::Standard, Preset::Everything, Preset::SuccessesOnly]),
        on_lapse in prop::sample::select(&[OnLapse::RunAgain, OnLapse::RunAgain, OnLapse::Hold]),
        answer_limit in prop::sample::select(&[0, 1, 16, 17, 1 << 10, 1 << 10]),
        response_limit in prop::sample::select(&[100, 1 << 20, 1 << 20]),
        asked in vec((asked_name(), any::<bool>()), 0..4),
        at in any::<prop::sample::Index>(),
    ) -> Case {
        let length = body.length();
        for kind in lengths {
            let text = match kind {
                Length::Right => length.to_string(),
                Length::OneMore => (length + 1).to_string(),
                Length::LeadingZero => format!("0{length}"),
                Length::NoNumber => "many".to_owned(),
            };
            let line = (http::header::CONTENT_LENGTH, text.parse().unwrap());
            lines.insert(at.index(lines.len() + 1), line);
        }
        Case {
            method, status, headers: lines.into_iter().collect(), body, chosen, preset, on_lapse,
            answer_limit, response_limit, asked,
        }
    }
}
