//! Where a scene plays: a server of its own on a port of its own, with a clock that stands still until
//! the scene moves it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use idem_sled::SledStore;
use idem_tower::IdempotencyLayer;
use idempotency::{Builder, Idempotency, IdempotencyStore, ManualClock};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::client::{Answer, Connection, Failure};
use crate::gate::HeldCalls;
use crate::local::LocalServer;
use crate::provider::Provider;
use crate::sabotage::Sabotage;
use crate::server;
use crate::temporary::TemporaryFolder;

/// The heartbeat runs by the real clock, and a scene is over long before its first beat.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// Of the store and of the provider.
pub(crate) const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Stage {
    pub(crate) clock: ManualClock,
    /// What operators look at: never sabotaged.
    pub(crate) records: SledStore,
    pub(crate) store: Arc<dyn IdempotencyStore>,
    server: LocalServer,
    pub(crate) provider: Provider,
    layer: IdempotencyLayer,
    traffic: watch::Sender<Traffic>,
    /// Dropped after everything that writes to it.
    _folder: TemporaryFolder,
}

/// What the server's doorman has counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) begun: usize,
    /// Requests that were dropped before they were answered.
    pub(crate) hung_up: usize,
}

impl Stage {
    pub(crate) async fn set(
        sabotage: Option<Sabotage>,
        settings: impl FnOnce(Builder) -> Builder,
    ) -> Result<Self, Failure> {
        let clock = ManualClock::new();
        let folder = TemporaryFolder::new()?;
        let options = SledStore::options(folder.path()).clock(clock.clone());
        let records = options.open().await?;
        let store = match sabotage {
            Some(sabotage) => sabotage.wrap(records.clone()),
            None => Arc::new(records.clone()),
        };
        let builder = Idempotency::builder(Arc::clone(&store))
            .lease(LEASE)
            .retention(RETENTION);
        let provider = Provider::new(clock.clone(), RETENTION, Duration::ZERO);
        let layer = server::layer(settings(builder).build()?);
        let traffic = watch::Sender::default();
        let router = server::router(provider.clone(), layer.clone())
            .layer(from_fn_with_state(traffic.clone(), count_traffic));
        let server = LocalServer::start(router).await?;
        Ok(Self {
            clock,
            records,
            store,
            server,
            provider,
            layer,
            traffic,
            _folder: folder,
        })
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        Connection::open(self.server.address).await
    }

    /// `POST /payments`, to its answer.
    pub(crate) async fn pay(&self, client: &str, key: &str, body: &str) -> Result<Answer, Failure> {
        self.connect().await?.pay(client, Some(key), body).await
    }

    /// The same in the background. To hang up is to abort it.
    pub(crate) fn begin_pay(
        &self,
        client: &'static str,
        key: &'static str,
        body: &'static str,
    ) -> JoinHandle<Result<Answer, Failure>> {
        let address = self.server.address;
        tokio::spawn(async move {
            Connection::open(address)
                .await?
                .pay(client, Some(key), body)
                .await
        })
    }

    /// `GET /ledger`.
    pub(crate) async fn ledger(&self) -> Result<Value, Failure> {
        self.connect().await?.get("/ledger").await?.json()
    }

    /// How often money was taken, by the ledger.
    pub(crate) async fn charges(&self) -> Result<usize, Failure> {
        Ok(self.ledger().await?["charges"]
            .as_array()
            .map_or(0, Vec::len))
    }

    /// How often the provider was called, by the ledger.
    pub(crate) async fn calls(&self) -> Result<Value, Failure> {
        Ok(self.ledger().await?["provider_calls"].take())
    }

    /// From now on the provider charges at once, and its answers wait until they are let go.
    pub(crate) fn hold_answers(&self) -> HeldCalls {
        self.provider.hold_answers()
    }

    /// Until no payment runs, also none whose client has gone.
    pub(crate) async fn payments_end(&self) {
        // Whoever waits for longer than a scene may take is ended with it.
        self.layer.drain(Duration::MAX).await;
    }

    pub(crate) async fn until(&self, reached: impl FnMut(&Traffic) -> bool) {
        let mut traffic = self.traffic.subscribe();
        // The sender lives in `self`, so this cannot end otherwise.
        let _ = traffic.wait_for(reached).await;
    }
}

async fn count_traffic(
    State(traffic): State<watch::Sender<Traffic>>,
    request: Request,
    next: Next,
) -> Response {
    let mut request_ends = Ends {
        traffic,
        answered: false,
    };
    request_ends
        .traffic
        .send_modify(|traffic| traffic.begun += 1);
    let response = next.run(request).await;
    request_ends.answered = true;
    response
}

/// Dropped after everything else of its request: what the hang-up stops has stopped by then.
struct Ends {
    traffic: watch::Sender<Traffic>,
    answered: bool,
}

impl Drop for Ends {
    fn drop(&mut self) {
        if !self.answered {
            self.traffic.send_modify(|traffic| traffic.hung_up += 1);
        }
    }
}
