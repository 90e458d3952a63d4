//! The payments example from outside: its built binary as a child process, and raw HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; and it prints figures"
)]

mod flags;
mod flush;
mod http;
mod killed;
mod postgres;
mod process;
mod redis;
mod requests;
mod serve;
mod sled;
mod story;
