//! Payments in the store's own database: row and key commit together.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use idempotency::Idempotency;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::at_once::{REQUESTS, counted, next};
use super::{ANA, new_customer};
use crate::client::{Answer, Connection, Failure};
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
    let start = Arc::new(Barrier::new(REQUESTS));
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS {
        let (start, transfer) = (Arc::clone(&start), stage.transfer());
        requests.spawn(async move {
            start.wait().await;
            transfer.await
        });
    }
    let winner = held.next().await;
    let mut answers = Vec::new();
    while answers.len() + 1 < REQUESTS {
        answers.push(next(&mut requests).await?);
    }
    winner.answer();
    answers.push(next(&mut requests).await?);
    Ok(format!(
        "{}; rows: {}",
        counted(&answers),
        stage.rows().await?
    ))
}

/// A server over the database, which others may use too: key and customer are new each time.
struct Stage {
    transfers: Transfers,
    address: SocketAddr,
    customer: String,
    _serving: AbortOnDropHandle<std::io::Result<()>>,
}

impl Stage {
    async fn set(transfers: &Transfers) -> Result<Self, Failure> {
        let layer = server::layer(Idempotency::new(transfers.store()));
        let router = transfer::router(transfers.clone(), layer);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(axum::serve(listener, router).into_future());
        Ok(Self {
            transfers: transfers.clone(),
            address,
            customer: new_customer(),
            _serving: AbortOnDropHandle::new(serving),
        })
    }

    /// `POST /transfers`, each time the same.
    fn transfer(&self) -> impl Future<Output = Result<Answer, Failure>> + use<> {
        let (address, customer) = (self.address, self.customer.clone());
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
