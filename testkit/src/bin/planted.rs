//! A payments server to try the rig on: right, or wrong in one way.
//!
//! `planted MODE LISTEN LEDGER RECORDS`
#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(clippy::print_stdout, reason = "it says when it is ready")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;

use testkit::{LedgerClient, Marker};

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The provider knows a repeated charge again, by a key made of the operation.
    DerivedKey,
    /// It does not: killed between charge and record, the server charges again.
    ChargesTwice,
    /// Recorded only once it was answered: killed in between, the next answer is another.
    AnswersFirst,
    /// A reservation outlives the process that made it, and nobody ever takes it over.
    Stuck,
}

struct Server {
    mode: Mode,
    ledger: String,
    marker: Marker,
    /// Each operation's answer, or none yet: it is reserved.
    records: Mutex<HashMap<String, Option<String>>>,
    file: Mutex<File>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [mode, listen, ledger, records] = args.as_slice() else {
        panic!("planted MODE LISTEN LEDGER RECORDS");
    };
    let mode = match mode.as_str() {
        "derived-key" => Mode::DerivedKey,
        "charges-twice" => Mode::ChargesTwice,
        "answers-first" => Mode::AnswersFirst,
        "stuck" => Mode::Stuck,
        _ => panic!("no mode {mode}"),
    };
    let known = fs::read_to_string(records).unwrap_or_default();
    let file = File::options().create(true).append(true).open(records);
    let server = Server {
        mode,
        ledger: ledger.clone(),
        marker: Marker::from_env(),
        records: Mutex::new(known.lines().filter_map(record).collect()),
        file: Mutex::new(file.unwrap()),
    };
    let listener = TcpListener::bind(listen).unwrap();
    println!("ready");
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let server = &server;
            // A client that hangs up is not worth a word.
            scope.spawn(move || _ = stream.and_then(|stream| server.serve(stream)));
        }
    });
}

/// `OPERATION ANSWER`, or `OPERATION` alone for a reservation.
fn record(line: &str) -> Option<(String, Option<String>)> {
    match line.split_once(' ') {
        Some((operation, answer)) => Some((operation.to_owned(), Some(answer.to_owned()))),
        None => Some((line.to_owned(), None)),
    }
}

impl Server {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (mut operation, mut length, mut line) = (String::new(), 0, String::new());
        while reader.read_line(&mut line)? > 2 {
            match line.trim_end().split_once(": ") {
                Some(("idempotency-key", value)) => operation = value.to_owned(),
                Some(("content-length", value)) => length = value.parse().unwrap(),
                _ => {}
            }
            line.clear();
        }
        reader.read_exact(&mut vec![0; length])?;
        self.pay(&operation, stream)
    }

    fn pay(&self, operation: &str, client: TcpStream) -> std::io::Result<()> {
        self.marker.reach("received", operation);
        let standing = {
            let mut records = self.records.lock().unwrap();
            let standing = records.get(operation).cloned();
            records.entry(operation.to_owned()).or_default();
            standing
        };
        match standing {
            Some(Some(answer)) => return respond(client, "201 Created", &answer),
            Some(None) => return respond(client, "409 Conflict", "in flight"),
            None => {}
        }
        if self.mode == Mode::Stuck {
            self.write(operation)?;
        }
        self.marker.reach("reserved", operation);
        let key = format!("derived-from-{operation}");
        let key = (self.mode != Mode::ChargesTwice).then_some(key);
        let id = LedgerClient::connect(&self.ledger)?.charge(operation, key.as_deref())?;
        let answer = format!("{id} by process {}", std::process::id());
        if self.mode == Mode::AnswersFirst {
            respond(client, "201 Created", &answer)?;
            self.marker.reach("answered", operation);
            return self.complete(operation, answer);
        }
        self.complete(operation, answer.clone())?;
        respond(client, "201 Created", &answer)
    }

    fn complete(&self, operation: &str, answer: String) -> std::io::Result<()> {
        self.write(&format!("{operation} {answer}"))?;
        let mut records = self.records.lock().unwrap();
        records.insert(operation.to_owned(), Some(answer));
        drop(records);
        self.marker.reach("completed", operation);
        Ok(())
    }

    fn write(&self, line: &str) -> std::io::Result<()> {
        // In one call: a kill comes before it or after it.
        let line = format!("{line}\n");
        self.file.lock().unwrap().write_all(line.as_bytes())
    }
}

fn respond(mut client: TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
    client.write_all(text.as_bytes())
}
