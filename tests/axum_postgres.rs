//! `examples/axum_postgres.rs`, as it stands in the README: both ways in which effect and record commit
//! together, over HTTP.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use testkit::http::{Answer, Request};
use testkit::{Folder, Postgres, Process, Signal};

const EXAMPLE: &str = include_str!("../examples/axum_postgres.rs");
const PATIENCE: Duration = Duration::from_secs(60);
const AT_ONCE: usize = 20;

#[test]
fn it_is_in_the_readme_word_for_word_and_short() {
    let readme = include_str!("../README.md");
    assert!(readme.contains(&format!("```rust,no_run\n{EXAMPLE}```\n")));
    assert!(EXAMPLE.lines().count() <= 60);
}

#[test]
fn twenty_at_once_have_one_effect_each_way() {
    let server = Postgres::start();
    let example = Example::start(&server);
    for (path, answer) in [("/transfers", "transferred"), ("/charges", "charged as ")] {
        for round in 0..5 {
            let key = format!("{path}-{round}");
            let answers = at_once(&example, path, &key);
            let first: Vec<_> = answers.iter().filter(|it| is_first(it)).collect();
            assert_eq!(first.len(), 1, "{answers:?}");
            assert!(first[0].body.starts_with(answer.as_bytes()));
            for other in answers.iter().filter(|it| !is_first(it)) {
                // The first one was still at it, or had ended.
                match other.status {
                    409 => assert!(other.header("retry-after").is_some()),
                    _ => assert_replays(other, first[0]),
                }
            }
            assert_replays(&example.ask(path, &key), first[0]);
            assert_eq!(example.ask_for(path, &key, "1.00").status, 422);
        }
        assert_eq!(server.psql("SELECT count(*) FROM payments").unwrap(), "5");
        server.psql("TRUNCATE payments").unwrap();
    }
    // What was answered outlives the process.
    let before = example.ask("/charges", "/charges-0");
    example.end_in_order();
    let example = Example::start(&server);
    assert_replays(&example.ask("/charges", "/charges-0"), &before);
    assert_eq!(server.psql("SELECT count(*) FROM payments").unwrap(), "0");
}

fn is_first(answer: &Answer) -> bool {
    answer.status == 201 && answer.header("idempotent-replayed").is_none()
}

fn assert_replays(answer: &Answer, first: &Answer) {
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(answer.status, 201);
    assert_eq!(answer.body, first.body);
}

fn at_once(example: &Example, path: &str, key: &str) -> Vec<Answer> {
    let start = Barrier::new(AT_ONCE);
    thread::scope(|scope| {
        let ask = || {
            start.wait();
            example.ask(path, key)
        };
        let asked: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

struct Example {
    process: Process,
    address: SocketAddr,
}

impl Example {
    fn start(server: &Postgres) -> Self {
        let mut process = Process::in_folder(Folder::new());
        let mut command = Command::new(binary());
        command
            .args([server.url().as_str(), "127.0.0.1:0"])
            .stdout(Stdio::piped());
        let stdout = process.start(command).unwrap();
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line:?}: {}", process.log()));
        Self {
            address: address.parse().unwrap(),
            process,
        }
    }

    fn ask(&self, path: &str, key: &str) -> Answer {
        self.ask_for(path, key, "150.00")
    }

    fn ask_for(&self, path: &str, key: &str, body: &str) -> Answer {
        let request = Request::post(path, body).header("idempotency-key", key);
        let request = request.header("content-type", "text/plain");
        request.send(self.address, PATIENCE).unwrap()
    }

    fn end_in_order(mut self) {
        let status = self.process.end(Signal::Int).unwrap();
        assert!(status.success(), "{status}: {}", self.process.log());
    }
}

/// The example. `cargo test` builds it before it runs this; `cargo test --test axum_postgres` does not.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let name = format!("axum_postgres{}", std::env::consts::EXE_SUFFIX);
    let binary = profile.join("examples").join(name);
    let build = "run `cargo build --example axum_postgres` first";
    assert!(binary.exists(), "{build}");
    binary
}
