//! Wrong flags: one line on stderr that says what is wrong and what is allowed, exit 2.

use std::net::TcpListener;

use crate::process::run;

fn assert_refused(args: &[&str], wrong: &str, allowed: &str) {
    let refused = run(args);
    let stderr = &refused.stderr;
    assert_eq!(refused.status.code(), Some(2), "{args:?}: {stderr:?}");
    assert_eq!(refused.stdout, "", "{args:?}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr:?}");
    assert!(stderr.ends_with('\n'), "{args:?}: {stderr:?}");
    assert!(stderr.contains(wrong), "{args:?}: {stderr:?}");
    assert!(stderr.contains(allowed), "{args:?}: {stderr:?}");
}

#[test]
fn wrong_flags_are_refused_in_one_line() {
    for (args, wrong, allowed) in [
        (&["serve", "--lease", "0s"][..], "lease is zero", "1 ms"),
        (&["serve", "--retention", "0s"], "retention is zero", "1 ms"),
        (
            &["serve", "--lease", "13h", "--retention", "24h"],
            "more than half the retention",
            "twice the lease must fit",
        ),
        (&["serve", "--lease", "soon"], "--lease \"soon\"", "30s"),
        (&["serve", "--lease"], "--lease \"\"", "30s"),
        (&["serve", "--retention", "-1s"], "--retention", "24h"),
        (&["serve", "--store", "floppy"], "\"floppy\"", "memory"),
        (&["--store", "floppy"], "\"floppy\"", "memory"),
        (&["serve", "--store", "sled:"], "\"sled:\"", "sled:FOLDER"),
        (
            &["serve", "--store", "sled:/dev/null"],
            "--store",
            "cannot be used",
        ),
        (
            &["serve", "--provider-ledger"],
            "--provider-ledger \"\"",
            "path of a file",
        ),
        (
            &[
                "serve",
                "--store",
                "postgres://nobody@localhost/none?host=/nowhere",
            ],
            "--store",
            "no connection to Postgres",
        ),
        (
            &["serve", "--store", "redis://127.0.0.1:1"],
            "--store",
            "Redis",
        ),
        (
            &["serve", "--store", "redis-cluster://"],
            "--store",
            "Redis",
        ),
        (
            &["serve", "--cache", "floppy"],
            "\"floppy\"",
            "redis://HOST:PORT",
        ),
        (&["serve", "--cache", "memory"], "--cache", "postgres://"),
        (&["--cache", "memory"], "--cache", "postgres://"),
        (
            &["--store", "memory", "--cache", "redis://127.0.0.1:1"],
            "--cache",
            "postgres://",
        ),
        (
            &[
                "serve",
                "--store",
                "redis://127.0.0.1:1",
                "--cache",
                "redis://127.0.0.1:1",
            ],
            "--cache redis://",
            "--cache memory",
        ),
        (
            &[
                "serve",
                "--store",
                "postgres://x",
                "--cache",
                "redis://127.0.0.1:1",
            ],
            "--cache: ",
            "Redis",
        ),
        (
            &["serve", "--on-conflict", "wait"],
            "--on-conflict",
            "wait:5s",
        ),
        (&["serve", "--on-conflict", "wait:x"], "wait:x", "500ms"),
        (
            &["serve", "--on-lapse", "retry"],
            "\"retry\"",
            "run-again or hold",
        ),
        (
            &["serve", "--listen", "localhost"],
            "\"localhost\"",
            "127.0.0.1:3000",
        ),
        (
            &["serve", "--provider-latency", "1"],
            "--provider-latency",
            "500ms",
        ),
        (
            &["serve", "--provider-window", "x"],
            "--provider-window",
            "24h",
        ),
        (&["serve", "--verbose"], "--verbose", "--listen"),
        (&["serve", "now"], "\"now\"", "--listen"),
        (&["server"], "\"server\"", "serve"),
        (&["--line\nbreak"], "line", "serve"),
        (
            &["--sabotage", "coffee"],
            "\"coffee\"",
            "forget, no-token or global-scope",
        ),
        (
            &["--sabotage"],
            "--sabotage",
            "forget, no-token or global-scope",
        ),
    ] {
        assert_refused(args, wrong, allowed);
    }
}

#[test]
fn a_port_in_use_is_refused_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_refused(&["serve", "--listen", &address], &address, "--listen");
}
