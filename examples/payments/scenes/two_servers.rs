//! Two servers over one store, each with connections and, if there is one, a cache of its own.

use std::time::Duration;

use idempotency::{Idempotency, MonotonicClock};

use super::at_once::{REQUESTS, answered_meanwhile, counted, send_at_once};
use super::{ANA, new_customer};
use crate::cache::CacheUrl;
use crate::client::{Answer, Connection, Failure};
use crate::local::LocalServer;
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
        let requests = send_at_once((0..REQUESTS).map(|n| stage.pay(n % 2)));
        let answers = answered_meanwhile(requests, &mut held).await?;
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
    servers: [LocalServer; 2],
    provider: Provider,
    customer: String,
}

impl Stage {
    async fn set(what: &Servers) -> Result<Self, Failure> {
        let provider = Provider::new(MonotonicClock::new(), RETENTION, Duration::ZERO);
        let open = || what.store.clone().open(what.cache.clone());
        Ok(Self {
            servers: [
                start(open().await?, &provider).await?,
                start(open().await?, &provider).await?,
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

async fn start(opened: Opened, provider: &Provider) -> Result<LocalServer, Failure> {
    let layer = server::layer(Idempotency::new(opened.store));
    Ok(LocalServer::start(server::router(provider.clone(), layer)).await?)
}
