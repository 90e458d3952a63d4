//! Payments in the store's own database: row and key commit together.

use idempotency::Idempotency;

use super::at_once::{REQUESTS, answered_meanwhile, counted, send_at_once};
use super::{ANA, new_customer};
use crate::client::{Answer, Connection, Failure};
use crate::local::LocalServer;
use crate::server;
use crate::transfer::{self, Transfers};

pub(crate) const CRASH_EXPECTED: &str =
    "500 outcome-unknown, rows: 0; retry: 201; again: 201 replayed, same bytes; rows: 1";

/// The handler dies after its row was written and before the commit.
pub(crate) async fn crashes(transfers: &Transfers) -> Result<String, Failure> {
    let stage = Stage::set(transfers).await?;
    let mut held = transfers.hold();
    let first = tokio::spawn(stage.transfer());
    held.next().await.crash();
    let crashed = first.await??;
    drop(held);
    let rows = stage.rows().await?;
    let retry = stage.transfer().await?;
    let again = stage.transfer().await?;
    let same = again.compared_to(&retry);
    let rows_after = stage.rows().await?;
    Ok(format!(
        "{crashed}, rows: {rows}; retry: {retry}; again: {again}, {same}; rows: {rows_after}"
    ))
}

/// While the one that won has not committed, nobody sees its reservation, and yet nobody else runs.
pub(crate) async fn at_once(transfers: &Transfers) -> Result<String, Failure> {
    let stage = Stage::set(transfers).await?;
    let mut held = transfers.hold();
    let requests = send_at_once((0..REQUESTS).map(|_| stage.transfer()));
    let answers = answered_meanwhile(requests, &mut held).await?;
    Ok(format!(
        "{}; rows: {}",
        counted(&answers),
        stage.rows().await?
    ))
}

/// A server over the database, which others may use too: key and customer are new each time.
struct Stage {
    transfers: Transfers,
    server: LocalServer,
    customer: String,
}

impl Stage {
    async fn set(transfers: &Transfers) -> Result<Self, Failure> {
        let layer = server::layer(Idempotency::new(transfers.store()));
        let router = transfer::router(transfers.clone(), layer);
        Ok(Self {
            transfers: transfers.clone(),
            server: LocalServer::start(router).await?,
            customer: new_customer(),
        })
    }

    /// `POST /transfers`, each time the same.
    fn transfer(&self) -> impl Future<Output = Result<Answer, Failure>> + use<> {
        let (address, customer) = (self.server.address, self.customer.clone());
        async move {
            let body =
                format!(r#"{{"amount":"150.00","currency":"BRL","customer_id":"{customer}"}}"#);
            let connection = Connection::open(address).await?;
            connection
                .post("/transfers", ANA, Some(&customer), &body)
                .await
        }
    }

    async fn rows(&self) -> Result<i64, Failure> {
        Ok(self.transfers.to_customer(&self.customer).await?)
    }
}
