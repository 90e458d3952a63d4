//! The server: it forgets scripts, ends connections, and is killed.

use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use idem_core::{Idempotency, OnConflict};
use idem_redis::{Connection, RedisStore};
use testkit::resp::Reply;
use testkit::{Append, Redis, Rng, Seed, effort, resp};

use crate::load::Load;

/// Each ends all connections or makes the server forget its scripts; one in ten kills the server.
const HARMS: u64 = 60;
const CRASHES: u64 = 4;

/// Four executors on one connection each, one of two by scripts alone.
async fn executors(server: &Redis) -> Vec<Idempotency> {
    let mut executors = Vec::new();
    for number in 0..4 {
        let store = RedisStore::new(Connection::open(&server.url()).await.unwrap());
        let store = if number % 2 == 0 {
            store
        } else {
            store.without_native()
        };
        let builder = Idempotency::builder(store).lease(Duration::from_millis(1500));
        let wait = OnConflict::Wait {
            up_to: Duration::from_secs(3),
        };
        executors.push(builder.on_conflict(wait).build().unwrap());
    }
    executors
}

const ALWAYS: &str = "with_an_append_only_file_that_is_always_synced_nothing_is_lost";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_append_only_file_that_is_always_synced_nothing_is_lost() {
    let seed = Seed::of(ALWAYS);
    let server = Redis::builder().append(Append::Always).start();
    let load = Load::start(&seed, executors(&server).await);
    let mut rng = seed.rng("harms", 0);
    let mut counts = [0; 3];
    for turn in 1..=HARMS * effort() {
        let harm = if turn % 10 == 0 { 2 } else { rng.below(2) };
        counts[usize::try_from(harm).unwrap()] += 1;
        harm_by(&server, harm);
        // why: operations get on between harms
        tokio::time::sleep(Duration::from_millis(10) + rng.shorter_than(Duration::from_millis(60)))
            .await;
    }
    let found = load.end().await;
    let lost = found.lost();
    let [flushes, ends, kills] = counts;
    println!(
        "{found}; {flushes} times SCRIPT FLUSH, {ends} times CLIENT KILL, {kills} kills; {seed}"
    );
    assert!(lost.is_empty(), "{lost:?}: {seed}");
    assert!(found.operations() as u64 > 5 * effort(), "{found}");
}

fn harm_by(server: &Redis, harm: u64) {
    let command: &[&str] = match harm {
        0 => &["SCRIPT", "FLUSH"],
        1 => &["CLIENT", "KILL", "TYPE", "normal"],
        _ => {
            server.kill();
            return server.start_again();
        }
    };
    let mut connection = resp::Connection::tcp(server.address()).unwrap();
    connection.ask(command).unwrap();
}

const EVERY_SECOND: &str =
    "with_one_that_is_synced_every_second_only_the_last_two_seconds_are_lost";

/// One crash in two is that of a machine: what the server has written in the last second, or nearly two, is not on the
/// disk afterwards. A SIGKILL alone takes nothing that was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_one_that_is_synced_every_second_only_the_last_two_seconds_are_lost() {
    let seed = Seed::of(EVERY_SECOND);
    let server = Redis::builder().append(Append::EverySecond).start();
    let load = Load::start(&seed, executors(&server).await);
    let mut rng = seed.rng("crashes", 0);
    let mut crashes = Vec::new();
    for turn in 1..=CRASHES * effort() {
        // why: operations get on between crashes
        tokio::time::sleep(Duration::from_millis(500)).await;
        let crash = if turn % 2 == 0 {
            crash_of_the_machine(&server, &mut rng).await
        } else {
            let crash = Instant::now();
            server.kill();
            crash
        };
        server.start_again();
        // An answer may have been on its way to its caller when the server ended.
        crashes.push(crash..=Instant::now());
    }
    let found = load.end().await;
    let lost = found.lost();
    println!(
        "{found}; {} acknowledged answers lost by {} crashes; {seed}",
        lost.len(),
        crashes.len()
    );
    for lost in &lost {
        let may_take_it = |crash: &RangeInclusive<Instant>| {
            let window = *crash.start() - Duration::from_secs(2)..=*crash.end();
            window.contains(&lost.acknowledged) && *crash.start() <= lost.noticed
        };
        assert!(
            crashes.iter().any(may_take_it),
            "{lost:?} {crashes:?}: {seed}"
        );
    }
    // Otherwise this has seen nothing.
    assert!(!lost.is_empty(), "{seed}");
}

/// Gives the moment.
async fn crash_of_the_machine(server: &Redis, rng: &mut Rng) -> Instant {
    let file = append_only_file(server);
    loop {
        let since = Instant::now();
        let Reply::Text(info) = server.ask(&["INFO", "persistence"]) else {
            panic!("no text");
        };
        let on_disk = fs::metadata(&file).unwrap().len();
        // why: for so long nothing is synced
        tokio::time::sleep(
            Duration::from_millis(800) + rng.shorter_than(Duration::from_millis(300)),
        )
        .await;
        let crash = Instant::now();
        // What was acknowledged before `since` was written by then, and it is not too long ago.
        let nothing_was_held_back = info.contains("aof_buffer_length:0\r");
        if nothing_was_held_back && crash - since < Duration::from_millis(1900) {
            server.kill();
            File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_len(on_disk)
                .unwrap();
            return crash;
        }
    }
}

/// The one that grows.
fn append_only_file(server: &Redis) -> PathBuf {
    let folder = server.socket().parent().unwrap().join("appendonlydir");
    let mut files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let grows = |path: &PathBuf| path.to_string_lossy().ends_with(".incr.aof");
    files.find(grows).unwrap()
}
