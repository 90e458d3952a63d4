//! An answer that its handler has recorded itself.

use http::{Response, StatusCode};
use idem_core::Response as Stored;

use crate::AnswerBody;
use crate::header_rules::as_http;

/// An answer that its handler has recorded itself, together with its effect: it completed its own
/// record, with the [`Reservation`](idem_core::Reservation) of the request, in a transaction of its
/// own, **which has committed**. The layer sends this very answer and does not complete again.
///
/// The handler calls [`Reservation::stop_heartbeat`](idem_core::Reservation::stop_heartbeat) before the
/// transaction takes its snapshot or its locks. If nobody knows whether the transaction has committed,
/// answer with [`Disposition::Unknown`](crate::Disposition::Unknown) instead.
///
/// ```
/// use idem_core::Response;
/// use idem_tower::RecordedAnswer;
///
/// let answer = Response::new(201).header("content-type", "application/json").body("{}");
/// // … `complete` the record with `answer` inside the transaction, and commit it …
/// let response: http::Response<_> = RecordedAnswer(answer).into_http();
/// ```
///
/// Headers that are not replayed, such as `Set-Cookie`, belong on the response that it becomes: the first
/// answer has them, the record has not. With feature `axum` it is a response of a handler by itself.
#[derive(Clone, Debug)]
pub struct RecordedAnswer(
    /// What was recorded.
    pub Stored,
);

impl RecordedAnswer {
    /// The answer as HTTP, marked for the layer. Without the layer it is the same answer.
    ///
    /// An answer that is not HTTP (a status outside 100 to 999, a header name with a space) becomes 500.
    pub fn into_http(self) -> Response<AnswerBody> {
        let mut response = as_http(&self.0, None, None).unwrap_or_else(|| {
            let mut response = Response::new(AnswerBody::default());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        });
        response.extensions_mut().insert(self);
        response
    }
}
