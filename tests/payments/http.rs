//! HTTP by hand over a socket: every byte that is sent and received is in sight.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) const PAYMENT: &str = r#"{"amount":"150.00","currency":"BRL","customer_id":"cus_812"}"#;

/// A connection for one request.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Self(stream)
    }

    /// Sends without waiting for the answer. `lines` are header lines.
    pub(crate) fn send(&mut self, method_and_path: &str, lines: &[&str], body: &str) {
        let mut request = format!("{method_and_path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for line in lines {
            request += &format!("{line}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.0.write_all(request.as_bytes()).unwrap();
    }

    pub(crate) fn answer(mut self) -> Answer {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }
}

pub(crate) fn request(
    address: SocketAddr,
    method_and_path: &str,
    lines: &[&str],
    body: &str,
) -> Answer {
    let mut connection = Connection::open(address);
    connection.send(method_and_path, lines, body);
    connection.answer()
}

/// `POST /payments` of one client, with the line of its key.
pub(crate) fn pay(address: SocketAddr, key_line: &str, body: &str) -> Answer {
    let lines = ["authorization: Bearer acct_812", key_line];
    request(address, "POST /payments", &lines, body)
}

pub(crate) struct Ledger {
    pub(crate) charges: Vec<serde_json::Value>,
    pub(crate) provider_calls: u64,
}

pub(crate) fn ledger(address: SocketAddr) -> Ledger {
    let json = request(address, "GET /ledger", &[], "").json();
    Ledger {
        charges: json["charges"].as_array().unwrap().clone(),
        provider_calls: json["provider_calls"].as_u64().unwrap(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    lines: Vec<String>,
    body: String,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        let mut lines = head.split("\r\n").map(str::to_owned);
        let status = lines.next().unwrap();
        Self {
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            lines: lines.collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.lines
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The last part of a problem's type.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        let (_, kind) = problem["type"].as_str().unwrap().rsplit_once(':').unwrap();
        kind.to_owned()
    }

    /// Everything that was answered: without when it was sent, and without the mark.
    pub(crate) fn as_given(&self) -> Self {
        let mut given = self.clone();
        given
            .lines
            .retain(|line| !line.starts_with("date: ") && line != "idempotent-replayed: true");
        given
    }
}
