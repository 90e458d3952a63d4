//! What became of a request, as HTTP.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response as HttpResponse};
use idempotency::{Answer, Executed, Replay, Response};

use crate::problem::{Kind, Problem};

/// The mark of a replay. It is put on the way out: never stored, never believed when it comes in.
pub(crate) const REPLAYED: &str = "idempotent-replayed";

/// The answer, its own or replayed, or why there is none.
pub(crate) fn to_http(executed: Executed) -> Result<HttpResponse, Problem> {
    let (kind, detail) = match executed {
        Executed::Ran { response, .. } => return Ok(as_given(&response)),
        Executed::Replayed(Replay {
            answer: Answer::Full(response),
            ..
        }) => {
            let mut replay = as_given(&response);
            let mark = HeaderValue::from_static("true");
            replay.headers_mut().insert(REPLAYED, mark);
            return Ok(replay);
        }
        Executed::Replayed(Replay {
            answer: Answer::NotRetained { status, .. },
            ..
        }) => (
            Kind::AnswerNotRetained,
            format!("it was answered once, with status {status}: do not send it again"),
        ),
        Executed::Conflict {
            retry_after: Some(_),
        } => (
            Kind::InFlight,
            "the first request with this key is still running: send the same one again".into(),
        ),
        Executed::Conflict { retry_after: None } => (
            Kind::Unresolved,
            "it was interrupted and will not run again by itself: somebody is to look into it"
                .into(),
        ),
        Executed::Mismatch => (
            Kind::KeyReused,
            "this key was used for another payment: a new payment needs a new key".into(),
        ),
    };
    Err(Problem::new(kind, detail))
}

/// A stored answer, sent as it was given.
fn as_given(response: &Response) -> HttpResponse {
    let http = HttpResponse::builder().status(response.status());
    response
        .headers()
        .iter()
        .fold(http, |http, line| {
            http.header(line.name.as_str(), line.value.as_ref())
        })
        .body(Body::from(response.body_bytes().clone()))
        // Not HTTP: another program wrote it into the same store.
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

impl IntoResponse for Problem {
    fn into_response(self) -> HttpResponse {
        as_given(&self.response())
    }
}
