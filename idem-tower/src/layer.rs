//! The layer, and everything that can be set.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use idem_core::{Error, Idempotency, Key};
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;
use tower_layer::Layer;

use crate::service::Shared;
use crate::settings::{KeyForm, KeySource, Settings};
use crate::{Answers, IdempotencyService, Policy, ProblemKind, ScopeExtractor, StoreDown};

/// Makes the routes that it is applied to retry-safe. See the [crate's front page](crate).
///
/// A clone shares its settings with the original. Each setting makes a layer of its own out of a
/// layer, so that routes can differ; all that come from one [`new`](Self::new) share one
/// [`drain`](Self::drain).
///
/// Lease, retention, what a request in conflict does (be refused, or wait for the answer), what happens
/// to the operation of a process that died, heartbeat and timeouts belong to the [`Idempotency`] that it
/// is made with: see [`Builder`](idem_core::Builder).
#[derive(Clone, Debug)]
#[must_use = "apply it to a router or service"]
pub struct IdempotencyLayer {
    shared: Arc<Shared>,
}

impl IdempotencyLayer {
    /// A layer that keeps its records by `idempotency`, each in the scope that `scope` says.
    pub fn new(idempotency: Idempotency, scope: impl ScopeExtractor) -> Self {
        let settings = Settings::new(idempotency, scope);
        Self {
            shared: Arc::new(Shared::new(settings, TaskTracker::new())),
        }
    }

    fn with(self, set: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::clone(&self.shared.settings);
        set(&mut settings);
        Self {
            shared: Arc::new(Shared::new(settings, self.shared.tasks.clone())),
        }
    }

    /// The methods that are guarded. Default: POST and PATCH, which HTTP does not make idempotent (RFC
    /// 9110 section 9.2.2). Requests with another pass untouched, with their bodies.
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|settings| settings.methods = methods.into_iter().collect())
    }

    /// A request without a key runs **unprotected**, and no store is touched. Default: 400
    /// [`key-missing`](ProblemKind::KeyMissing). A key that is malformed is refused all the same.
    pub fn key_optional(self) -> Self {
        self.with(|settings| settings.key_required = false)
    }

    /// The header that carries the key. Default: `Idempotency-Key`.
    pub fn key_header(self, name: HeaderName) -> Self {
        self.with(|settings| settings.key = KeySource::Header(name))
    }

    /// Where the key comes from, instead of a header of its own: a function of the request's parts.
    /// `Ok(None)`: there is none. An error is answered 400 with its text, before the body is read.
    ///
    /// The id of a message, for webhooks and other deliveries that repeat; some change a counter in the
    /// body each time, see [`fingerprint_body`](Self::fingerprint_body):
    /// ```
    /// # use http::request::Parts; use idem_core::{Error, Key};
    /// let message_id = |parts: &Parts| match parts.headers.get("webhook-id") {
    ///     None => Ok(None),
    ///     Some(id) => match id.to_str() {
    ///         Ok(id) => Key::new(id).map(Some),
    ///         Err(_) => Err(Error::invalid("webhook-id has other than visible ASCII")),
    ///     },
    /// };
    /// # fn check(layer: idem_tower::IdempotencyLayer, message_id: fn(&Parts) -> Result<Option<Key>, Error>) {
    /// let layer = layer.key_from(message_id);
    /// # }
    /// ```
    pub fn key_from(
        self,
        key: impl Fn(&Parts) -> Result<Option<Key>, Error> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.key = KeySource::Parts(Arc::new(key)))
    }

    /// The same for a key that stands in the body: a function of the request's parts and its whole body,
    /// which is read for it, within the limit, whether there is a key or not.
    ///
    /// A hidden field of an HTML form, which a browser sends again when its page is sent again:
    /// ```
    /// # use http::request::Parts; use bytes::Bytes; use idem_core::{Error, Key};
    /// let form_field = |_: &Parts, body: &Bytes| {
    ///     let mut fields = body.split(|&byte| byte == b'&');
    ///     match fields.find_map(|field| field.strip_prefix(b"idempotency_key=")) {
    ///         None => Ok(None),
    ///         // The server wrote the field, a UUID: nothing in it is encoded.
    ///         Some(text) => match std::str::from_utf8(text) {
    ///             Ok(text) => Key::new(text).map(Some),
    ///             Err(_) => Err(Error::invalid("idempotency_key is not what the page had")),
    ///         },
    ///     }
    /// };
    /// # fn check(layer: idem_tower::IdempotencyLayer, form_field: fn(&Parts, &Bytes) -> Result<Option<Key>, Error>) {
    /// let layer = layer.key_from_body(form_field);
    /// # }
    /// ```
    pub fn key_from_body(
        self,
        key: impl Fn(&Parts, &Bytes) -> Result<Option<Key>, Error> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.key = KeySource::Body(Arc::new(key)))
    }

    /// A form that keys must have, beyond what every [`Key`] must be: `accepts` sees the client's text,
    /// `description` says what is allowed ("a UUID"). Another is answered 400.
    pub fn key_form(
        self,
        description: impl Into<String>,
        accepts: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let form = KeyForm {
            description: description.into(),
            accepts: Arc::new(accepts),
        };
        self.with(|settings| settings.key_form = Some(form))
    }

    /// What stands for the path in the fingerprint. Default: path and query of the request's URI.
    ///
    /// A router that cuts a prefix off the URI (axum's `nest`) has to give back the whole here, or two
    /// nests with the same inner path are one operation: see [`axum`](crate::axum).
    pub fn fingerprint_path(self, path: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.path = Some(Arc::new(path)))
    }

    /// What stands for the body in the fingerprint, instead of the whole of it: where clients change
    /// something in it from try to try that does not matter (a delivery counter, a CSRF token). Whatever
    /// is left out is not compared: a request that differs in it alone gets the first one's answer. Content
    /// type and coding are compared all the same, as they were sent.
    pub fn fingerprint_body(
        self,
        body: impl Fn(&Parts, &Bytes) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.body = Some(Arc::new(body)))
    }

    /// A header that decides what the request does, and goes into the fingerprint (`Accept-Version`,
    /// say). By default none does, besides content type and coding. Not for what differs between the
    /// retries of one request: dates, signatures, trace ids.
    pub fn fingerprint_header(self, name: HeaderName) -> Self {
        self.with(|settings| settings.fingerprint_headers.push(name))
    }

    /// The largest body of a request, in bytes. It is read whole, to be compared between retries.
    /// Default 1 MiB; a larger one is answered 413, declared or not.
    pub fn request_limit(self, bytes: usize) -> Self {
        self.with(|settings| settings.request_limit = bytes)
    }

    /// For how long a request's body may take to arrive: nobody holds memory here for longer. Default 30 s;
    /// a slower one is answered 408.
    pub fn request_within(self, within: Duration) -> Self {
        self.with(|settings| settings.request_within = within)
    }

    /// How many handlers may run at once, on all routes of this layer; what would run above that is
    /// answered 503 [`overloaded`](ProblemKind::Overloaded), while replays, conflicts and waiting go on as
    /// ever. Default: as many as come. A concurrency limit outside does not bound them, since a handler goes
    /// on when its client, and with it the outer limit's permit, has gone; one inside counts requests from
    /// their arrival on, those that wait for another's answer included.
    pub fn running_limit(self, handlers: usize) -> Self {
        self.with(|settings| settings.running_limit = Some(handlers))
    }

    /// The largest body of an answer that is kept, in bytes. Default: the
    /// [response limit](idem_core::Builder::response_limit) of the executor, which counts in any case.
    /// A larger one reaches its client whole; repeats get 410, and nothing runs twice.
    pub fn answer_limit(self, bytes: usize) -> Self {
        self.with(|settings| settings.answer_limit = bytes)
    }

    /// For how long an answer's body may take to its end. One that takes longer is taken for a stream,
    /// as if it were too large: sent from then on as it comes. Default 10 s.
    pub fn capture_for(self, within: Duration) -> Self {
        self.with(|settings| settings.capture_for = within)
    }

    /// Which answers are kept. Default: [`Answers::standard`].
    pub fn answers(self, answers: Answers) -> Self {
        self.with(|settings| settings.answers = answers)
    }

    /// Keeps a header that is not replayed by default: `Set-Cookie`, `WWW-Authenticate`,
    /// `Proxy-Authenticate`, `Authentication-Info`, `Proxy-Authentication-Info`. Those about one
    /// connection or one sending are never kept.
    pub fn keep_header(self, name: HeaderName) -> Self {
        self.with(|settings| settings.header_rules.set(name, true))
    }

    /// Does not keep a header: the first answer has it, replays do not (`X-Request-Id`, say, where the
    /// handler sets it).
    pub fn drop_header(self, name: HeaderName) -> Self {
        self.with(|settings| settings.header_rules.set(name, false))
    }

    /// When to try again: on 409 at most what is left of the lease, in whole seconds. Default 1 s.
    pub fn retry_after(self, after: Duration) -> Self {
        self.with(|settings| settings.retry_after = after)
    }

    /// What to do while the store does not answer. Default: [`StoreDown::Closed`].
    pub fn store_down(self, store_down: StoreDown) -> Self {
        self.with(|settings| settings.store_down = store_down)
    }

    /// What the `type` of problems begins with, before the [slug](ProblemKind::slug). Default:
    /// `urn:idempotency-key:`, which is stable and nothing to look up. Once published it must not
    /// change: clients compare it.
    pub fn problem_type_base(self, base: impl Into<Cow<'static, str>>) -> Self {
        let base = base.into();
        self.with(|settings| settings.problems.type_base = base)
    }

    /// Where the documentation is: problems carry it as `Link: <…>; rel="describedby"` (RFC 8288).
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if it is not a URL of visible ASCII without `<` and `>`.
    pub fn documentation(self, url: impl Into<String>) -> Result<Self, Error> {
        let url = url.into();
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"<>\"".contains(&byte);
        let link = format!(r#"<{url}>; rel="describedby"; type="text/html""#);
        match HeaderValue::try_from(link) {
            Ok(link) if !url.is_empty() && url.bytes().all(plain) => Ok(self.with(|settings| {
                settings.problems.documentation = Some(link);
                settings.problems.documentation_url = Some(url);
            })),
            _ => Err(Error::invalid(
                "the address of the documentation is not a URL: visible ASCII without < and > is allowed",
            )),
        }
    }

    /// The status of a kind of problem, for a service that has promised another: Stripe answers a key
    /// that was reused with 400.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) if a problem cannot be told by it: 200 to 599 are allowed, but for 204,
    /// 205 and 304, which have no body.
    pub fn problem_status(self, kind: ProblemKind, status: StatusCode) -> Result<Self, Error> {
        if !matches!(status.as_u16(), 200..=203 | 206..=303 | 305..=599) {
            return Err(Error::invalid(format!(
                "a problem cannot have the status {}: 200 to 599 are allowed, but not 204, 205 and 304",
                status.as_u16()
            )));
        }
        Ok(self.with(|settings| settings.problems.statuses.push((kind, status))))
    }

    /// For handlers that run reserve, effect and completion in one transaction of their own. The layer
    /// checks key, scope and body and hands over an [`Idempotent`](crate::Idempotent); it reserves
    /// nothing and records nothing. The handler runs in a task of its own all the same.
    pub fn by_hand(self) -> Self {
        self.with(|settings| settings.by_hand = true)
    }

    /// What a server must publish about its keys, from these settings. For a layer that is
    /// [`by_hand`](Self::by_hand) it holds if the handler takes its terms from
    /// [`Idempotent::terms`](crate::Idempotent::terms).
    pub fn policy(&self) -> Policy {
        Policy::of(&self.shared.settings)
    }

    /// At shutdown, after the server has stopped: waits up to `up_to` for handlers that still run
    /// because their clients went away, and for answers that the store has not acknowledged
    /// ([`Idempotency::drain`]). Says how many are left; their leases lapse.
    ///
    /// Layers that share an [`Idempotency`] are drained together, after all of them have stopped: what is
    /// still unrecorded then gives up, whoever began it.
    ///
    /// A server's own graceful shutdown does not wait for them. Dropped: nothing gives up.
    pub async fn drain(&self, up_to: Duration) -> usize {
        let began = Instant::now();
        let tasks = &self.shared.tasks;
        tasks.close();
        let _ = timeout(up_to, tasks.wait()).await;
        let left = up_to.saturating_sub(began.elapsed());
        let unrecorded = self.shared.settings.idempotency.drain(left).await;
        tasks.len() + unrecorded
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IdempotencyService::new(inner, Arc::clone(&self.shared))
    }
}
