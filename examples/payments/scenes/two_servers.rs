//! Two servers over one store, each with connections and, if there is one, a cache of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use idempotency::{Idempotency, MonotonicClock};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::at_once::{REQUESTS, counted, next};
use super::{ANA, new_customer};
use crate::cache::CacheUrl;
use crate::client::{Answer, Connection, Failure};
use crate::provider::Provider;
use crate::server;
use crate::stage::RETENTION;
use crate::store::{Opened, StoreUrl};

/// What they open.
pub(crate) struct Servers {
    pub(crate) store: StoreUrl,
    pub(crate) cache: Option<CacheUrl>,
}

impl Servers {
    pub(crate) async fn at_once(&self) -> Result<String, Failure> {
        let stage = Stage::set(self).await?;
        let mut held = stage.provider.hold_answers();
        let start = Arc::new(Barrier::new(REQUESTS));
        let mut requests = JoinSet::new();
        for n in 0..REQUESTS {
            let (start, payment) = (Arc::clone(&start), stage.pay(n % 2));
            requests.spawn(async move {
                start.wait().await;
                payment.await
            });
        }
        // While the one that won waits for the provider, the others have their answers.
        let winner = held.next().await;
        let mut answers = Vec::new();
        while answers.len() + 1 < REQUESTS {
            answers.push(next(&mut requests).await?);
        }
        winner.answer();
        answers.push(next(&mut requests).await?);
        Ok(format!(
            "{}; charges: {}",
            counted(&answers),
            stage.charges()
        ))
    }

    pub(crate) async fn one_then_the_other(&self) -> Result<String, Failure> {
        let stage = Stage::set(self).await?;
        let first = stage.pay(0).await?;
        let repeat = stage.pay(1).await?;
        let same = repeat.compared_to(&first);
        let charges = stage.charges();
        Ok(format!(
            "{first}, then {repeat}, {same}; charges: {charges}"
        ))
    }
}

/// The store may be used by others too: key and customer are new each time.
struct Stage {
    servers: [Server; 2],
    provider: Provider,
    customer: String,
}

struct Server {
    address: SocketAddr,
    _serving: AbortOnDropHandle<std::io::Result<()>>,
}

impl Stage {
    async fn set(what: &Servers) -> Result<Self, Failure> {
        let provider = Provider::new(MonotonicClock::new(), RETENTION, std::time::Duration::ZERO);
        let open = || what.store.clone().open(what.cache.clone());
        Ok(Self {
            servers: [
                Server::start(open().await?, &provider).await?,
                Server::start(open().await?, &provider).await?,
            ],
            provider,
            customer: new_customer(),
        })
    }

    /// `POST /payments` at one of them, each time the same.
    fn pay(&self, server: usize) -> impl Future<Output = Result<Answer, Failure>> + use<> {
        let (address, customer) = (self.servers[server].address, self.customer.clone());
        async move {
            let body =
                format!(r#"{{"amount":"150.00","currency":"BRL","customer_id":"{customer}"}}"#);
            let connection = Connection::open(address).await?;
            connection.pay(ANA, Some(&customer), &body).await
        }
    }

    fn charges(&self) -> usize {
        self.provider.ledger().charges.len()
    }
}

impl Server {
    async fn start(opened: Opened, provider: &Provider) -> Result<Self, Failure> {
        let layer = server::layer(Idempotency::new(opened.store));
        let router = server::router(provider.clone(), layer);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(axum::serve(listener, router).into_future());
        Ok(Self {
            address,
            _serving: AbortOnDropHandle::new(serving),
        })
    }
}
