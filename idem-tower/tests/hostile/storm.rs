//! The server under attack, and the attack.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use idem_core::{Idempotency, ManualClock, MemoryStore, RecordId, Reservation};
use idem_tower::IdempotencyLayer;
use testkit::Seed;
use tokio::task::JoinSet;
use tokio::time::sleep; // why: clients that trickle

use super::clients::{authenticated, scope};
use super::kinds::{Exchange, Kind};
use super::requests::{REQUEST_LIMIT, draw};
use super::server::{Asked, Body, Server, full};
use super::wire::{check, converse};

/// At once.
const CONNECTIONS: usize = 32;

#[derive(Default)]
pub(crate) struct Ran {
    pub(crate) times: HashMap<RecordId, u32>,
    pub(crate) fingerprints: HashSet<[u8; 32]>,
}

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) layer: IdempotencyLayer,
    pub(crate) store: MemoryStore,
    pub(crate) clock: ManualClock,
    pub(crate) ran: Arc<Mutex<Ran>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::with_clock(clock.clone());
        let layer = IdempotencyLayer::new(Idempotency::new(store.clone()), scope)
            .request_limit(REQUEST_LIMIT);
        let ran = Arc::new(Mutex::new(Ran::default()));
        let server = Server::start(layer.clone(), {
            let ran = Arc::clone(&ran);
            move |request| handle(request, Arc::clone(&ran))
        })
        .await;
        Self {
            server,
            layer,
            store,
            clock,
            ran,
        }
    }
}

/// Takes its time now and then, so that there are conflicts and clients that do not wait for the end.
async fn handle(request: Asked, ran: Arc<Mutex<Ran>>) -> Response<Body> {
    let Some(client) = authenticated(request.headers()) else {
        // Not guarded: otherwise the layer has refused it.
        let mut nobody = Response::new(full(""));
        *nobody.status_mut() = StatusCode::UNAUTHORIZED;
        return nobody;
    };
    let secret = client.secret;
    let reservation = request.extensions().get::<Reservation>().cloned();
    let marked = request.headers().contains_key("idempotent-replayed");
    let body = request.into_body().collect().await;
    let Some(reservation) = reservation else {
        return Response::new(full(secret));
    };
    assert!(!marked, "the client's mark has come through");
    let operation = reservation.operation();
    if body.unwrap().to_bytes().len() % 4 == 0 {
        sleep(Duration::from_millis(1)).await; // why: an effect takes its time
    }
    let mut ran = ran.lock().unwrap();
    *ran.times.entry(operation.record.clone()).or_default() += 1;
    ran.fingerprints.insert(*operation.fingerprint.as_bytes());
    Response::builder()
        .status(201)
        .header("x-secret", secret)
        .body(full(format!(
            "{secret} {}",
            reservation.derived_key("charge")
        )))
        .unwrap()
}

/// What came of a number of requests.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) kinds: BTreeMap<Kind, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) faults: Vec<String>,
}

impl Report {
    fn add(&mut self, other: Self) {
        for (kind, times) in other.kinds {
            *self.kinds.entry(kind).or_default() += times;
        }
        for (status, times) in other.statuses {
            *self.statuses.entry(status).or_default() += times;
        }
        self.faults.extend(other.faults);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.kinds.values().sum()
    }
}

/// Sends the requests of these numbers. Each follows from the seed and its number alone.
pub(crate) async fn attack(
    server: SocketAddr,
    seed: &Arc<Seed>,
    numbers: std::ops::Range<u64>,
) -> Report {
    let next = Arc::new(AtomicU64::new(numbers.start));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (next, seed) = (Arc::clone(&next), Arc::clone(seed));
        workers.spawn(async move {
            let mut report = Report::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return report;
                }
                let exchange = draw(&mut seed.rng("request", number), number);
                *report.kinds.entry(exchange.kind).or_default() += 1;
                let received = converse(server, number, &exchange).await;
                match received.and_then(|received| check(&exchange, &received)) {
                    Ok(statuses) => {
                        for status in statuses {
                            *report.statuses.entry(status).or_default() += 1;
                        }
                    }
                    Err(fault) => {
                        let Exchange { kind, client, .. } = exchange;
                        report
                            .faults
                            .push(format!("request {number} ({kind:?} of {client}): {fault}"));
                    }
                }
            }
        });
    }
    let mut report = Report::default();
    while let Some(part) = workers.join_next().await {
        report.add(part.unwrap());
    }
    report
}
