//! The service: takes a request to its answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use idem_core::{Entry, Error, Executed, Operation, RecordId, Response as Stored, Verdict};
use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use tower_service::Service;
use tracing::Instrument as _;
use tracing::field::Empty;

use crate::front::{self, BoxError, Front};
use crate::header_rules::REPLAYED;
use crate::outcome::Marked;
use crate::run::{self, Sent};
use crate::settings::Settings;
use crate::{Idempotent, RequestBody, ResponseBody, outcome};

/// The service that [`IdempotencyLayer`](crate::IdempotencyLayer) makes of another.
///
/// A future of it that is dropped before its handler began leaves nothing behind: a reservation is
/// given back in the background. From then on the handler runs in a task of its own, to its end.
#[derive(Clone, Debug)]
pub struct IdempotencyService<S> {
    inner: S,
    shared: Arc<Shared>,
}

/// What all clones of a layer and of its services have in common.
pub(crate) struct Shared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) tasks: TaskTracker,
    /// A permit for each handler that may run.
    running: Option<Arc<Semaphore>>,
    warned_of_layer_inside: AtomicBool,
}

impl Shared {
    pub(crate) fn new(settings: Settings, tasks: TaskTracker) -> Self {
        let permits = |limit: usize| Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Self {
            running: settings.running_limit.map(permits),
            settings: Arc::new(settings),
            tasks,
            warned_of_layer_inside: AtomicBool::new(false),
        }
    }

    /// `None`: as many handlers run as may.
    fn may_run(&self) -> Option<MayRun> {
        match &self.running {
            None => Some(MayRun(None)),
            Some(permits) => {
                let permit = Arc::clone(permits).try_acquire_owned();
                permit.ok().map(|permit| MayRun(Some(permit)))
            }
        }
    }
}

/// Held for as long as a handler runs.
struct MayRun(#[expect(dead_code, reason = "for its end")] Option<OwnedSemaphorePermit>);

/// Says that layers outside guard this request, and as what.
#[derive(Clone, Default)]
struct Guarded(Vec<RecordId>);

/// Says that the request has come through the layer, guarded or not.
#[derive(Clone, Copy)]
pub(crate) struct Passed;

impl<S> IdempotencyService<S> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, B, R> Service<Request<B>> for IdempotencyService<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data: Send, Error: Send> + Send + 'static,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(Passed);
        if !self.shared.settings.methods.contains(request.method()) {
            let future = self.inner.call(request.map(RequestBody::untouched));
            return ResponseFuture {
                kind: Kind::Passes { future },
            };
        }
        // The one that was found ready goes with the request; its clone has yet to be asked.
        let unasked = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, unasked);
        let (parts, body) = request.into_parts();
        let guarded = guard(Arc::clone(&self.shared), inner, parts, body);
        let span = tracing::debug_span!("idempotency", record = Empty, attempt = Empty);
        ResponseFuture {
            kind: Kind::Guarded {
                future: Box::pin(guarded.instrument(span)),
            },
        }
    }
}

async fn guard<S, B, R>(
    shared: Arc<Shared>,
    inner: S,
    mut parts: Parts,
    body: B,
) -> Result<Sent<R>, S::Error>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data: Send, Error: Send> + Send + 'static,
{
    let settings = &shared.settings;
    let method = parts.method.clone();
    let Guarded(mut outside) = parts.extensions.remove().unwrap_or_default();
    if !outside.is_empty()
        && front::record(settings, &parts).is_some_and(|record| outside.contains(&record))
    {
        warn_of_layer_inside(&shared);
        parts.extensions.insert(Guarded(outside));
        let request = Request::from_parts(parts, RequestBody::untouched(body));
        return unprotected(inner, request).await;
    }
    parts.headers.remove(REPLAYED);
    let (operation, mut request) = match front::read(settings, parts, body).await {
        Ok(Front::Operation(operation, request)) => (operation, request),
        Ok(Front::NoKey(mut request)) => {
            request.extensions_mut().insert(Guarded(outside));
            let Some(_may_run) = shared.may_run() else {
                return Ok(outcome::overloaded(settings).map(Into::into));
            };
            return unprotected(inner, request).await;
        }
        Err(problem) => return Ok(problem.response(&settings.problems).map(Into::into)),
    };
    let span = tracing::Span::current();
    span.record("record", tracing::field::display(&operation.record));
    // Where the key stands in the body, it is known only now.
    if outside.contains(&operation.record) {
        warn_of_layer_inside(&shared);
        request.extensions_mut().insert(Guarded(outside));
        return unprotected(inner, request).await;
    }
    outside.push(operation.record.clone());
    request.extensions_mut().insert(Guarded(outside));
    request.extensions_mut().insert(operation.clone());
    if settings.by_hand {
        let Some(may_run) = shared.may_run() else {
            return Ok(outcome::overloaded(settings).map(Into::into));
        };
        let idempotent = Idempotent::new(operation, method, Arc::clone(settings));
        request.extensions_mut().insert(idempotent);
        return detached(&shared, may_run, unprotected(inner, request)).await;
    }
    match settings.idempotency.reserve(&operation).await {
        // No await point until the handler's task is there: from now on nobody can drop it.
        Ok(Entry::Won(held)) => {
            span.record("attempt", held.reservation().attempt());
            let Some(may_run) = shared.may_run() else {
                // Nothing ran. If the client goes away here, this is recorded all the same.
                let nothing = Verdict::Release(Stored::new(503));
                return Ok(match held.finish(nothing).await {
                    Executed::Ran { .. } => outcome::overloaded(settings),
                    standing => outcome::response(settings, &method, standing),
                }
                .map(Into::into));
            };
            let handler = run::run(Arc::clone(settings), held, inner, request);
            detached(&shared, may_run, handler).await
        }
        Ok(Entry::Replayed(replay)) => {
            Ok(outcome::replayed(settings, &method, &replay).map(Into::into))
        }
        Ok(Entry::Conflict { retry_after }) => {
            Ok(outcome::conflict(settings, retry_after).map(Into::into))
        }
        Ok(Entry::Mismatch) => Ok(outcome::mismatch(settings).map(Into::into)),
        Err(error) if error.is_unavailable() && settings.is_open() => {
            let Some(may_run) = shared.may_run() else {
                return Ok(outcome::overloaded(settings).map(Into::into));
            };
            log(&operation, &error, "the handler runs unprotected");
            detached(&shared, may_run, unprotected(inner, request)).await
        }
        Err(error) => {
            log(&operation, &error, "the handler does not run");
            Ok(outcome::store_failed(settings, &error).map(Into::into))
        }
    }
}

fn warn_of_layer_inside(shared: &Shared) {
    if !shared.warned_of_layer_inside.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "the idempotency layer is applied twice: the outer one counts, the settings of the inner \
             one do not",
        );
    }
}

fn log(operation: &Operation, error: &Error, then: &str) {
    tracing::error!(record = %operation.record, %error, "the store of keys failed: {then}");
}

/// In a task of its own: the server drops a request's future when its client hangs up.
async fn detached<R, E>(
    shared: &Shared,
    may_run: MayRun,
    handler: impl Future<Output = Result<Sent<R>, E>> + Send + 'static,
) -> Result<Sent<R>, E>
where
    R: Send + 'static,
    E: Send + 'static,
{
    let handler = async move {
        let answered = handler.await;
        drop(may_run);
        answered
    };
    let task = shared.tasks.spawn(handler.in_current_span());
    task.await.unwrap_or_else(|failed| {
        // A panic outside the layer's care, or the end of the runtime.
        tracing::error!(%failed, "the task of a handler ended");
        Ok(outcome::unknown(&shared.settings).map(Into::into))
    })
}

/// Without a reservation: no answer of it is a replay, whatever it says, unless this layer says so.
async fn unprotected<S, B, R>(
    mut inner: S,
    request: Request<RequestBody<B>>,
) -> Result<Sent<R>, S::Error>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
{
    let mut response = inner.call(request).await?;
    if response.extensions().get::<Marked>().is_none() {
        response.headers_mut().remove(REPLAYED);
    }
    Ok(response.map(ResponseBody::untouched))
}

pin_project! {
    /// The answer of an [`IdempotencyService`], to come.
    pub struct ResponseFuture<F, R, E> {
        #[pin]
        kind: Kind<F, R, E>,
    }
}

type Guarding<R, E> = Pin<Box<dyn Future<Output = Result<Sent<R>, E>> + Send>>;

pin_project! {
    #[project = KindPinned]
    enum Kind<F, R, E> {
        Passes { #[pin] future: F },
        Guarded { future: Guarding<R, E> },
    }
}

impl<F, R, E> Future for ResponseFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<ResponseBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindPinned::Passes { future } => future
                .poll(cx)
                .map_ok(|response| response.map(ResponseBody::untouched)),
            KindPinned::Guarded { future } => future.as_mut().poll(cx),
        }
    }
}

impl<F, R, E> fmt::Debug for ResponseFuture<F, R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("settings", &self.settings)
            .field("running", &self.tasks.len())
            .finish()
    }
}
