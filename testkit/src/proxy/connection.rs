//! One connection through a proxy.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::sleep;

use super::{Fault, Shared, Upstream};

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What the next bytes of the server meet.
enum Answer {
    Forward,
    Drop,
    Delay(Duration),
    /// So many bytes are left.
    Cut(usize),
}

/// Returns when the connection is over; both sides are cut by then.
pub(super) async fn run(shared: &Shared, client: TcpStream) {
    let upstream = shared.upstream.lock().unwrap().clone();
    let server = match connect(&upstream).await {
        Ok(server) if !shared.refuses() => server,
        _ => return shared.count(|counts| counts.refused += 1),
    };
    let connection = shared.next_connection();
    let mut cut = shared.cut.subscribe();
    tokio::select! {
        // An error is an end like any other.
        _ = relay(shared, connection, client, server) => {}
        _ = cut.changed() => shared.count(|counts| counts.cut += 1),
    }
}

async fn connect(upstream: &Upstream) -> io::Result<Box<dyn Stream>> {
    Ok(match upstream {
        Upstream::Tcp(address) => {
            let server = TcpStream::connect(address).await?;
            server.set_nodelay(true)?;
            Box::new(server)
        }
        Upstream::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}

async fn relay(
    shared: &Shared,
    connection: u64,
    client: TcpStream,
    server: Box<dyn Stream>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = split(server);
    let (mut up, mut down) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut client_is_there = true;
    // What the client sends is a new request if the server has spoken since the last one.
    let mut is_new = true;
    let mut number = 0;
    let mut answer = Answer::Forward;
    loop {
        tokio::select! {
            read = from_client.read(&mut up), if client_is_there => {
                let bytes = &up[..read?];
                if bytes.is_empty() {
                    client_is_there = false;
                    to_server.shutdown().await?;
                    continue;
                }
                let mut fault = Fault::None;
                if is_new {
                    is_new = false;
                    number += 1;
                    fault = shared.decide(connection, number, bytes);
                }
                match fault {
                    Fault::None => {}
                    Fault::DropRequest => {
                        shared.count(|counts| counts.requests_dropped += 1);
                        return Ok(());
                    }
                    Fault::DropAnswer => answer = Answer::Drop,
                    Fault::DelayRequest(time) => {
                        sleep(time).await;
                        shared.count(|counts| counts.requests_delayed += 1);
                    }
                    Fault::DelayAnswer(time) => answer = Answer::Delay(time),
                    Fault::CutRequest { after } => {
                        to_server.write_all(&bytes[..after.min(bytes.len())]).await?;
                        shared.count(|counts| counts.requests_cut += 1);
                        return Ok(());
                    }
                    Fault::CutAnswer { after } => answer = Answer::Cut(after),
                    Fault::Stall => {
                        shared.count(|counts| counts.stalled += 1);
                        while from_client.read(&mut up).await? > 0 {}
                        return Ok(());
                    }
                }
                to_server.write_all(bytes).await?;
            }
            read = from_server.read(&mut down) => {
                let bytes = &down[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                is_new = true;
                match answer {
                    Answer::Forward => {}
                    Answer::Drop => {
                        shared.count(|counts| counts.answers_dropped += 1);
                        return Ok(());
                    }
                    Answer::Delay(time) => {
                        sleep(time).await;
                        shared.count(|counts| counts.answers_delayed += 1);
                        answer = Answer::Forward;
                    }
                    Answer::Cut(left) if left <= bytes.len() => {
                        to_client.write_all(&bytes[..left]).await?;
                        shared.count(|counts| counts.answers_cut += 1);
                        return Ok(());
                    }
                    Answer::Cut(left) => answer = Answer::Cut(left - bytes.len()),
                }
                to_client.write_all(bytes).await?;
            }
        }
    }
}
