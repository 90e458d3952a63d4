//! Watches, from outside of the layer, over the requests that the server has under way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use tower::{Layer, Service};

use super::gate::Gate;

/// A layer that counts the futures of requests: those made, and those that are gone, ended or dropped.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) begun: Gate,
    pub(crate) gone: Gate,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self {
            begun: Gate::opened(),
            gone: Gate::opened(),
        }
    }
}

impl<S> Layer<S> for Requests {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        let requests = self.clone();
        Watched { inner, requests }
    }
}

#[derive(Clone)]
pub(crate) struct Watched<S> {
    inner: S,
    requests: Requests,
}

impl<S, B> Service<Request<B>> for Watched<S>
where
    S: Service<Request<B>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answering = self.inner.call(request);
        self.requests.begun.arrive();
        let going = Going(self.requests.gone.clone());
        Box::pin(async move {
            // In this order: the one is dropped before the other says so.
            let _going = going;
            let answering = answering;
            answering.await
        })
    }
}

struct Going(Gate);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.arrive();
    }
}
