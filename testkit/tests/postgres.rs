//! Throwaway Postgres servers, on a real one.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use testkit::{Fault, Plan, Postgres, Proxy, Stop};

#[test]
fn what_was_committed_survives_each_way_to_stop() {
    let postgres = Postgres::start();
    postgres.psql("CREATE TABLE t (n int)").unwrap();
    for (n, how) in [(1, Stop::Immediate), (2, Stop::Fast), (3, Stop::Immediate)] {
        postgres
            .psql(&format!("INSERT INTO t VALUES ({n})"))
            .unwrap();
        postgres.stop(how);
        assert_eq!(postgres.pid(), None);
        postgres.psql("SELECT 1").unwrap_err();
        postgres.start_again();
        let rows = postgres.psql("SELECT count(*), max(n) FROM t").unwrap();
        assert_eq!(rows, format!("{n}|{n}"));
    }
    assert!(postgres.log().contains("automatic recovery in progress"));
}

#[test]
fn several_run_at_once_with_settings_of_their_own() {
    let start = |limit: &'static str| {
        move || {
            Postgres::builder()
                .tcp()
                .setting("max_connections", limit)
                .start()
        }
    };
    let servers = ["11", "12", "13"].map(|limit| thread::spawn(start(limit)));
    let servers = servers.map(|server| server.join().unwrap());
    for (server, limit) in servers.iter().zip(["11", "12", "13"]) {
        let answer = server.psql("SHOW max_connections").unwrap();
        assert_eq!(answer, limit);
        assert_eq!(server.psql("SHOW fsync").unwrap(), "off");
    }
    let mut ports = servers.each_ref().map(|server| server.address().unwrap());
    ports.sort();
    assert!(ports.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn it_ends_with_a_test_that_panics() {
    let postgres = Postgres::builder().tcp().fsync().start();
    assert_eq!(postgres.psql("SHOW fsync").unwrap(), "on");
    let (address, folder) = (
        postgres.address().unwrap(),
        postgres.socket_folder().to_owned(),
    );
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _postgres = postgres;
        panic!("as a failed assertion does");
    }));
    assert!(panicked.is_err());
    assert!(std::net::TcpStream::connect(address).is_err());
    assert!(!folder.exists());
}

#[test]
fn a_standby_answers_and_takes_no_writes() {
    let postgres = Postgres::start();
    postgres.psql("CREATE TABLE t (n int)").unwrap();
    postgres.stop(Stop::Fast);
    postgres.becomes_standby();
    postgres.start_again();
    assert_eq!(postgres.psql("SELECT count(*) FROM t").unwrap(), "0");
    let refused = postgres.psql("INSERT INTO t VALUES (1)").unwrap_err();
    assert!(refused.contains("read-only"), "{refused}");
}

#[test]
fn a_proxy_stands_before_its_unix_socket() {
    let postgres = Postgres::start();
    postgres.psql("CREATE TABLE t (n int)").unwrap();
    let proxy = Proxy::start(postgres.socket(), Plan::once("INSERT", Fault::DropAnswer));
    let psql = |sql: &str| {
        let address = proxy.address();
        let url = format!("postgres://postgres@{address}/postgres?sslmode=disable");
        let mut psql = std::process::Command::new("psql");
        psql.args(["-X", "-A", "-t", "-q", "-c", sql, &url])
            .output()
            .unwrap()
    };
    let lost = psql("INSERT INTO t VALUES (1)");
    assert!(!lost.status.success());
    let counted = psql("SELECT count(*) FROM t");
    assert_eq!(
        counted.stdout, b"1\n",
        "the answer was lost, the row was not"
    );
    assert_eq!(proxy.counts().answers_dropped, 1);
}
