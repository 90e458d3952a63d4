//! Clients: one request a connection, HTTP/1.1 or HTTP/2, to the whole answer.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::PATIENCE;
use super::server::BoxError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

pub(crate) const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: HeaderMap,
}

impl Answer {
    /// The one line of a header, if there is one.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.get_all(name).iter();
        let line = lines.next().map(|line| line.to_str().unwrap());
        assert!(lines.next().is_none(), "{name} more than once");
        line
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The end of the problem's type, if it is a problem.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.header("content-type") != Some("application/problem+json") {
            return None;
        }
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(body["status"], self.status.as_u16());
        let slug = body["type"]
            .as_str()?
            .strip_prefix("urn:idempotency-key:")?;
        Some(slug.to_owned())
    }

    /// Without what belongs to the sending and not to the answer.
    #[allow(dead_code, reason = "not every set of tests compares answers by it")]
    pub(crate) fn headers_as_given(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.remove("date");
        headers.remove("idempotent-replayed");
        headers
    }
}

/// Sends one request on a connection of its own. The URI is only path and query.
pub(crate) async fn send<B>(
    address: SocketAddr,
    protocol: Protocol,
    request: Request<B>,
) -> Result<Answer, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    timeout(PATIENCE, send_patiently(address, protocol, request)).await?
}

async fn send_patiently<B>(
    address: SocketAddr,
    protocol: Protocol,
    mut request: Request<B>,
) -> Result<Answer, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let io = TokioIo::new(stream);
    let (answer, _connection) = match protocol {
        Protocol::Http1 => {
            request
                .headers_mut()
                .insert("host", "service.example".parse()?);
            let (mut sender, connection) = http1::handshake(io).await?;
            let connection = AbortOnDropHandle::new(tokio::spawn(connection));
            (sender.send_request(request).await?, connection)
        }
        Protocol::Http2 => {
            let path = request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str());
            *request.uri_mut() = format!("http://service.example{path}").parse()?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            let connection = AbortOnDropHandle::new(tokio::spawn(connection));
            (sender.send_request(request).await?, connection)
        }
    };
    let (parts, body) = answer.into_parts();
    let collected = body.collect().await?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Ok(Answer {
        status: parts.status,
        headers: parts.headers,
        body: collected.to_bytes(),
        trailers,
    })
}
