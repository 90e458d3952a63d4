//! The payments example's server when something fails that no flag can make fail: the store is down,
//! an answer is too large to keep, a handler dies.

#![allow(
    dead_code,
    reason = "the example's files, of which the server needs a part"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../examples/payments/gate.rs"]
mod gate;
#[path = "payments/http.rs"]
mod http;
#[path = "../examples/payments/ledger_file.rs"]
mod ledger_file;
#[path = "../examples/payments/payment.rs"]
mod payment;
#[path = "../examples/payments/principal.rs"]
mod principal;
#[path = "../examples/payments/problem.rs"]
mod problem;
#[path = "../examples/payments/provider.rs"]
mod provider;
#[path = "../examples/payments/server.rs"]
mod server;

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use idempotency::{
    Answer, Builder, Completion, Error, Holder, Idempotency, IdempotencyStore, ManualClock,
    MemoryStore, MonotonicClock, OnLapse, Outcome, Progress, RecordId, ReserveRequest, Terms,
    Update,
};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use self::http::{PAYMENT, ledger, pay};
use self::provider::Provider;

const KEY: &str = "idempotency-key: order-17";

/// A server, until the runtime is dropped.
fn serve(settings: Builder) -> (Runtime, SocketAddr, Provider) {
    let window = Duration::from_secs(3600);
    let provider = Provider::new(MonotonicClock::new(), window, Duration::ZERO);
    let layer = server::layer(settings.build().unwrap());
    let router = server::router(provider.clone(), layer);
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(axum::serve(listener, router).into_future());
    (runtime, address, provider)
}

#[test]
fn without_its_store_nothing_is_charged() {
    let (_runtime, address, _) = serve(Idempotency::builder(Down));
    let refused = pay(address, KEY, PAYMENT);
    assert_eq!(refused.status, 503);
    assert_eq!(refused.problem(), "store-unavailable");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(ledger(address).provider_calls, 0);
}

#[test]
fn an_answer_too_large_to_keep_is_gone_and_not_repeated() {
    let settings = Idempotency::builder(MemoryStore::new()).response_limit(10);
    let (_runtime, address, _) = serve(settings);
    assert_eq!(pay(address, KEY, PAYMENT).status, 201);
    let gone = pay(address, KEY, PAYMENT);
    assert_eq!(gone.status, 410);
    assert_eq!(gone.problem(), "answer-not-retained");
    assert!(!gone.is_replayed());
    assert_eq!(ledger(address).provider_calls, 1);
}

#[test]
fn a_handler_that_dies_is_run_again_and_charges_once() {
    let (runtime, address, provider) = serve(Idempotency::builder(MemoryStore::new()));
    die_after_charging(&runtime, address, &provider);
    assert_eq!(pay(address, KEY, PAYMENT).status, 201);
    let ledger = ledger(address);
    assert_eq!((ledger.charges.len(), ledger.provider_calls), (1, 2));
}

#[test]
fn a_handler_that_dies_under_hold_is_in_flight_and_then_unresolved() {
    let clock = ManualClock::new();
    let store = MemoryStore::with_clock(clock.clone());
    let lease = Duration::from_secs(3600);
    let settings = Idempotency::builder(store)
        .lease(lease)
        .on_lapse(OnLapse::Hold);
    let (runtime, address, provider) = serve(settings);
    die_after_charging(&runtime, address, &provider);

    let live = pay(address, KEY, PAYMENT);
    assert_eq!((live.status, &*live.problem()), (409, "in-flight"));
    assert_eq!(live.header("retry-after"), Some("1"));

    clock.advance(lease);
    let lapsed = pay(address, KEY, PAYMENT);
    assert_eq!((lapsed.status, &*lapsed.problem()), (409, "unresolved"));
    assert_eq!(lapsed.header("retry-after"), None);
    assert_eq!(ledger(address).provider_calls, 1);
}

fn die_after_charging(runtime: &Runtime, address: SocketAddr, provider: &Provider) {
    let mut held = provider.hold_answers();
    runtime.spawn(async move { held.next().await.crash() });
    let failed = pay(address, KEY, PAYMENT);
    assert_eq!(failed.status, 500);
    assert_eq!(failed.problem(), "outcome-unknown");
}

/// A store that cannot be reached.
struct Down;

fn down<T>() -> Result<T, Error> {
    Err(Error::failed("the store is down", "nobody answers"))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for Down {
    async fn reserve(&self, _: &ReserveRequest) -> Result<Outcome, Error> {
        down()
    }
    async fn complete(&self, _: &Holder, _: &Answer) -> Result<Completion, Error> {
        down()
    }
    async fn renew(&self, _: &Holder, _: Terms, _: Option<&Progress>) -> Result<Update, Error> {
        down()
    }
    async fn abandon(&self, _: &Holder) -> Result<Update, Error> {
        down()
    }
    async fn release(&self, _: &Holder) -> Result<Update, Error> {
        down()
    }
    async fn changed(&self, _: &RecordId, _: Duration) {}
}
