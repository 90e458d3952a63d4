//! What the documentation says that becomes of an answer, written down once more, by other means than
//! the crate's.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use idem_core::{OnLapse, Response as Stored};
use idem_tower::Disposition;

use super::answers::{Case, Preset};
use crate::support::frames::{Arrived, Step};

/// "About one connection or one sending": RFC 9110, sections 7.6.1 and 6.6.1, and the mark.
const NEVER: &[&str] = &[
    "connection",
    "proxy-connection",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
    "date",
    "idempotent-replayed",
];

/// "Not replayed by default".
const ON_REQUEST: &[&str] = &[
    "set-cookie",
    "www-authenticate",
    "proxy-authenticate",
    "authentication-info",
    "proxy-authentication-info",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Repeats replay it.
    Kept,
    /// Repeats are told that it is gone: 410.
    BodyNotKept,
    /// The next request runs again, as this attempt.
    RunsAgain { attempt: u32 },
    /// In flight until the lease is over, then nobody knows.
    Unresolved,
}

/// What there is to know about the first answer and the second.
#[derive(Debug)]
pub(crate) struct Ruled {
    pub(crate) fate: Fate,
    /// The first caller gets the handler's answer; otherwise a problem, since its body broke off.
    pub(crate) first_is_own: bool,
    /// The body was read to its end before it was sent: its length is known.
    pub(crate) read_before: bool,
}

pub(crate) fn ruled(case: &Case) -> Ruled {
    let as_it_comes = |fate| Ruled {
        fate,
        first_is_own: true,
        read_before: false,
    };
    let unknown = match case.on_lapse {
        OnLapse::RunAgain => Fate::RunsAgain { attempt: 2 },
        OnLapse::Hold => Fate::Unresolved,
    };
    match disposition(case) {
        Disposition::Abandon => as_it_comes(Fate::RunsAgain { attempt: 2 }),
        Disposition::Release => as_it_comes(Fate::RunsAgain { attempt: 1 }),
        Disposition::Unknown => as_it_comes(unknown),
        Disposition::Complete if case.status.as_u16() >= 200 => match body(case) {
            BodyIs::TooLarge => as_it_comes(Fate::BodyNotKept),
            BodyIs::Broken => Ruled {
                fate: unknown,
                first_is_own: false,
                read_before: true,
            },
            BodyIs::Whole => Ruled {
                fate: if recorded(case).encoded_len() > case.response_limit {
                    Fate::BodyNotKept
                } else {
                    Fate::Kept
                },
                first_is_own: true,
                read_before: true,
            },
        },
        // To be sent as it comes, or a switch of protocols: nothing of it can be kept.
        _ => as_it_comes(Fate::BodyNotKept),
    }
}

fn disposition(case: &Case) -> Disposition {
    if let Some(chosen) = case.chosen {
        return chosen;
    }
    let kept = match (case.preset, case.status.as_u16()) {
        (Preset::Everything, _) => true,
        (Preset::SuccessesOnly, status) => status < 400,
        (Preset::Standard, 401 | 407 | 408 | 425 | 429) => false,
        (Preset::Standard, status) => status < 500,
    };
    let content_type = case.headers.get("content-type");
    let content_type = content_type.map_or_else(Vec::new, |value| value.as_bytes().to_vec());
    let text = String::from_utf8_lossy(&content_type).to_lowercase();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let endless = matches!(essence, "text/event-stream" | "multipart/x-mixed-replace");
    match (kept, case.on_lapse) {
        (true, _) if endless => Disposition::CompleteWithoutBody,
        (true, _) => Disposition::Complete,
        (false, OnLapse::RunAgain) => Disposition::Abandon,
        (false, OnLapse::Hold) => Disposition::Unknown,
    }
}

enum BodyIs {
    Whole,
    Broken,
    TooLarge,
}

/// Larger than the limit, declared or counted while reading, whichever comes first.
fn body(case: &Case) -> BodyIs {
    let limit = case.answer_limit;
    if case.body.declares && case.body.length() > limit {
        return BodyIs::TooLarge;
    }
    let mut length = 0;
    for step in &case.body.steps {
        match step {
            Step::Data(data) => length += data.len(),
            Step::Breaks => return BodyIs::Broken,
            Step::Pending | Step::Trailers(_) => {}
            Step::Never => unreachable!("no answer of these hangs"),
        }
        if length > limit {
            return BodyIs::TooLarge;
        }
    }
    match declared(case) {
        Some(declared) if declared > length as u64 && !is_of_another(case, length) => {
            BodyIs::Broken
        }
        _ => BodyIs::Whole,
    }
}

/// The length that the handler has declared, if it said one thing only.
fn declared(case: &Case) -> Option<u64> {
    let mut lines = case.headers.get_all("content-length").iter();
    let line = lines.next()?;
    if lines.next().is_some() {
        return None;
    }
    std::str::from_utf8(line.as_bytes()).ok()?.parse().ok()
}

/// Without a body the length tells of the one that there would be.
fn is_of_another(case: &Case, length: usize) -> bool {
    length == 0 && (case.method == "HEAD" || case.status == 304)
}

/// What the handler gave, as far as its body goes.
pub(crate) fn given(case: &Case) -> Arrived {
    let mut given = Arrived {
        data: Vec::new(),
        trailers: HeaderMap::new(),
        whole: true,
    };
    for step in &case.body.steps {
        match step {
            Step::Data(data) => given.data.extend_from_slice(data),
            Step::Trailers(trailers) => given.trailers = trailers.clone(),
            Step::Pending => {}
            Step::Never => unreachable!("no answer of these hangs"),
            Step::Breaks => {
                given.whole = false;
                break;
            }
        }
    }
    given
}

/// The header lines of the first answer: the handler's, without the mark, which only the layer sets,
/// and without a length that is not that of the body.
pub(crate) fn first_headers(case: &Case, read_before: bool) -> HeaderMap {
    let length = given(case).data.len();
    let lines = case.headers.get_all("content-length").iter();
    let lengths: Vec<_> = lines.map(HeaderValue::as_bytes).collect();
    let right = lengths == [length.to_string().as_bytes()];
    let stays = right || is_of_another(case, length) || !read_before;
    let lines = case.headers.iter();
    let lines = lines.filter(|(name, _)| match name.as_str() {
        "idempotent-replayed" => false,
        "content-length" => stays,
        _ => true,
    });
    collected(lines)
}

/// Those of these lines that are replayed.
pub(crate) fn kept(case: &Case, lines: &HeaderMap) -> HeaderMap {
    collected(lines.iter().filter(|(name, _)| keeps(case, name)))
}

fn keeps(case: &Case, name: &HeaderName) -> bool {
    let connection = case.headers.get_all("connection").iter();
    let listed = connection.map(|line| String::from_utf8_lossy(line.as_bytes()).to_lowercase());
    let listed = listed.collect::<Vec<_>>().join(",");
    let mut listed = listed
        .split(',')
        .map(|option| option.trim_matches([' ', '\t']));
    if NEVER.contains(&name.as_str()) || listed.any(|option| option == name.as_str()) {
        return false;
    }
    let mut keeps = !ON_REQUEST.contains(&name.as_str());
    for (asked, keep) in &case.asked {
        if asked == name {
            keeps = *keep;
        }
    }
    keeps
}

fn collected<'a>(lines: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>) -> HeaderMap {
    lines
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The answer as the store is to keep it: only its size counts here.
fn recorded(case: &Case) -> Stored {
    let given = given(case);
    let value = |value: &HeaderValue| Bytes::copy_from_slice(value.as_bytes());
    let mut stored = Stored::new(case.status.as_u16()).body(given.data);
    for (name, line) in &kept(case, &first_headers(case, true)) {
        stored = stored.header(name.as_str(), value(line));
    }
    for (name, line) in &kept(case, &given.trailers) {
        stored = stored.trailer(name.as_str(), value(line));
    }
    stored
}
