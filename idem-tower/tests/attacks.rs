//! Attacks on the layer by somebody who did not write it. Each test says what should hold.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(missing_docs, reason = "all of this is test code")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use idem_core::{
    Answer, Completion, Error, Holder, Idempotency, IdempotencyStore, Inspect as _, Key,
    MemoryStore, OnConflict, Outcome, Progress, RecordId, ReserveRequest, Scope, Terms, Update,
    async_trait,
};
use idem_tower::{IdempotencyLayer, RecordedAnswer, RequestBody, StoreDown};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout}; // why: see each
use tower::util::BoxCloneSyncService;
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt as _};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, BoxError>;
type Asked = Request<RequestBody<Body>>;

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn by_client(parts: &Parts) -> Option<Scope> {
    Scope::new(parts.headers.get("x-client")?.as_bytes()).ok()
}

fn layer_on(idempotency: Idempotency) -> IdempotencyLayer {
    IdempotencyLayer::new(idempotency, by_client)
}

fn layer() -> (MemoryStore, IdempotencyLayer) {
    let store = MemoryStore::new();
    (store.clone(), layer_on(Idempotency::new(store)))
}

fn handler<B, F>(
    answer: impl Fn(Request<B>) -> F + Clone + Send + Sync + 'static,
) -> BoxCloneSyncService<Request<B>, Response<Body>, Infallible>
where
    B: Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    BoxCloneSyncService::new(tower::service_fn(move |request| answer(request).map(Ok)))
}

fn post(key: &str, body: &'static str) -> Request<Body> {
    Request::post("/payments")
        .header("x-client", "ana")
        .header("idempotency-key", key)
        .body(full(body))
        .unwrap()
}

struct Told {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Told {
    fn replayed(&self) -> bool {
        self.headers.contains_key("idempotent-replayed")
    }
}

async fn told<B>(answer: Response<B>) -> Told
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let (parts, body) = answer.into_parts();
    let body = soon(body.collect()).await.unwrap();
    Told {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_bytes().to_vec()).unwrap(),
    }
}

async fn ask<S, B>(service: &S, request: Request<Body>) -> Told
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    told(soon(service.clone().oneshot(request)).await.unwrap()).await
}

async fn soon<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(8), future)
        .await
        .expect("it comes soon")
}

/// Lets whatever can go on go on.
async fn settle() {
    sleep(Duration::from_millis(100)).await; // why: nothing tells that nothing happens
}

// ---------------------------------------------------------------- the layer twice

fn key_in_the_body(_: &Parts, body: &Bytes) -> Result<Option<Key>, Error> {
    let text = std::str::from_utf8(body).unwrap();
    text.strip_prefix("key=").map(Key::new).transpose()
}

#[tokio::test]
async fn the_same_layer_twice_is_as_once_also_where_the_key_stands_in_the_body() {
    let (_, layer) = layer();
    let layer = layer.key_from_body(key_in_the_body);
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&runs);
    let pays = handler(move |_: Request<RequestBody<RequestBody<Body>>>| {
        counts.fetch_add(1, SeqCst);
        async { Response::new(full("paid")) }
    });
    let service = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(layer)
        .service(pays);
    let first = ask(&service, post("ignored", "key=k")).await;
    assert_eq!((first.status, first.body.as_str()), (200, "paid"));
    assert_eq!(runs.load(SeqCst), 1);
}

/// A batch (outer key) with a part (inner key) that somebody else is just doing: the part's 409 says
/// "send the same one again after 1 s", and that must not be what the batch answers for ever.
#[tokio::test]
async fn a_conflict_of_a_layer_inside_is_not_what_the_outer_one_answers_for_good() {
    let (_, outer) = layer();
    let (_, inner) = layer();
    let inner = inner.key_from(|_: &Parts| Key::new("part-1").map(Some));
    let gate = Arc::new(Semaphore::new(0));
    let passes = Arc::clone(&gate);
    let pays = handler(move |_: Request<RequestBody<RequestBody<Body>>>| {
        let passes = Arc::clone(&passes);
        async move {
            passes.acquire().await.unwrap().forget();
            Response::new(full("paid"))
        }
    });
    let service = ServiceBuilder::new()
        .layer(outer)
        .layer(inner)
        .service(pays);
    let first = tokio::spawn(service.clone().oneshot(post("batch-1", "150")));
    settle().await;
    let conflict = ask(&service, post("batch-2", "150")).await;
    assert_eq!(conflict.status, 409);
    assert!(conflict.body.contains("in-flight"));
    gate.add_permits(10);
    assert_eq!(soon(first).await.unwrap().unwrap().status(), 200);
    // As its Retry-After and its detail ask for.
    let again = ask(&service, post("batch-2", "150")).await;
    assert_eq!((again.status, again.body.as_str()), (200, "paid"));
}

// ---------------------------------------------------------------- running_limit

fn passes_gate(
    gate: &Arc<Semaphore>,
    runs: &Arc<AtomicUsize>,
) -> BoxCloneSyncService<Asked, Response<Body>, Infallible> {
    let (gate, runs) = (Arc::clone(gate), Arc::clone(runs));
    handler(move |request: Asked| {
        let (gate, runs) = (Arc::clone(&gate), Arc::clone(&runs));
        runs.fetch_add(1, SeqCst);
        async move {
            if request.headers().contains_key("x-slow") {
                gate.acquire().await.unwrap().forget();
            }
            Response::new(full("paid"))
        }
    })
}

fn slow(mut request: Request<Body>) -> Request<Body> {
    request.headers_mut().insert("x-slow", "1".parse().unwrap());
    request
}

#[tokio::test]
async fn a_completed_operation_is_replayed_however_many_handlers_run() {
    let (_, layer) = layer();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::default());
    let service = layer.running_limit(1).layer(passes_gate(&gate, &runs));
    assert_eq!(ask(&service, post("done", "150")).await.status, 200);
    let _running = tokio::spawn(service.clone().oneshot(slow(post("slow", "150"))));
    settle().await;
    let replay = ask(&service, post("done", "150")).await;
    assert_eq!((replay.status, replay.replayed()), (200, true));
}

#[tokio::test]
async fn a_repeat_of_a_running_operation_is_in_conflict_and_not_overloaded() {
    let (_, layer) = layer();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::default());
    let service = layer.running_limit(1).layer(passes_gate(&gate, &runs));
    let _running = tokio::spawn(service.clone().oneshot(slow(post("slow", "150"))));
    settle().await;
    let repeat = ask(&service, slow(post("slow", "150"))).await;
    assert_eq!(repeat.status, 409, "{}", repeat.body);
}

/// One handler runs of the two that may: those who only wait for its answer are no handlers.
#[tokio::test]
async fn who_waits_for_the_answer_of_another_takes_no_handlers_place() {
    let store = MemoryStore::new();
    let up_to = Duration::from_secs(30);
    let waits = Idempotency::builder(store)
        .on_conflict(OnConflict::Wait { up_to })
        .build()
        .unwrap();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let service = layer_on(waits)
        .running_limit(2)
        .layer(passes_gate(&gate, &runs));
    let _running = tokio::spawn(service.clone().oneshot(slow(post("slow", "150"))));
    settle().await;
    let _waiting = tokio::spawn(service.clone().oneshot(slow(post("slow", "150"))));
    settle().await;
    assert_eq!(runs.load(SeqCst), 1);
    let other = ask(&service, post("other", "150")).await;
    assert_eq!(other.status, 200, "{}", other.body);
}

#[tokio::test]
async fn a_limit_on_handlers_counts_also_those_that_came_without_a_key() {
    let (_, layer) = layer();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let service = layer
        .running_limit(1)
        .key_optional()
        .layer(passes_gate(&gate, &runs));
    for _ in 0..2 {
        let mut keyless = slow(post("k", "150"));
        keyless.headers_mut().remove("idempotency-key");
        tokio::spawn(service.clone().oneshot(keyless));
    }
    settle().await;
    assert_eq!(runs.load(SeqCst), 1, "handlers at once");
}

// ---------------------------------------------------------------- the store goes away

/// A store that can be switched off.
#[derive(Clone)]
struct Switched {
    inner: MemoryStore,
    off: Arc<AtomicBool>,
    asked: Arc<Notify>,
}

#[async_trait]
impl IdempotencyStore for Switched {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        if self.off.load(SeqCst) {
            return Err(Error::unavailable("off", "refused"));
        }
        self.inner.reserve(request).await
    }
    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.inner.complete(holder, answer).await
    }
    async fn renew(&self, h: &Holder, t: Terms, p: Option<&Progress>) -> Result<Update, Error> {
        self.inner.renew(h, t, p).await
    }
    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.inner.abandon(holder).await
    }
    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.inner.release(holder).await
    }
    async fn changed(&self, _: &RecordId, _: Duration) {
        self.asked.notified().await;
    }
}

/// It was told that the operation is in flight, and waits; then the store goes away. Open means to run
/// where nobody can tell; here it was told.
#[tokio::test]
async fn an_open_layer_does_not_run_what_it_was_told_is_running_already() {
    let store = Switched {
        inner: MemoryStore::new(),
        off: Arc::default(),
        asked: Arc::default(),
    };
    let up_to = Duration::from_secs(30);
    let waits = Idempotency::builder(store.clone())
        .on_conflict(OnConflict::Wait { up_to })
        .store_timeouts(Duration::from_millis(100), Duration::from_millis(200))
        .build()
        .unwrap();
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let service = layer_on(waits)
        .store_down(StoreDown::Open)
        .layer(passes_gate(&gate, &runs));
    let _running = tokio::spawn(service.clone().oneshot(slow(post("k", "150"))));
    settle().await;
    let _waiting = tokio::spawn(service.clone().oneshot(slow(post("k", "150"))));
    settle().await;
    store.off.store(true, SeqCst);
    store.asked.notify_waiters();
    sleep(Duration::from_millis(600)).await; // why: longer than the store's calls are tried again
    assert_eq!(runs.load(SeqCst), 1, "handlers of one key at once");
}

// ---------------------------------------------------------------- fingerprint

#[tokio::test]
async fn with_a_chosen_body_the_content_type_and_coding_are_compared_all_the_same() {
    let (_, layer) = layer();
    let layer = layer.fingerprint_body(|_: &Parts, body: &Bytes| body.to_vec());
    let reads = handler(|request: Asked| async move {
        let kind = request.headers().get("content-type").cloned();
        Response::new(full(format!("read as {kind:?}")))
    });
    let service = layer.layer(reads);
    let typed = |kind: &str| {
        let mut request = post("k", "0150");
        let headers = request.headers_mut();
        headers.insert("content-type", kind.parse().unwrap());
        request
    };
    ask(&service, typed("text/decimal")).await;
    let other = ask(&service, typed("text/octal")).await;
    assert_eq!(other.status, 422, "{}", other.body);
}

#[tokio::test]
async fn json_numbers_that_differ_are_never_the_same() {
    let (_, layer) = layer();
    let service = layer.layer(handler(|_: Asked| async { Response::new(full("paid")) }));
    let pairs = [
        ("1e99999999999999999999", "1e99999999999999999998"),
        ("1e-99999999999999999999", "0"),
        ("1e-99999999999999999999", "1e-99999999999999999998"),
        ("1e9223372036854775807", "1e-9223372036854775808"),
        ("1e9223372036854775807", "10e9223372036854775807"),
        ("1e18446744073709551616", "1"),
        ("1e18446744073709551617", "10"),
        ("1e4294967296", "1"),
        ("1e4294967297", "10"),
        ("0.1e-9223372036854775808", "1e-9223372036854775808"),
        ("[1,[2]]", "[[1],2]"),
        (r#""\ud800""#, r#""\ud801""#),
        (r#""\ud800""#, "\"\u{fffd}\""),
        (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
        (r#"{"a":1,"\u0061":2}"#, r#"{"a":2}"#),
        (r#"{"é":1}"#, "{\"e\u{301}\":1}"),
        ("[true]", "[\"true\"]"),
        ("[1]", "[\"1\"]"),
    ];
    for (at, (one, other)) in pairs.into_iter().enumerate() {
        let json = |body| {
            let mut request = post(&format!("k{at}"), body);
            let kind = "application/json".parse().unwrap();
            request.headers_mut().insert("content-type", kind);
            request
        };
        ask(&service, json(one)).await;
        let answer = ask(&service, json(other)).await;
        assert_eq!(answer.status, 422, "{one} and {other}");
    }
}

// ---------------------------------------------------------------- RecordedAnswer

fn records(
    answer: idem_core::Response,
    beside: fn(&mut HeaderMap),
) -> BoxCloneSyncService<Asked, Response<Body>, Infallible> {
    handler(move |request: Asked| {
        let answer = answer.clone();
        let reservation = request.extensions().get::<idem_core::Reservation>();
        let reservation = reservation.cloned().unwrap();
        let store = request.extensions().get::<MemoryStore>().cloned().unwrap();
        async move {
            reservation.stop_heartbeat().await;
            let kept = Answer::Full(answer.clone());
            store.complete(reservation.holder(), &kept).await.unwrap();
            let response = RecordedAnswer(answer).into_http();
            let mut response =
                response.map(|body| body.map_err(|never| match never {}).boxed_unsync());
            beside(response.headers_mut());
            response
        }
    })
}

fn with_store(store: &MemoryStore, mut request: Request<Body>) -> Request<Body> {
    request.extensions_mut().insert(store.clone());
    request
}

#[tokio::test]
async fn a_cookie_beside_a_recorded_answer_reaches_its_client_also_if_the_record_has_one() {
    let (store, layer) = layer();
    let answer = idem_core::Response::new(201).header("set-cookie", "a=1");
    let service = layer.layer(records(answer, |headers| {
        headers.append("set-cookie", "session=2".parse().unwrap());
    }));
    let first = ask(&service, with_store(&store, post("k", "150"))).await;
    let cookies: Vec<_> = first.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=1", "session=2"]);
}

#[tokio::test]
async fn what_a_layer_inside_adds_to_a_recorded_answer_reaches_its_client() {
    let (store, layer) = layer();
    let answer = idem_core::Response::new(201).body("paid");
    let service = layer.layer(records(answer, |headers| {
        headers.insert("access-control-allow-origin", "*".parse().unwrap());
    }));
    let first = ask(&service, with_store(&store, post("k", "150"))).await;
    assert!(first.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn what_connection_lists_in_a_recorded_answer_is_about_the_connection() {
    let (store, layer) = layer();
    let answer = idem_core::Response::new(201)
        .header("connection", "x-hop")
        .header("x-hop", "1");
    let service = layer.layer(records(answer, |_| {}));
    ask(&service, with_store(&store, post("k", "150"))).await;
    let replay = ask(&service, with_store(&store, post("k", "150"))).await;
    assert!(replay.replayed());
    assert!(!replay.headers.contains_key("x-hop"));
}

// ---------------------------------------------------------------- streaming

/// Always ready: each piece is a little work, all of it 2 s.
struct Works {
    until: Instant,
    sent: VecDeque<Bytes>,
}

impl http_body::Body for Works {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        std::thread::sleep(Duration::from_millis(10)); // why: a body that works
        let this = self.get_mut();
        if Instant::now() > this.until {
            return Poll::Ready(this.sent.pop_front().map(|data| Ok(Frame::data(data))));
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b".")))))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_always_ready_is_captured_for_no_longer_than_was_asked() {
    let (_, layer) = layer();
    let service = layer
        .capture_for(Duration::from_millis(200))
        .layer(handler(|_: Asked| async {
            let until = Instant::now() + Duration::from_secs(2);
            let sent = VecDeque::from([Bytes::from_static(b"end")]);
            Response::new(Works { until, sent }.boxed_unsync())
        }));
    let began = Instant::now();
    let first = soon(service.clone().oneshot(post("k", "150")))
        .await
        .unwrap();
    assert_eq!(first.status(), 200);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "captured for {took:?}");
}

// ---------------------------------------------------------------- policy

/// What waits is refused with 503 instead, if as many handlers run as may.
#[tokio::test]
async fn a_policy_that_says_a_repeat_waits_is_kept_under_a_limit() {
    let up_to = Duration::from_secs(30);
    let waits = Idempotency::builder(MemoryStore::new())
        .on_conflict(OnConflict::Wait { up_to })
        .build()
        .unwrap();
    let layer = layer_on(waits).running_limit(1);
    assert!(
        layer
            .policy()
            .to_markdown()
            .contains("waits for the answer")
    );
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let service = layer.layer(passes_gate(&gate, &runs));
    let running = tokio::spawn(service.clone().oneshot(slow(post("k", "150"))));
    settle().await;
    let repeat = tokio::spawn(service.clone().oneshot(slow(post("k", "150"))));
    settle().await;
    gate.add_permits(1);
    assert_eq!(soon(running).await.unwrap().unwrap().status(), 200);
    let repeat = told(soon(repeat).await.unwrap().unwrap()).await;
    assert_eq!(
        (repeat.status, repeat.replayed()),
        (200, true),
        "{}",
        repeat.body
    );
}

// ---------------------------------------------------------------- a new user

/// tower-http's `CorsLayer`, `TimeoutLayer` and `ValidateRequestHeaderLayer` ask for `ResBody: Default` of
/// the service inside; the docs want CORS and time limits outside.
#[test]
fn the_body_of_an_answer_has_a_default_as_layers_outside_ask_for() {
    let body = idem_tower::ResponseBody::<Body>::default();
    assert!(http_body::Body::is_end_stream(&body));
}

// ---------------------------------------------------------------- second round

type Thrice = RequestBody<RequestBody<RequestBody<Body>>>;

#[tokio::test]
async fn the_same_layer_twice_is_as_once_also_with_one_of_another_key_between() {
    let (_, layer) = layer();
    let between = layer
        .clone()
        .key_from(|_: &Parts| Key::new("between").map(Some));
    let service = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(between)
        .layer(layer)
        .service(handler(|_: Request<Thrice>| async {
            Response::new(full("paid"))
        }));
    let first = ask(&service, post("k", "150")).await;
    assert_eq!((first.status, first.body.as_str()), (200, "paid"));
}

/// A middleware between two routers chooses the version by a header and rewrites the path: what the
/// handler's router sees differs, what the client's request line said does not.
#[cfg(feature = "axum")]
#[tokio::test]
async fn two_paths_inside_axum_are_two_operations_also_if_the_client_sent_one() {
    use axum::Router;
    use axum::routing::post as route;
    let (store, _) = layer();
    let layer = idem_tower::axum::layer(Idempotency::new(store), by_client);
    let versions = Router::new()
        .route("/v1/payments", route(|| async { "one" }))
        .route("/v2/payments", route(|| async { "two" }))
        .route_layer(layer);
    let rewritten = tower::util::MapRequest::new(versions, |request: Request<axum::body::Body>| {
        let (mut parts, body) = request.into_parts();
        let version = parts.headers["x-version"].to_str().unwrap();
        parts.uri = format!("/{version}/payments").parse().unwrap();
        Request::from_parts(parts, body)
    });
    let app = Router::new().fallback_service(rewritten);
    let ask = async |version: &str| {
        let (mut parts, body) = post("k", "150").into_parts();
        parts.headers.insert("x-version", version.parse().unwrap());
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        told(app.clone().oneshot(request).await.unwrap()).await
    };
    assert_eq!(ask("v1").await.body, "one");
    let other = ask("v2").await;
    assert_eq!(other.status, 422, "{}", other.body);
}

#[tokio::test]
async fn a_lease_without_end_neither_panics_nor_is_promised_for_longer_than_the_store_keeps_it() {
    let store = MemoryStore::new();
    let endless = Idempotency::builder(store.clone())
        .lease(Duration::MAX / 2)
        .retention(Duration::MAX)
        .build()
        .unwrap();
    let layer = layer_on(endless)
        .capture_for(Duration::MAX)
        .request_within(Duration::MAX)
        .retry_after(Duration::MAX);
    let policy: serde_json::Value = serde_json::from_str(&layer.policy().to_json()).unwrap();
    let service = layer.layer(handler(|_: Asked| async { Response::new(full("paid")) }));
    assert_eq!(ask(&service, post("k", "150")).await.status, 200);
    let record = RecordId::new(Scope::new("ana").unwrap(), Key::new("k").unwrap());
    let kept = store
        .get(&record)
        .await
        .unwrap()
        .unwrap()
        .remembered_for
        .unwrap();
    let promised = policy["remembered_seconds"]["after_answer"]
        .as_u64()
        .unwrap();
    assert!(
        kept.as_secs() >= promised,
        "{kept:?}, and {promised} s promised"
    );
}

/// Of 300 clients with one key that come and go at random moments, over a slow store: one run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_whenever_one_key_runs_once_and_is_replayed() {
    for waits in [false, true] {
        let mut builder = Idempotency::builder(MemoryStore::new());
        if waits {
            let up_to = Duration::from_secs(5);
            builder = builder.on_conflict(OnConflict::Wait { up_to });
        }
        let done = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&done);
        let service = BoxCloneSyncService::new(layer_on(builder.build().unwrap()).layer(handler(
            move |_: Asked| {
                let counts = Arc::clone(&counts);
                async move {
                    sleep(Duration::from_millis(3)).await; // why: a handler that works
                    counts.fetch_add(1, SeqCst);
                    sleep(Duration::from_millis(3)).await; // why: a handler that works
                    Response::new(full("paid"))
                }
            },
        )));
        let mut clients = Vec::new();
        for at in 0..300_u64 {
            clients.push(tokio::spawn(service.clone().oneshot(post("k", "150"))));
            sleep(Duration::from_micros(at * 61 % 300)).await; // why: a handler that works
            clients[(at * at % (at + 1)) as usize].abort();
            clients[(at / 2) as usize].abort();
        }
        let last = loop {
            let last = ask(&service, post("k", "150")).await;
            if last.status != 409 {
                break last;
            }
            sleep(Duration::from_millis(2)).await; // why: until the one that runs has ended
        };
        assert_eq!(last.body, "paid");
        assert_eq!(done.load(SeqCst), 1, "waits: {waits}");
    }
}

/// A caller that gets ready for the next request while the one before is under way, as a loop of "ready,
/// receive, call" does. Without the layer it waits for its turn, and then the one before is done.
#[tokio::test]
async fn a_caller_that_is_ready_for_the_next_request_does_not_stop_the_one_before() {
    async fn first_is_answered<S, B>(mut service: S, request: Request<B>) -> bool
    where
        S: Service<Request<B>, Error = Infallible, Future: Send + 'static>,
        S::Response: Send + 'static,
    {
        let ready = soon(tower::ServiceExt::<Request<B>>::ready(&mut service)).await;
        let first = tokio::spawn(ready.unwrap().call(request));
        // Ready for the next one, which is yet to come.
        let next = tower::ServiceExt::<Request<B>>::ready(&mut service);
        soon(next).await.unwrap();
        timeout(Duration::from_secs(2), first).await.is_ok()
    }
    let limit = tower::limit::ConcurrencyLimitLayer::new(1);
    let (_, layer) = layer();
    let pays = handler(|_: Request<Body>| async { Response::new(full("paid")) });
    assert!(first_is_answered(limit.layer(pays), post("k", "150")).await);
    let pays = handler(|_: Asked| async { Response::new(full("paid")) });
    let limited = tower::limit::ConcurrencyLimitLayer::new(1).layer(pays);
    assert!(
        first_is_answered(layer.layer(limited), post("k", "150")).await,
        "it stands still until another request comes"
    );
}
