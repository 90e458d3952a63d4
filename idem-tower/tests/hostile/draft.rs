//! A request over HTTP/1.1, written by hand.

use super::clients::{CLIENTS, key_of};

/// What the keys of requests begin with that are never sent whole.
pub(crate) const ABORTED: &str = "rawkey-aborted";

pub(crate) fn aborted_key(number: u64) -> String {
    format!("{ABORTED}-{number}")
}

/// What a key asks for, always.
pub(crate) fn payload(owner: usize, number: u64) -> Vec<u8> {
    format!(r#"{{"owner":{owner},"payment":{number}}}"#).into()
}

/// To be spoiled.
pub(crate) struct Draft {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) lines: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// The bytes after the head, if they are not just the body with its length.
    framed: Option<Vec<u8>>,
}

impl Draft {
    pub(crate) fn keyless(client: usize) -> Self {
        Self {
            method: "POST".into(),
            path: "/pay".into(),
            lines: Vec::new(),
            body: Vec::new(),
            framed: None,
        }
        .line("host", "service.example")
        .line("authorization", CLIENTS[client].credential)
    }

    pub(crate) fn keyed(client: usize, key: &str) -> Self {
        Self::keyless(client).line("idempotency-key", key)
    }

    /// To be cut off: it must never run.
    pub(crate) fn aborted(client: usize, number: u64) -> Self {
        Self::keyed(client, &aborted_key(number))
            .line("content-type", "application/json")
            .body(payload(client, number))
    }

    pub(crate) fn payment(client: usize, owner: usize, number: u64) -> Self {
        Self::keyed(client, &key_of(owner, number))
            .line("content-type", "application/json")
            .body(payload(owner, number))
    }

    pub(crate) fn line(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.lines.push((name.into(), value.into()));
        self
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn framed(mut self, bytes: Vec<u8>) -> Self {
        self.framed = Some(bytes);
        self
    }

    /// From the end of the request line on.
    pub(crate) fn after_line(&self) -> Vec<u8> {
        let mut bytes = b"\r\n".to_vec();
        for (name, value) in &self.lines {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        match &self.framed {
            Some(framed) => bytes.extend([b"\r\n", &framed[..]].concat()),
            None => {
                let length = format!("content-length: {}\r\n\r\n", self.body.len());
                bytes.extend([length.as_bytes(), &self.body].concat());
            }
        }
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let line = format!("{} {} HTTP/1.1", self.method, self.path);
        [line.as_bytes(), &self.after_line()].concat()
    }

    pub(crate) fn with_raw_line(&self, line: &[u8]) -> Vec<u8> {
        let start = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        [start.as_bytes(), line, &self.after_line()[2..]].concat()
    }
}
