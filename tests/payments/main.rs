//! The payments example from outside: its built binary as a child process, and raw HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod flags;
mod http;
mod postgres;
mod process;
mod requests;
mod serve;
mod story;
