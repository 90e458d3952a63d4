//! The rig that the tests of this workspace stand on. Unix only.
//!
//! - Throwaway servers, each in a folder of its own: [`Postgres`], [`PgBouncer`] before one, [`Redis`],
//!   [`RedisCluster`].
//! - [`Proxy`], which drops, delays and cuts what passes through it, by a [`Plan`].
//! - [`Campaign`], which kills a child process ([`Victim`]) again and again, at marks that the child
//!   reports ([`Marker`], [`Marks`]) and at random moments, while [`RetryingClient`]s go on asking;
//!   [`serve`] is the child's loop.
//! - [`Ledger`], where effects are written down outside of the killed process, and the [`verdict`]s
//!   over it and over what the clients were told.
//!
//! **Nothing outlives a test**, whether it passed, panicked, or its process was killed: a [`Folder`]
//! has a watchdog, a shell whose standard input is a pipe from the test process. When the pipe closes,
//! for whatever reason, the shell ends the server in that folder and removes the folder. So statics,
//! which are never dropped, are safe places for what is expensive to start.
//!
//! What is random follows a [`Seed`]; [`effort`] scales it. A missing server fails the test and says
//! what installs it. Everything here panics instead of returning errors: it is test code.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod account;
mod campaign;
mod client;
mod cluster;
mod effort;
mod folder;
mod history;
pub mod http;
mod landing;
mod ledger;
mod lines;
mod marker;
mod marks;
mod pgbouncer;
mod ports;
mod postgres;
mod process;
mod programs;
pub mod proxy;
mod random;
mod redis;
pub mod resp;
mod serve;
mod until;
pub mod verdict;
mod victim;

pub use campaign::{Campaign, Findings};
pub use client::RetryingClient;
pub use cluster::RedisCluster;
pub use effort::effort;
pub use folder::Folder;
pub use history::{History, Try};
pub use landing::{Landing, Stage, Tally};
pub use ledger::{Effect, Ledger, LedgerClient, Remembers};
pub use marker::Marker;
pub use marks::{Aim, Marks};
pub use pgbouncer::{PgBouncer, PgBouncerBuilder};
pub use ports::Port;
pub use postgres::{Postgres, PostgresBuilder, Stop};
pub use process::{Process, Signal};
pub use proxy::{Fault, Plan, Proxy};
pub use random::{Rng, Seed};
pub use redis::{Append, Redis, RedisBuilder};
pub use serve::{Call, serve};
pub use until::until;
pub use victim::Victim;
