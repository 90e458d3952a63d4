//! A server on a port of its own, for as long as a scene plays.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// Dropped, it serves no longer.
pub(crate) struct LocalServer {
    pub(crate) address: SocketAddr,
    _serving: AbortOnDropHandle<std::io::Result<()>>,
}

impl LocalServer {
    pub(crate) async fn start(router: Router) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(axum::serve(listener, router).into_future());
        Ok(Self {
            address,
            _serving: AbortOnDropHandle::new(serving),
        })
    }
}
