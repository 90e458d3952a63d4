//! A payments server that survives retries.
//!
//! - `cargo run --example payments` plays a story over real HTTP against itself, and says of every
//!   scene whether it came out as expected.
//! - `cargo run --example payments -- --sabotage forget` plays it on a wrong store.
//! - `cargo run --example payments -- --store postgres://USER@HOST/DATABASE` adds the scenes of two servers on one
//!   store, and those in which the payment is in the same database, and commits together with its key. `redis://` and
//!   `redis-cluster://` are stores, too, and `--cache` puts a cache before either.
//! - `cargo run --example payments -- serve` serves.
//!
//! Read `server.rs` first, the part to copy: how a route is made retry-safe. Then `payment.rs`, the
//! handler, and `transfer.rs` for a payment in one's own database. The same by hand, without the layer, is `examples/by_hand.rs`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal: what it prints is what it is for"
)]

mod cache;
mod client;
mod flags;
mod gate;
mod ledger_file;
mod local;
mod payment;
mod principal;
mod problem;
mod provider;
mod sabotage;
mod scenes;
mod serve;
mod server;
mod stage;
mod store;
mod story;
mod temporary;
mod transfer;

use std::process::ExitCode;

use flags::Command;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match flags::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => {
            println!("{}", flags::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Ok(Command::Story(story)) => story::play(story).await,
        Ok(Command::Serve(flags)) => serve::serve(flags).await,
        Err(wrong) => Err(wrong),
    };
    done.unwrap_or_else(|wrong| {
        eprintln!("payments: {wrong}");
        ExitCode::from(2)
    })
}
