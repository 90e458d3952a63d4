//! Throwaway PgBouncers, before a real server.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use testkit::{PgBouncer, Postgres};

fn psql(url: &str, sql: &[&str]) -> String {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]);
    for sql in sql {
        psql.args(["-c", sql]);
    }
    let output = psql.arg(url).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn clients_share_the_sessions_of_the_server() {
    let postgres = Postgres::start();
    let bouncer = PgBouncer::start(&postgres);
    let session = "SELECT pg_backend_pid()";
    let first = psql(&bouncer.url(), &["SET work_mem = '5MB'", session]);
    // What one has set, the next one finds.
    let second = psql(&bouncer.url(), &[session, "SHOW work_mem"]);
    assert_eq!(second, format!("{first}5MB\n"));
    assert_ne!(psql(&postgres.url(), &[session]), first);
}

#[test]
fn a_setting_replaces_the_rigs_own() {
    let postgres = Postgres::start();
    let builder = PgBouncer::builder().setting("pool_mode", "session");
    let bouncer = builder.start(&postgres);
    psql(&bouncer.url(), &["SET work_mem = '5MB'"]);
    let reset = psql(&bouncer.url(), &["SHOW work_mem"]);
    assert_eq!(reset, "4MB\n", "{}", bouncer.log());
}

#[test]
fn it_ends_with_a_test_that_panics() {
    let postgres = Postgres::start();
    let bouncer = PgBouncer::start(&postgres);
    let folder = bouncer.socket_folder().to_owned();
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _bouncer = bouncer;
        panic!("as a failed assertion does");
    }));
    assert!(panicked.is_err());
    assert!(!folder.exists());
}
