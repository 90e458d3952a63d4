//! A client that goes away in the middle, in each of the ways there are.

use std::future::poll_fn;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request};
use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::client::{Answer, Protocol, send};
use super::gate::soon;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// HTTP/1.1, the socket is closed (FIN).
    Http1Close,
    /// HTTP/1.1, the socket is reset (RST).
    Http1Reset,
    /// HTTP/2, `RST_STREAM`: the connection lives on.
    Http2Reset,
    /// HTTP/2, the connection's socket is closed.
    Http2Close,
}

pub(crate) const WAYS: [Way; 4] = [
    Way::Http1Close,
    Way::Http1Reset,
    Way::Http2Reset,
    Way::Http2Close,
];

impl Way {
    fn protocol(self) -> Protocol {
        match self {
            Self::Http1Close | Self::Http1Reset => Protocol::Http1,
            Self::Http2Reset | Self::Http2Close => Protocol::Http2,
        }
    }
}

/// How much of its body a client sends before it goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upload {
    Whole,
    /// The half of it, after its length.
    HalfDeclared,
    /// The half of it, in chunks.
    HalfChunked,
}

/// A client in the middle of a request.
pub(crate) struct Leaver {
    way: Way,
    address: SocketAddr,
    line: Line,
}

enum Line {
    Http1(TcpStream),
    Http2 {
        connection: Connection,
        upload: SendStream<Bytes>,
        answer: Option<ResponseFuture>,
        body: Option<RecvStream>,
    },
}

struct Connection {
    sender: SendRequest<Bytes>,
    _driver: AbortOnDropHandle<Result<(), h2::Error>>,
}

impl Leaver {
    /// Sends a request, and of its body so much.
    pub(crate) async fn send(
        address: SocketAddr,
        way: Way,
        request: &Request<Bytes>,
        upload: Upload,
    ) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        // Or each frame that gives a window back waits for the answer to the one before.
        socket.set_nodelay(true).unwrap();
        let line = match way.protocol() {
            Protocol::Http1 => soon(http1(socket, request, upload)).await,
            Protocol::Http2 => soon(http2(socket, request, upload)).await,
        };
        Self { way, address, line }
    }

    /// Reads the beginning of the answer: its head, and something of its body.
    pub(crate) async fn sees_the_beginning(&mut self) {
        match &mut self.line {
            Line::Http1(socket) => {
                let mut seen = Vec::new();
                // More than the blank line that ends the head.
                while !seen.windows(5).any(|end| end.starts_with(b"\r\n\r\n")) {
                    assert_ne!(soon(socket.read_buf(&mut seen)).await.unwrap(), 0);
                }
            }
            Line::Http2 { answer, body, .. } => {
                let mut coming = soon(answer.take().unwrap()).await.unwrap().into_body();
                // Its window is not given back: the server can send no more than that.
                soon(coming.data()).await.unwrap().unwrap();
                *body = Some(coming);
            }
        }
    }

    /// Goes away. What is left can send again.
    pub(crate) fn leave(self) -> Left {
        let connection = match self.line {
            Line::Http1(socket) => {
                if self.way == Way::Http1Reset {
                    socket.set_zero_linger().unwrap();
                }
                None
            }
            Line::Http2 {
                connection,
                mut upload,
                ..
            } => {
                let resets = self.way == Way::Http2Reset;
                if resets {
                    upload.send_reset(Reason::CANCEL);
                }
                resets.then_some(connection)
            }
        };
        Left {
            address: self.address,
            protocol: self.way.protocol(),
            connection,
        }
    }
}

/// A client that has gone away, with its connection if that lives on.
pub(crate) struct Left {
    address: SocketAddr,
    protocol: Protocol,
    connection: Option<Connection>,
}

impl Left {
    /// Sends a request, by the connection that lives on or by a new one, to the whole answer.
    pub(crate) async fn send(&mut self, request: &Request<Bytes>) -> Answer {
        match &mut self.connection {
            None => {
                let request = request.clone().map(Full::new);
                send(self.address, self.protocol, request).await.unwrap()
            }
            Some(connection) => soon(connection.send(request)).await,
        }
    }
}

impl Connection {
    async fn send(&mut self, request: &Request<Bytes>) -> Answer {
        let (answer, mut upload) = self.begin(request, None).await;
        upload.send_data(request.body().clone(), true).unwrap();
        let (parts, mut body) = answer.await.unwrap().into_parts();
        let mut whole = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            whole.extend_from_slice(&data);
            body.flow_control().release_capacity(data.len()).unwrap();
        }
        let trailers: Option<HeaderMap> = body.trailers().await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: whole.into(),
            trailers: trailers.unwrap_or_default(),
        }
    }

    async fn begin(
        &mut self,
        request: &Request<Bytes>,
        length: Option<usize>,
    ) -> (ResponseFuture, SendStream<Bytes>) {
        let (mut parts, _) = request.clone().into_parts();
        parts.uri = format!("http://service.example{}", parts.uri)
            .parse()
            .unwrap();
        if let Some(length) = length {
            parts.headers.insert("content-length", length.into());
        }
        poll_fn(|cx| self.sender.poll_ready(cx)).await.unwrap();
        let head = Request::from_parts(parts, ());
        self.sender.send_request(head, false).unwrap()
    }
}

async fn http1(mut socket: TcpStream, request: &Request<Bytes>, upload: Upload) -> Line {
    let body = request.body();
    let mut sent = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri());
    sent += "host: service.example\r\n";
    for (name, value) in request.headers() {
        sent += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    let half = &body[..body.len() / 2];
    let mut sent = match upload {
        Upload::Whole | Upload::HalfDeclared => {
            format!("{sent}content-length: {}\r\n\r\n", body.len())
        }
        Upload::HalfChunked => {
            format!(
                "{sent}transfer-encoding: chunked\r\n\r\n{:x}\r\n",
                half.len()
            )
        }
    }
    .into_bytes();
    match upload {
        Upload::Whole => sent.extend_from_slice(body),
        Upload::HalfDeclared => sent.extend_from_slice(half),
        Upload::HalfChunked => sent.extend([half, b"\r\n"].concat()),
    }
    socket.write_all(&sent).await.unwrap();
    Line::Http1(socket)
}

async fn http2(socket: TcpStream, request: &Request<Bytes>, upload: Upload) -> Line {
    let (sender, connection) = h2::client::handshake(socket).await.unwrap();
    let mut connection = Connection {
        sender,
        _driver: AbortOnDropHandle::new(tokio::spawn(connection)),
    };
    let body = request.body();
    let (sent, ends) = match upload {
        Upload::Whole => (body.clone(), true),
        Upload::HalfDeclared | Upload::HalfChunked => (body.slice(..body.len() / 2), false),
    };
    let declared = (upload != Upload::HalfChunked).then_some(body.len());
    let (answer, mut upload) = connection.begin(request, declared).await;
    upload.send_data(sent, ends).unwrap();
    Line::Http2 {
        connection,
        upload,
        answer: Some(answer),
        body: None,
    }
}
