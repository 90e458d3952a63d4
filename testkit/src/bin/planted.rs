//! A payments server to try the rig on: right, or wrong in one way.
//!
//! `planted MODE LISTEN LEDGER RECORDS`
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;

use testkit::{Call, LedgerClient, Marker};

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
    testkit::serve(&listener, |call| server.pay(call));
}

/// `OPERATION ANSWER`, or `OPERATION` alone for a reservation.
fn record(line: &str) -> Option<(String, Option<String>)> {
    match line.split_once(' ') {
        Some((operation, answer)) => Some((operation.to_owned(), Some(answer.to_owned()))),
        None => Some((line.to_owned(), None)),
    }
}

impl Server {
    fn pay(&self, call: Call) -> std::io::Result<()> {
        let operation = &*call.operation.clone();
        self.marker.reach("received", operation);
        let standing = {
            let mut records = self.records.lock().unwrap();
            let standing = records.get(operation).cloned();
            records.entry(operation.to_owned()).or_default();
            standing
        };
        match standing {
            Some(Some(answer)) => return call.answer(201, answer),
            Some(None) => return call.answer(409, "in flight"),
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
            call.answer(201, &answer)?;
            self.marker.reach("answered", operation);
            return self.complete(operation, answer);
        }
        self.complete(operation, answer.clone())?;
        call.answer(201, answer)
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
