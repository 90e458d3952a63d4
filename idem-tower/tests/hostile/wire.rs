//! One exchange over a connection of its own, and what there is to check of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::clients::CLIENTS;
use super::http2;
use super::kinds::{Exchange, Expected, Kind, Then};

/// Nothing takes longer: who waits for more has been forgotten by the server.
const PATIENCE: Duration = Duration::from_secs(15);

/// What came back, to the end of the connection.
pub(crate) async fn converse(
    server: SocketAddr,
    number: u64,
    exchange: &Exchange,
) -> Result<Vec<u8>, String> {
    let mut stream = connect(server, number)
        .await
        .map_err(|error| format!("no connection: {error}"))?;
    let mut received = Vec::new();
    let talking = talk(&mut stream, exchange, &mut received);
    match timeout(PATIENCE, talking).await {
        // A server that has closed already: what it has said until then counts.
        Ok(Ok(()) | Err(_)) => Ok(received),
        Err(_) => Err(format!("no end within {PATIENCE:?}")),
    }
}

/// From an address of its own, of the many that the loopback has: one has too few ports for all.
async fn connect(server: SocketAddr, number: u64) -> io::Result<TcpStream> {
    let host = u8::try_from(1 + number / 1000 % 250).unwrap();
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 0, 1, host), 0).into())?;
    let stream = timeout(PATIENCE, socket.connect(server)).await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn talk(
    stream: &mut TcpStream,
    exchange: &Exchange,
    received: &mut Vec<u8>,
) -> io::Result<()> {
    let mut written = Ok(());
    for (number, bytes) in exchange.writes.iter().enumerate() {
        if number > 0 {
            sleep(Duration::from_millis(2)).await; // why: a slow client is slow
        }
        written = written.and(stream.write_all(bytes).await);
    }
    match exchange.then {
        Then::HangsUp => return written,
        Then::HalfCloses => stream.shutdown().await?,
        Then::Reads => {}
    }
    while stream.read_buf(received).await? > 0 {
        // This server keeps its connections: the client is the one to end it.
        if exchange.expected == Expected::Http2Answer && http2::has_answer(received) {
            break;
        }
    }
    Ok(())
}

/// The statuses of the answers, if they are what was expected.
pub(crate) fn check(exchange: &Exchange, received: &[u8]) -> Result<Vec<u16>, String> {
    let others = CLIENTS.iter().enumerate();
    for (_, other) in others.filter(|(number, _)| *number != exchange.client) {
        if contains(received, other.secret) {
            return Err(format!("the secret of {}", other.scope));
        }
    }
    let own = CLIENTS[exchange.client].secret;
    let (count, statuses) = match exchange.expected {
        Expected::Http2 => return Ok(Vec::new()),
        Expected::Http2Answer if http2::has_answer(received) => return Ok(Vec::new()),
        Expected::Http2Answer => return Err("no answer over HTTP/2".into()),
        Expected::Perhaps => {
            return Ok(answers(received)?
                .iter()
                .map(|answer| answer.status)
                .collect());
        }
        Expected::Answers(count, statuses) => (count, statuses),
    };
    let answers = answers(received)?;
    if answers.len() != count {
        return Err(format!("{} answers instead of {count}", answers.len()));
    }
    for answer in &answers {
        if !statuses.contains(&answer.status) {
            return Err(format!("status {} is none of {statuses:?}", answer.status));
        }
        if answer.status < 300 && !contains(answer.body, own) {
            return Err("an answer without the own secret".into());
        }
        if exchange.kind == Kind::Spoofed && contains(answer.head, "idempotent-replayed") {
            return Err("the client's own mark came back".into());
        }
    }
    Ok(answers.iter().map(|answer| answer.status).collect())
}

pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// The answers in these bytes, one after the other, without those that announce another.
pub(crate) fn answers(mut bytes: &[u8]) -> Result<Vec<Answer<'_>>, String> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let head = find(bytes, b"\r\n\r\n").ok_or("a head without its end")?;
        let (head, rest) = bytes.split_at(head + 4);
        let text = std::str::from_utf8(head).map_err(|_| "a head that is no text")?;
        let mut lines = text.trim_end().split("\r\n");
        let line = lines.next().unwrap_or_default();
        let status = line
            .strip_prefix("HTTP/1.1 ")
            .or(line.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = status.ok_or_else(|| format!("no status line: {line:?}"))?;
        if status == 100 {
            bytes = rest;
            continue;
        }
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse::<usize>())
        });
        let length = length.ok_or("an answer without its length")?;
        let length = length.map_err(|_| "a length that is no number")?;
        let Some((body, rest)) = rest.split_at_checked(length) else {
            return Err(format!(
                "a body of {length} bytes that is cut at {}",
                rest.len()
            ));
        };
        answers.push(Answer { status, head, body });
        bytes = rest;
    }
    Ok(answers)
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    find(bytes, text.as_bytes()).is_some()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
