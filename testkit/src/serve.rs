//! The serving loop of a child that is made to be killed.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::victim::READY;

/// One request for an operation, as a [`RetryingClient`](crate::RetryingClient) sends it, and whom to answer.
#[derive(Debug)]
pub struct Call {
    /// Its `idempotency-key`: what the client calls the operation.
    pub operation: String,
    /// Byte for byte.
    pub body: Vec<u8>,
    client: TcpStream,
}

/// Says that the child is ready, and then makes a call of every request, on a thread of its own, without end.
///
/// # Panics
///
/// If a call does.
#[allow(clippy::print_stdout, reason = "it says when it is ready")]
pub fn serve(listener: &TcpListener, answer: impl Fn(Call) -> io::Result<()> + Sync) {
    println!("{READY}");
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let answer = &answer;
            // A client that hangs up is not worth a word.
            scope.spawn(move || _ = stream.and_then(Call::read).and_then(answer));
        }
    });
}

impl Call {
    fn read(client: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(client.try_clone()?);
        let (mut operation, mut length, mut line) = (String::new(), 0, String::new());
        while reader.read_line(&mut line)? > 2 {
            match line.trim_end().split_once(": ") {
                Some(("idempotency-key", value)) => operation = value.to_owned(),
                Some(("content-length", value)) => length = value.parse().unwrap(),
                _ => {}
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self {
            operation,
            body,
            client,
        })
    }

    /// The answer; an error if the client has gone.
    pub fn answer(mut self, status: u16, body: impl AsRef<[u8]>) -> io::Result<()> {
        let body = body.as_ref();
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n");
        self.client.write_all(&[head.as_bytes(), body].concat())
    }
}
