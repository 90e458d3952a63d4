//! Every shell command in the README runs and ends as the README says.
//!
//! Each has its entry in [`TABLE`]. A command without an entry fails, and so does an entry whose
//! command has left the README. The Rust snippets are doc tests, see `src/lib.rs`.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod answer;
mod commands;
mod server;

use commands::Command;
use server::{ANY_PORT, Server};
use std::process;
use testkit::{Postgres, Redis};

/// How a command of the README is verified.
#[derive(Clone, Copy)]
enum Check {
    /// It ends with this exit code.
    Exits(i32),
    /// `cargo xtask` knows it. Running it here would run this test again.
    Listed,
    /// It starts a server for the commands that follow; here on a free port.
    Serves,
    /// The same, on a throwaway database instead of the one that its last word names.
    ServesOnPostgres,
    /// The same for `payments`, on a throwaway Redis and a throwaway database instead of those that it names.
    ServesOnRedis,
    /// The server that was started gives the answers in the `# =>` comments.
    Answers,
}

/// A `*` at the end stands for any arguments.
const TABLE: &[(&str, Check)] = &[
    ("cargo run --example payments", Check::Exits(0)),
    ("cargo xtask test", Check::Listed),
    ("cargo run --example custom_store", Check::Exits(0)),
    ("cargo run --example by_hand", Check::Exits(0)),
    ("cargo run --example payments -- serve", Check::Serves),
    (
        "cargo run --example axum_postgres -- postgres://postgres@localhost/postgres",
        Check::ServesOnPostgres,
    ),
    (
        "cargo run --example payments -- serve --store redis://127.0.0.1:6379",
        Check::ServesOnRedis,
    ),
    (
        "cargo run --example payments -- serve --store postgres://postgres@localhost/postgres \
         --cache redis://127.0.0.1:6379",
        Check::ServesOnRedis,
    ),
    ("curl *", Check::Answers),
];

/// What the README's commands name.
const DATABASE: &str = "postgres://postgres@localhost/postgres";
const REDIS: &str = "redis://127.0.0.1:6379";

#[test]
fn every_command_does_what_the_readme_says() {
    let commands = commands::in_markdown(include_str!("../../README.md"));
    let strays = strays(TABLE, &commands);
    assert!(
        strays.is_empty(),
        "README and table differ:\n{}",
        strays.join("\n")
    );
    let mut server = None;
    let mut database = None;
    let mut redis = None;
    for command in &commands {
        let (_, check) = TABLE
            .iter()
            .find(|(entry, _)| covers(entry, command))
            .unwrap();
        match check {
            Check::Exits(code) => exits(&command.line, *code),
            Check::Listed => is_listed(&command.line),
            Check::Serves => {
                let mut serve = cargo(&command.line);
                serve.args(["--listen", ANY_PORT]);
                server = Some(Server::start(serve));
            }
            Check::ServesOnPostgres => {
                let (start, _) = command.line.rsplit_once(' ').unwrap();
                let mut serve = cargo(start);
                let database = database.insert(Postgres::start());
                serve.args([&database.url(), ANY_PORT]);
                server = Some(Server::start(serve));
            }
            Check::ServesOnRedis => {
                let mut line = command.line.clone();
                if line.contains(DATABASE) {
                    let database = database.insert(Postgres::start());
                    line = line.replace(DATABASE, &database.url());
                }
                let redis = redis.insert(Redis::start());
                let mut serve = cargo(&line.replace(REDIS, &redis.url()));
                serve.args(["--listen", ANY_PORT]);
                server = Some(Server::start(serve));
            }
            Check::Answers => {
                let server: &Server = server
                    .as_ref()
                    .expect("a command before it starts a server");
                answer::check(command, &server.address);
            }
        }
    }
}

/// Commands without an entry, entries without a command.
fn strays<'a>(table: &[(&'a str, Check)], commands: &'a [Command]) -> Vec<&'a str> {
    let known = |command: &&Command| table.iter().any(|(entry, _)| covers(entry, command));
    let used = |entry: &&str| commands.iter().any(|command| covers(entry, command));
    let unknown = commands.iter().filter(|command| !known(command));
    let unused = table
        .iter()
        .map(|(entry, _)| *entry)
        .filter(|entry| !used(entry));
    unknown
        .map(|command| command.line.as_str())
        .chain(unused)
        .collect()
}

fn covers(entry: &str, command: &Command) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => command.line.starts_with(start),
        None => command.line == entry,
    }
}

/// `line`, which starts with `cargo`, for the cargo that runs this test.
fn cargo(line: &str) -> process::Command {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("cargo"), "{line}");
    let mut command = process::Command::new(env!("CARGO"));
    command
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(process::Stdio::null());
    command
}

fn exits(line: &str, code: i32) {
    let output = cargo(line).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(code),
        "`{line}` printed\n{printed}\n{errors}"
    );
}

fn is_listed(line: &str) {
    let task = line
        .strip_prefix("cargo xtask ")
        .expect("a command of xtask");
    let help = cargo("cargo xtask help").output().unwrap().stdout;
    let help = String::from_utf8_lossy(&help);
    let listed = help
        .lines()
        .any(|row| row.split_whitespace().next() == Some(task));
    assert!(listed, "`cargo xtask help` does not list `{task}`:\n{help}");
}

#[test]
fn a_command_or_an_entry_that_stands_alone_is_found() {
    let table = [("cargo run", Check::Exits(0)), ("curl *", Check::Answers)];
    let commands = commands::in_markdown("```sh\ncargo run\ncargo run --release\n```");
    assert_eq!(strays(&table, &commands), ["cargo run --release", "curl *"]);
}
