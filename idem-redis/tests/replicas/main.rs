//! Answers that wait for replicas: which do, what a replica that hangs makes of them, and that no call stands in the
//! way of another. On a single server without the feature `cluster`, on a cluster with it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

#[cfg(not(feature = "cluster"))]
mod answers;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(not(feature = "cluster"))]
mod lines;
#[cfg(not(feature = "cluster"))]
mod pair;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use idem_core::{Applied, Error};

/// For what has to come about on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// For what must not come about.
#[cfg(not(feature = "cluster"))]
const SHORT: Duration = Duration::from_millis(100);

fn is_unconfirmed<T: std::fmt::Debug>(called: Result<T, Error>) {
    let error = called.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("replicas"), "{error:?}");
}
