//! A server on 127.0.0.1 that speaks HTTP/1.1 and HTTP/2, with the layer around one handler.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use idem_tower::{IdempotencyLayer, RequestBody};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tower::{Layer as _, Service};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;
pub(crate) type Asked = Request<RequestBody<Incoming>>;

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Dropped, it closes its port and its connections; what runs detached goes on.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<F>(
        layer: IdempotencyLayer,
        handler: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let service = tower::service_fn(move |request: Asked| {
            let answering = handler(request);
            async move { Ok::<_, Infallible>(answering.await) }
        });
        Self::around(layer.layer(service)).await
    }

    /// Serves whatever answers what hyper reads.
    pub(crate) async fn around<S, R>(service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<R>> + Clone + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        R: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            // Ends its connections with it.
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let service = TowerToHyperService::new(service.clone());
                let server = auto::Builder::new(TokioExecutor::new());
                let connection = server.serve_connection(TokioIo::new(stream), service);
                // A client that goes away is what many tests are about: how it ends says nothing.
                connections.spawn(connection.into_owned());
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, serving }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
