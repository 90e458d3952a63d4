//! Nothing outlives a test process, however it ends.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::until;

/// Runs the leaver to its end, and waits for the end of all that it started.
fn leaves_nothing(how: &str) {
    let mut leaver = Command::new(env!("CARGO_BIN_EXE_leaver"))
        .arg(how)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(leaver.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    let [
        postgres,
        redis,
        folder,
        sleeper_folder,
        sleeper,
        bouncer_folder,
        bouncer,
    ] = words[..]
    else {
        panic!("{line:?}");
    };
    if how == "killed" {
        for address in [postgres, redis] {
            assert!(listens(address), "{address}");
        }
        assert!(runs(sleeper) && runs(bouncer));
        leaver.kill().unwrap();
    }
    leaver.wait().unwrap();
    until("the end of the servers", Duration::from_secs(60), || {
        let servers = listens(postgres) || listens(redis) || runs(sleeper) || runs(bouncer);
        let folders = [folder, sleeper_folder, bouncer_folder];
        let folders = folders.iter().any(|folder| Path::new(folder).exists());
        (!servers && !folders).then_some(())
    });
}

fn listens(address: &str) -> bool {
    let address: SocketAddr = address.parse().unwrap();
    TcpStream::connect(address).is_ok()
}

/// Where nobody waits for orphans, an ended one keeps its number.
fn runs(pid: &str) -> bool {
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output()
        .unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.starts_with('Z')
}

#[test]
fn a_killed_test_process_leaves_nothing() {
    leaves_nothing("killed");
}

#[test]
fn an_aborted_test_process_leaves_nothing() {
    leaves_nothing("abort");
}

#[test]
fn an_ended_test_process_leaves_nothing() {
    leaves_nothing("exit");
}
