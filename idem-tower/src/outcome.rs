//! What became of a request, as HTTP.

use std::time::Duration;

use http::{HeaderValue, Method, Response};
use idem_core::{Answer, Error, Executed, Replay, Response as Stored};

use crate::AnswerBody;
use crate::header_rules::{REPLAYED, as_http};
use crate::problem::{Problem, ProblemKind};
use crate::settings::Settings;

/// Says that this layer has put the mark of a replay on the response.
#[derive(Clone, Copy)]
pub(crate) struct Marked;

pub(crate) fn response(
    settings: &Settings,
    method: &Method,
    executed: Executed,
) -> Response<AnswerBody> {
    match executed {
        Executed::Ran { response, .. } => as_given(settings, method, &response),
        Executed::Replayed(replay) => replayed(settings, method, &replay),
        Executed::Conflict { retry_after } => conflict(settings, retry_after),
        Executed::Mismatch => mismatch(settings),
    }
}

/// A handler's answer, sent as it was given.
pub(crate) fn as_given(
    settings: &Settings,
    method: &Method,
    answer: &Stored,
) -> Response<AnswerBody> {
    as_http(answer, Some(method), None).unwrap_or_else(|| unreadable(settings, answer))
}

pub(crate) fn replayed(
    settings: &Settings,
    method: &Method,
    replay: &Replay,
) -> Response<AnswerBody> {
    match &replay.answer {
        Answer::Full(answer) => {
            let rules = Some(&settings.header_rules);
            let Some(mut response) = as_http(answer, Some(method), rules) else {
                return unreadable(settings, answer);
            };
            let mark = HeaderValue::from_static("true");
            response.headers_mut().insert(REPLAYED, mark);
            response.extensions_mut().insert(Marked);
            response
        }
        Answer::NotRetained { status, .. } => Problem::new(
            ProblemKind::AnswerNotRetained,
            format!("it was answered once, with status {status}: do not send it again"),
        )
        .original_status(*status)
        .response(&settings.problems),
    }
}

fn unreadable(settings: &Settings, answer: &Stored) -> Response<AnswerBody> {
    Problem::new(
        ProblemKind::RecordUnreadable,
        "it was answered, but what is stored is no HTTP answer",
    )
    .original_status(answer.status())
    .response(&settings.problems)
}

pub(crate) fn conflict(settings: &Settings, retry_after: Option<Duration>) -> Response<AnswerBody> {
    match retry_after {
        // Once the lease is over, the next request takes the operation over: no reason to wait longer.
        Some(lease_left) => Problem::new(
            ProblemKind::InFlight,
            "the first request with this key is still running: send the same one again",
        )
        .retry_after(whole_seconds(settings.retry_after.min(lease_left))),
        None => Problem::new(
            ProblemKind::Unresolved,
            "it was interrupted and will not run again by itself: somebody has to look into it",
        ),
    }
    .response(&settings.problems)
}

pub(crate) fn mismatch(settings: &Settings) -> Response<AnswerBody> {
    Problem::new(
        ProblemKind::KeyReused,
        "this key was used for another request: a new operation needs a new key",
    )
    .response(&settings.problems)
}

/// The store could not be asked: nothing ran.
pub(crate) fn store_failed(settings: &Settings, error: &Error) -> Response<AnswerBody> {
    if error.is_corrupt() || error.is_invalid() || error.is_too_large() {
        Problem::new(
            ProblemKind::RecordUnreadable,
            "nothing ran; retrying does not help until somebody has looked",
        )
    } else {
        Problem::new(
            ProblemKind::StoreUnavailable,
            "nothing ran: send the request again, with the same key",
        )
        .retry_after(whole_seconds(settings.retry_after))
    }
    .response(&settings.problems)
}

/// Nobody knows what happened.
pub(crate) fn unknown(settings: &Settings) -> Response<AnswerBody> {
    Problem::new(
        ProblemKind::OutcomeUnknown,
        "it may have had its effect: to learn what became of it, send the same request again, with the \
         same key",
    )
    .response(&settings.problems)
}

/// As many handlers run as may.
pub(crate) fn overloaded(settings: &Settings) -> Response<AnswerBody> {
    Problem::new(
        ProblemKind::Overloaded,
        "nothing ran: send the request again, with the same key",
    )
    .retry_after(whole_seconds(settings.retry_after))
    .response(&settings.problems)
}

/// Rounded up, and one at least: a client told to wait for no time would ask at once.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs();
    let up = u64::from(duration.subsec_nanos() > 0);
    seconds.saturating_add(up).max(1)
}
