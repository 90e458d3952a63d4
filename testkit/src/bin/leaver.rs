//! Starts servers, says where they are, and is gone without a word of farewell.
#![allow(clippy::print_stdout, reason = "it says where the servers are")]

use std::process::Command;

use testkit::{Folder, PgBouncer, Postgres, Process, Redis};

fn main() {
    let postgres = Postgres::builder().tcp().start();
    let redis = Redis::start();
    let bouncer = PgBouncer::start(&postgres);
    let mut sleeper = Process::in_folder(Folder::new());
    let mut command = Command::new("sleep");
    command.arg("600");
    sleeper.start(command);
    let address = postgres.address().map(|address| address.to_string());
    println!(
        "{} {} {} {} {} {} {}",
        address.unwrap_or_default(),
        redis.address(),
        postgres.socket_folder().display(),
        sleeper.folder().path().display(),
        sleeper.pid().unwrap_or_default(),
        bouncer.socket_folder().display(),
        bouncer.pid().unwrap_or_default(),
    );
    match std::env::args().nth(1).as_deref() {
        Some("abort") => std::process::abort(),
        // What is in a static is not dropped either.
        Some("exit") => std::process::exit(0),
        // It is killed from outside.
        _ => loop {
            std::thread::park();
        },
    }
}
