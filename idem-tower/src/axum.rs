//! For axum's handlers.

use std::convert::Infallible;

use ::axum::body::Body;
use ::axum::extract::{FromRequestParts, OptionalFromRequestParts, OriginalUri};
use ::axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use http::request::Parts;
use http::{StatusCode, Uri};
use idem_core::{Idempotency, Reservation};

use crate::service::Passed;
use crate::{Disposition, IdempotencyLayer, Idempotent, RecordedAnswer, ScopeExtractor};

/// The layer for routers of axum: an [`IdempotencyLayer`] that knows what axum's `nest` does to paths (see
/// [`original_path`]). Apply it by `route_layer`, so that it guards routes and not what is not found.
pub fn layer(idempotency: Idempotency, scope: impl ScopeExtractor) -> IdempotencyLayer {
    IdempotencyLayer::new(idempotency, scope).fingerprint_path(original_path)
}

/// Path and query as the client sent them, and as they are now if that differs, for
/// [`fingerprint_path`](crate::IdempotencyLayer::fingerprint_path): axum's `nest` cuts its prefix off
/// the URI, and inside it `/a/payments` and `/b/payments` look alike.
///
/// Without it they are one operation, and a client that uses one key for both gets the first one's answer
/// from the second.
pub fn original_path(parts: &Parts) -> String {
    let text = |uri: &Uri| {
        uri.path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned()
    };
    let now = text(&parts.uri);
    match parts.extensions.get::<OriginalUri>() {
        Some(OriginalUri(original)) if text(original) != now => {
            format!("{} {now}", text(original))
        }
        _ => now,
    }
}

/// The reservation of the request, as an extractor: attempt, progress,
/// [`derived_key`](Reservation::derived_key). `Option<Reserved>` where the key is optional: `None` for a
/// request that came without one, or by a method that is not guarded.
///
/// ```
/// use idem_tower::axum::Reserved;
///
/// async fn pay(Reserved(reservation): Reserved) -> String {
///     format!("charged as {}", reservation.derived_key("charge"))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Reserved(
    /// What the layer has reserved.
    pub Reservation,
);

/// The request has not come through the layer, or is not guarded by it: the handler is not protected, and
/// must not run. Answered 500.
#[derive(Clone, Copy, Debug)]
pub struct NotGuarded;

impl IntoResponse for NotGuarded {
    fn into_response(self) -> Response {
        tracing::error!(
            "a handler wants a reservation, but its route is not inside the idempotency layer, or its \
             method is not guarded, or its key is optional and was not sent (take an Option), or the store \
             is down and the layer is open",
        );
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Reserved {
    type Rejection = NotGuarded;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NotGuarded> {
        let reservation = parts.extensions.get::<Reservation>();
        reservation.cloned().map(Self).ok_or(NotGuarded)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Reserved {
    type Rejection = NotGuarded;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, NotGuarded> {
        has_passed(parts)?;
        Ok(parts.extensions.get::<Reservation>().cloned().map(Self))
    }
}

/// A layer that stands in the wrong place must not look like a key that was not sent.
fn has_passed(parts: &Parts) -> Result<(), NotGuarded> {
    let passed = parts.extensions.get::<Passed>();
    passed.map(|_| ()).ok_or(NotGuarded)
}

impl<S: Sync> FromRequestParts<S> for Idempotent {
    type Rejection = NotGuarded;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NotGuarded> {
        parts.extensions.get::<Self>().cloned().ok_or(NotGuarded)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Idempotent {
    type Rejection = NotGuarded;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, NotGuarded> {
        has_passed(parts)?;
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

impl IntoResponse for RecordedAnswer {
    fn into_response(self) -> Response {
        self.into_http().map(Body::new)
    }
}

impl IntoResponseParts for Disposition {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}
