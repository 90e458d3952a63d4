//! What becomes of an answer: which are kept, and which let the next request run again.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use http::response::Parts;
use idem_core::OnLapse;

use crate::problem::NotNow;

/// What becomes of one answer of a handler.
///
/// Usually decided by [`Answers`] from status and headers. A handler decides by itself by putting one
/// into its response's extensions, which goes before everything else:
///
/// ```
/// use idem_tower::Disposition;
///
/// let mut response = http::Response::new("try again: nothing was charged");
/// *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
/// response.extensions_mut().insert(Disposition::Release);
/// ```
///
/// In axum it is a response part: `(Disposition::Release, StatusCode::SERVICE_UNAVAILABLE)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disposition {
    /// It is the answer: recorded, then sent; every repeat replays it.
    Complete,
    /// It is the answer, and is sent as it comes: a stream, or more than is worth keeping. Repeats get
    /// 410, and nothing runs twice.
    CompleteWithoutBody,
    /// For this caller alone; it is safe to run again, and the next request does, with the same derived
    /// keys. Also under [`OnLapse::Hold`]: there it says that the effect has not happened.
    Abandon,
    /// For this caller alone; nothing happened, and the key is free again, for anything. On an attempt
    /// after the first it abandons: an earlier one may have had the effect.
    Release,
    /// For this caller alone; nobody knows what happened. Under [`OnLapse::RunAgain`] the next request
    /// runs again; under [`OnLapse::Hold`] the operation is unresolved.
    Unknown,
}

/// Which answers become what. See [`IdempotencyLayer::answers`](crate::IdempotencyLayer::answers).
///
/// | | `standard` (default) | `everything` | `successes_only` |
/// | --- | --- | --- | --- |
/// | 2xx, 3xx | kept | kept | kept |
/// | 401, 407, 408, 425, 429 | not kept | kept | not kept |
/// | other 4xx | kept | kept | not kept |
/// | 5xx | not kept | kept | not kept |
///
/// *Kept* is [`Disposition::Complete`]. *Not kept* is [`Disposition::Abandon`]: the same request may be
/// sent again; a corrected one still needs a new key. Under [`OnLapse::Hold`] it is
/// [`Disposition::Unknown`], **and a person has to look at each**: there only the handler itself can say
/// that nothing happened, by [`Disposition::Abandon`] or [`Disposition::Release`]. So under `Hold` let
/// authentication and rate limits stand outside, and keep what is refused.
///
/// A request that an extractor refuses (in axum, a body that is not the JSON asked for) was answered by
/// the handler as far as the layer can see: its 4xx is kept like any other.
///
/// An informational answer (101) has no body to keep, and is completed without one in any case.
///
/// `text/event-stream` and `multipart/x-mixed-replace` do not end: where they would be kept,
/// they are [`Disposition::CompleteWithoutBody`]. Panics and errors of the service are always
/// [`Disposition::Unknown`].
#[derive(Clone)]
pub struct Answers(Kind);

#[derive(Clone)]
enum Kind {
    Standard,
    Everything,
    SuccessesOnly,
    By(Arc<dyn Fn(&Parts) -> Disposition + Send + Sync>),
}

impl Answers {
    /// What stays true is kept: results and refusals. What another try may change is not: 401, 407, 408,
    /// 425, 429 and 5xx.
    pub fn standard() -> Self {
        Self(Kind::Standard)
    }

    /// As Stripe's API v1: whatever was answered once is answered for good, 500 included.
    pub fn everything() -> Self {
        Self(Kind::Everything)
    }

    /// Only what succeeded (2xx and 3xx): every failure may be tried again with the same key and body.
    /// Not for [`OnLapse::Hold`], where each failure would wait for a person.
    pub fn successes_only() -> Self {
        Self(Kind::SuccessesOnly)
    }

    /// As `decide` says, by status, headers and extensions of the answer.
    pub fn by(decide: impl Fn(&Parts) -> Disposition + Send + Sync + 'static) -> Self {
        Self(Kind::By(Arc::new(decide)))
    }

    pub(crate) fn of(&self, parts: &Parts, on_lapse: OnLapse) -> Disposition {
        if let Some(chosen) = parts.extensions.get::<Disposition>() {
            return *chosen;
        }
        let kept = match &self.0 {
            _ if parts.extensions.get::<NotNow>().is_some() => false,
            Kind::Standard => is_settled(parts.status),
            Kind::Everything => true,
            Kind::SuccessesOnly => parts.status.as_u16() < 400,
            Kind::By(decide) => {
                return match decide(parts) {
                    Disposition::Complete if streams(parts) => Disposition::CompleteWithoutBody,
                    decided => decided,
                };
            }
        };
        match (kept, on_lapse) {
            (true, _) if streams(parts) => Disposition::CompleteWithoutBody,
            (true, _) => Disposition::Complete,
            (false, OnLapse::RunAgain) => Disposition::Abandon,
            (false, OnLapse::Hold) => Disposition::Unknown,
        }
    }

    /// For [`Policy`](crate::Policy).
    pub(crate) fn description(&self) -> &'static str {
        match self.0 {
            Kind::Standard => "below 500, except 401, 407, 408, 425 and 429",
            Kind::Everything => "all, errors included",
            Kind::SuccessesOnly => "below 400",
            Kind::By(_) => "decided for each answer",
        }
    }
}

fn is_settled(status: StatusCode) -> bool {
    !matches!(status.as_u16(), 401 | 407 | 408 | 425 | 429 | 500..)
}

/// Whether the answer does not end by its nature: a protocol switch, server-sent events, pushed parts.
fn streams(parts: &Parts) -> bool {
    const ENDLESS: [&str; 2] = ["text/event-stream", "multipart/x-mixed-replace"];
    let content_type = parts.headers.get(http::header::CONTENT_TYPE);
    let essence = content_type
        .and_then(|value| value.as_bytes().split(|&byte| byte == b';').next())
        .unwrap_or_default()
        .trim_ascii();
    parts.status.is_informational()
        || ENDLESS
            .iter()
            .any(|endless| essence.eq_ignore_ascii_case(endless.as_bytes()))
}

impl Default for Answers {
    fn default() -> Self {
        Self::standard()
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answers({})", self.description())
    }
}
