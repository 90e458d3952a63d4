//! A client of the server, for the story. One connection a request, so that one can hang up.

use std::fmt;
use std::net::SocketAddr;

use axum::body::Bytes;
use axum::http::header::{CONNECTION, DATE, RETRY_AFTER};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use crate::problem::TYPE_PREFIX;

/// The mark of a replay.
const REPLAYED: &str = "idempotent-replayed";

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An open connection. Dropped, it is closed: a request under way loses its client.
pub(crate) struct Connection {
    send: SendRequest<Full<Bytes>>,
    _io: AbortOnDropHandle<Result<(), hyper::Error>>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        let (send, io) = handshake(TokioIo::new(stream)).await?;
        let _io = AbortOnDropHandle::new(tokio::spawn(io));
        Ok(Self { send, _io })
    }

    /// `POST /payments` as `client`.
    pub(crate) async fn pay(
        self,
        client: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Answer, Failure> {
        self.post("/payments", client, key, body).await
    }

    pub(crate) async fn post(
        self,
        path: &str,
        client: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Answer, Failure> {
        let mut request = Request::post(path).header("authorization", format!("Bearer {client}"));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        self.request(request.body(body.to_owned().into())?).await
    }

    pub(crate) async fn get(self, path: &str) -> Result<Answer, Failure> {
        self.request(Request::get(path).body(Full::default())?)
            .await
    }

    async fn request(mut self, mut request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        request
            .headers_mut()
            .insert("host", "payments.example".parse()?);
        request.headers_mut().insert(CONNECTION, "close".parse()?);
        let (head, body) = self.send.send_request(request).await?.into_parts();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: body.collect().await?.to_bytes(),
        })
    }
}

/// What the server answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    pub(crate) fn status(&self) -> &str {
        self.status.as_str()
    }

    pub(crate) fn json(&self) -> Result<Value, Failure> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// Says whether status, headers and body are those of `other`, byte for byte.
    pub(crate) fn compared_to(&self, other: &Self) -> &'static str {
        let same = self.status == other.status
            && self.headers_as_given() == other.headers_as_given()
            && self.body == other.body;
        if same { "same bytes" } else { "OTHER BYTES" }
    }

    /// Without what belongs to the sending and not to the answer: when it was sent, and the mark.
    fn headers_as_given(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.remove(DATE);
        headers.remove(REPLAYED);
        headers
    }

    /// The last part of the problem's type, if it is a problem.
    fn problem(&self) -> Option<String> {
        let body = self.json().ok()?;
        let kind = body.get("type")?.as_str()?.strip_prefix(TYPE_PREFIX)?;
        Some(kind.to_owned())
    }
}

/// `201`, `201 replayed`, `409 in-flight retry 1s`: what the story compares.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status.as_str())?;
        if let Some(problem) = self.problem() {
            write!(f, " {problem}")?;
        }
        if let Some(seconds) = self.headers.get(RETRY_AFTER) {
            write!(f, " retry {}s", String::from_utf8_lossy(seconds.as_bytes()))?;
        }
        match self.headers.get(REPLAYED) {
            None => Ok(()),
            Some(mark) if mark == "true" => f.write_str(" replayed"),
            Some(mark) => write!(f, " replayed: {mark:?}"),
        }
    }
}
