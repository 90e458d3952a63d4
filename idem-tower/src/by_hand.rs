//! For handlers that run reserve, effect and completion by themselves, in one transaction.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Method, Response};
use idem_core::{
    Applied, Error, Executed, Operation, Replay, Response as Stored, RunInError, Terms,
};

use crate::AnswerBody;
use crate::outcome;
use crate::settings::Settings;

/// What a handler under [`IdempotencyLayer::by_hand`](crate::IdempotencyLayer::by_hand) gets, from the
/// request's extensions or as an axum extractor: the operation, and how to answer what is not its own
/// answer. Key, scope, body and fingerprint are checked already.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use idem_core::Executed;
/// use idem_tower::{AnswerBody, Idempotent};
///
/// # async fn one_transaction(_: &idem_core::Operation) -> Result<Executed, idem_core::Error> { Ok(Executed::Mismatch) }
/// async fn pay<B>(request: Request<B>) -> Response<AnswerBody> {
///     let idempotent = request.extensions().get::<Idempotent>().expect("the layer is there");
///     // reserve, effect and completion in one transaction of the store
///     match one_transaction(idempotent.operation()).await {
///         Ok(executed) => idempotent.answer(executed),
///         Err(error) => idempotent.store_failed(&error),
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Idempotent {
    operation: Operation,
    method: Method,
    settings: Arc<Settings>,
}

impl Idempotent {
    pub(crate) fn new(operation: Operation, method: Method, settings: Arc<Settings>) -> Self {
        Self {
            operation,
            method,
            settings,
        }
    }

    /// Scope, key and fingerprint of the request.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Lease and retention as the layer's executor has them, and as its [policy](crate::Policy) says: for the
    /// transaction, as in `store.transactions().terms(idempotent.terms())`.
    pub fn terms(&self) -> Terms {
        self.settings.idempotency.terms()
    }

    /// What to record of an answer: its status, and body, headers and trailers by the layer's rules.
    pub fn to_record(&self, parts: &Parts, body: Bytes, trailers: Option<&HeaderMap>) -> Stored {
        self.settings.header_rules.stored(parts, body, trailers)
    }

    /// The answer to what became of the request: its own, a replay (marked so), a conflict, a mismatch.
    pub fn answer(&self, executed: Executed) -> Response<AnswerBody> {
        outcome::response(&self.settings, &self.method, executed)
    }

    /// The answer to what became of a run in one transaction of the store, such as `PostgresStore::run_in`.
    ///
    /// If the commit may or may not have happened, or the handler panicked or was lost, that is a 500
    /// `outcome-unknown`: the same request, sent again, finds out.
    ///
    /// ```
    /// # use http::{Response, StatusCode};
    /// # use idem_core::{Executed, RunInError};
    /// # use idem_tower::{AnswerBody, Idempotent};
    /// # fn answer(idempotent: &Idempotent, ran: Result<Executed, RunInError<std::fmt::Error>>)
    /// # -> Result<Response<AnswerBody>, StatusCode> {
    /// idempotent.answer_run(ran).map_err(|_failed| StatusCode::INTERNAL_SERVER_ERROR)
    /// # }
    /// ```
    ///
    /// # Errors
    /// The handler's own: everything was rolled back, and what its caller is told is the application's
    /// choice.
    pub fn answer_run<E>(
        &self,
        ran: Result<Executed, RunInError<E>>,
    ) -> Result<Response<AnswerBody>, E> {
        match ran {
            Ok(executed) => Ok(self.answer(executed)),
            Err(RunInError::Handler(error)) => Err(error),
            Err(RunInError::Store(error)) => {
                let record = &self.operation.record;
                tracing::error!(%record, error = &error as &dyn StdError, "it did not commit");
                Ok(self.store_failed(&error))
            }
            Err(RunInError::Panicked(_) | RunInError::Cancelled) => {
                let record = &self.operation.record;
                tracing::error!(%record, "the handler panicked, or the runtime shut down");
                Ok(outcome::unknown(&self.settings))
            }
        }
    }

    /// The answer that stands, marked as a replay.
    pub fn replay(&self, replay: &Replay) -> Response<AnswerBody> {
        outcome::replayed(&self.settings, &self.method, replay)
    }

    /// 409: in flight, or unresolved where waiting does not help (`None`).
    pub fn conflict(&self, retry_after: Option<Duration>) -> Response<AnswerBody> {
        outcome::conflict(&self.settings, retry_after)
    }

    /// 422: the key was used for another request.
    pub fn mismatch(&self) -> Response<AnswerBody> {
        outcome::mismatch(&self.settings)
    }

    /// The answer to an error of the store: 500 `outcome-unknown` if the call
    /// [may have been applied](Error::applied), as after a commit whose answer was lost; otherwise
    /// nothing ran: 503 if the store is away, 500 if it holds something that cannot be read.
    pub fn store_failed(&self, error: &Error) -> Response<AnswerBody> {
        match error.applied() {
            Applied::Unknown => outcome::unknown(&self.settings),
            Applied::No => outcome::store_failed(&self.settings, error),
        }
    }
}

impl fmt::Debug for Idempotent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotent")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
