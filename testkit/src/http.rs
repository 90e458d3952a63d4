//! As much of an HTTP/1.1 client as retrying clients need: a connection for each request.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `POST` and the like.
    pub method: String,
    /// From the first slash on.
    pub path: String,
    /// In order; host, length and connection are added.
    pub headers: Vec<(String, String)>,
    /// Byte for byte.
    pub body: Vec<u8>,
}

impl Request {
    /// `POST` with a body.
    #[must_use]
    pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST".into(),
            path: path.into(),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// One header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends it, and reads the answer to its end. An answer that is cut short is an error.
    pub fn send(&self, to: SocketAddr, within: Duration) -> io::Result<Answer> {
        let mut stream = TcpStream::connect_timeout(&to, within)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(within))?;
        stream.set_write_timeout(Some(within))?;
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {to}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = self.body.len();
        head.push_str(&format!(
            "content-length: {length}\r\nconnection: close\r\n\r\n"
        ));
        stream.write_all(&[head.as_bytes(), &self.body].concat())?;
        Answer::read(BufReader::new(stream))
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its number.
    pub status: u16,
    /// In order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// 2xx.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether asking again is of no use: everything but 5xx, 408, 409, 425 and 429.
    #[must_use]
    pub fn is_definitive(&self) -> bool {
        self.status < 500 && !matches!(self.status, 408 | 409 | 425 | 429)
    }

    fn read(mut stream: impl BufRead) -> io::Result<Self> {
        let first = line(&mut stream)?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no answer: {first:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream)?;
            if line.is_empty() {
                break;
            }
            let header = line.split_once(':');
            let (name, value) = header.ok_or_else(|| io::Error::other("a header without colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Self {
            status,
            headers,
            body: Vec::new(),
        };
        answer.body = if answer.header("transfer-encoding") == Some("chunked") {
            chunks(&mut stream)?
        } else {
            let length = answer.header("content-length").map(str::parse::<usize>);
            let length = length.ok_or_else(|| io::Error::other("an answer without length"))?;
            exactly(&mut stream, length.map_err(io::Error::other)?)?
        };
        Ok(answer)
    }
}

fn chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&line(stream)?, 16).map_err(io::Error::other)?;
        if length == 0 {
            // Trailers, and the empty line.
            while !line(stream)?.is_empty() {}
            return Ok(body);
        }
        body.extend(exactly(stream, length)?);
        line(stream)?;
    }
}

fn exactly(stream: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut bytes)?;
    if read == length {
        Ok(bytes)
    } else {
        Err(cut_short())
    }
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let line = line.strip_suffix("\r\n").ok_or_else(cut_short)?;
    Ok(line.to_owned())
}

fn cut_short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "HTTP/1.1 201 Created\r\nX-A: 1\r\ncontent-length: 2\r\n\r\nok";

    #[test]
    fn an_answer_is_read_to_its_end() {
        let answer = Answer::read(ANSWER.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (201, &b"ok"[..]));
        assert_eq!(answer.header("x-a"), Some("1"));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                       2\r\nab\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n";
        assert_eq!(Answer::read(chunked.as_bytes()).unwrap().body, b"abc");
    }

    #[test]
    fn an_answer_cut_anywhere_is_no_answer() {
        for end in 0..ANSWER.len() {
            assert!(Answer::read(&ANSWER.as_bytes()[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_worth_asking_again_is_not_definitive() {
        let answer = |status| Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        };
        assert!(
            [200, 201, 402, 404, 422]
                .map(answer)
                .iter()
                .all(Answer::is_definitive)
        );
        assert!(
            ![409, 429, 500, 503]
                .map(answer)
                .iter()
                .any(Answer::is_definitive)
        );
    }
}
