//! After the reservation: the handler, its answer, the record. All of it in a task of its own, which
//! goes on when the client hangs up.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use http::header::CONTENT_LENGTH;
use http::response::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use idem_core::{Executed, Held, Response as Stored, Verdict};
use tower_service::Service;

use crate::capture::{Captured, capture};
use crate::header_rules::{REPLAYED, is_cut_short, mend_content_length};
use crate::outcome;
use crate::recorded::RecordedAnswer;
use crate::settings::Settings;
use crate::{AnswerBody, Disposition, RequestBody, ResponseBody};

pub(crate) type Sent<R> = Response<ResponseBody<R>>;

/// Runs the handler and records its answer. `Err`: the service's own error.
pub(crate) async fn run<S, B, R>(
    settings: Arc<Settings>,
    held: Held,
    mut inner: S,
    mut request: Request<RequestBody<B>>,
) -> Result<Sent<R>, S::Error>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    R: Body,
{
    let run = Run {
        settings: &settings,
        method: request.method().clone(),
    };
    request.extensions_mut().insert(held.reservation().clone());
    let running = AssertUnwindSafe(async { inner.call(request).await });
    let response = match running.catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            return match held.fail().await {
                None => Err(error),
                Some(standing) => Ok(run.send(standing)),
            };
        }
        Err(_) => {
            tracing::error!(record = %held.reservation().operation().record, "the handler panicked");
            return Ok(run.failed(held).await);
        }
    };
    Ok(run.record(held, response).await)
}

struct Run<'a> {
    settings: &'a Settings,
    method: Method,
}

impl Run<'_> {
    async fn record<R: Body>(&self, held: Held, response: Response<R>) -> Sent<R> {
        let (mut parts, body) = response.into_parts();
        parts.headers.remove(REPLAYED);
        if let Some(RecordedAnswer(answer)) = parts.extensions.remove() {
            return self.recorded_by_handler(held, answer, &parts).await;
        }
        let answers = &self.settings.answers;
        match answers.of(&parts, self.settings.idempotency.on_lapse()) {
            // A switch of protocols has no answer to keep.
            Disposition::Complete if !parts.status.is_informational() => {
                self.complete(held, parts, body).await
            }
            Disposition::Complete | Disposition::CompleteWithoutBody => {
                let verdict = Verdict::CompleteWithoutBody {
                    response: only_status(&parts),
                    body_length: body.size_hint().lower(),
                };
                self.stream(held, verdict, parts, body).await
            }
            Disposition::Abandon => {
                let verdict = Verdict::Abandon(only_status(&parts));
                self.stream(held, verdict, parts, body).await
            }
            Disposition::Release => {
                let verdict = Verdict::Release(only_status(&parts));
                self.stream(held, verdict, parts, body).await
            }
            Disposition::Unknown => match held.fail().await {
                None => as_it_comes(parts, body),
                Some(standing) => self.send(standing),
            },
        }
    }

    /// It has committed: this very answer is what every repeat gets.
    async fn recorded_by_handler<R: Body>(
        &self,
        held: Held,
        answer: Stored,
        parts: &Parts,
    ) -> Sent<R> {
        match held.finish(Verdict::AlreadyRecorded(answer)).await {
            Executed::Ran { response, .. } => {
                let answer = outcome::as_given(self.settings, &self.method, &response);
                let (mut first, body) = answer.into_parts();
                // What layers inside, or the handler itself, put beside the record.
                for name in parts.headers.keys().filter(|name| **name != CONTENT_LENGTH) {
                    first.headers.remove(name);
                    for value in parts.headers.get_all(name) {
                        first.headers.append(name, value.clone());
                    }
                }
                Response::from_parts(first, body.into())
            }
            standing => self.send(standing),
        }
    }

    /// Captured, recorded, sent, in this order.
    async fn complete<R: Body>(&self, held: Held, mut parts: Parts, body: R) -> Sent<R> {
        let settings = self.settings;
        let capturing = capture(body, settings.answer_limit, settings.capture_for);
        match AssertUnwindSafe(capturing).catch_unwind().await {
            Ok(Captured::Whole { body, .. }) if is_cut_short(&parts, &self.method, body.len()) => {
                self.broken_off(held).await
            }
            Ok(Captured::Whole { body, trailers }) => {
                mend_content_length(&mut parts, &self.method, body.len());
                let stored = settings
                    .header_rules
                    .stored(&parts, body.clone(), trailers.as_ref());
                match held.finish(Verdict::Complete(stored)).await {
                    Executed::Ran { .. } => {
                        let body = AnswerBody::new(body, trailers);
                        Response::from_parts(parts, body.into())
                    }
                    standing => self.send(standing),
                }
            }
            Ok(Captured::Streams { read, rest, length }) => {
                let verdict = Verdict::CompleteWithoutBody {
                    response: only_status(&parts),
                    body_length: length,
                };
                match held.finish(verdict).await {
                    Executed::Ran { .. } => {
                        Response::from_parts(parts, ResponseBody::streamed(read, rest))
                    }
                    standing => self.send(standing),
                }
            }
            Ok(Captured::Failed(_)) | Err(_) => self.broken_off(held).await,
        }
    }

    async fn broken_off<R>(&self, held: Held) -> Sent<R> {
        tracing::error!(
            record = %held.reservation().operation().record,
            "the answer broke off: it is not recorded",
        );
        self.failed(held).await
    }

    /// Recorded first, then sent as it comes: what happens to the body changes nothing any more.
    async fn stream<R: Body>(
        &self,
        held: Held,
        verdict: Verdict,
        parts: Parts,
        body: R,
    ) -> Sent<R> {
        match held.finish(verdict).await {
            Executed::Ran { .. } => as_it_comes(parts, body),
            standing => self.send(standing),
        }
    }

    fn send<R>(&self, executed: Executed) -> Sent<R> {
        outcome::response(self.settings, &self.method, executed).map(Into::into)
    }

    /// Nobody knows what happened.
    async fn failed<R>(&self, held: Held) -> Sent<R> {
        match held.fail().await {
            None => outcome::unknown(self.settings).map(Into::into),
            Some(standing) => self.send(standing),
        }
    }
}

fn only_status(parts: &Parts) -> Stored {
    Stored::new(parts.status.as_u16())
}

fn as_it_comes<R>(parts: Parts, body: R) -> Sent<R> {
    Response::from_parts(parts, ResponseBody::untouched(body))
}
