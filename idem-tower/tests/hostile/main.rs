//! Hostile clients against a real server. A binary of its own, with one test, so that the memory of its
//! process is that of the server and of the clients, and of nothing else.
//!
//! `IDEM_EFFORT` multiplies the requests; `IDEM_SEED` sends the same ones again.
// /proc and a loopback of many addresses.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod clients;
mod draft;
mod http2;
mod kinds;
mod logs;
mod memory;
mod nonsense;
mod requests;
#[path = "../it/support/server.rs"]
mod server;
mod storm;
mod wire;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem_core::Inspect as _;
use testkit::{Seed, effort};

use self::clients::{CLIENTS, MARKS};
use self::draft::ABORTED;
use self::logs::Logs;
use self::memory::{MIB, Peak, resident};
use self::requests::plain;
use self::storm::{World, attack};
use self::wire::{answers, check, contains, converse};

const REQUESTS: u64 = 10_000;
/// Before memory is measured: what is allocated once is allocated by then.
const WARM_UP: u64 = 2_000;
const LOGGED: u64 = 1_000;
/// Of each client, from before the storm.
const OLD_KEYS: u64 = 20;

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_clients_get_answers_of_their_own_and_leave_nothing_behind() {
    count_panics();
    let seed = Arc::new(Seed::of(
        "hostile_clients_get_answers_of_their_own_and_leave_nothing_behind",
    ));
    let world = World::new().await;
    let old_answers = old_answers(&world, false).await;

    let storm_ends = WARM_UP + REQUESTS * effort();
    let warm_up = attack(world.server.address, &seed, 0..WARM_UP).await;
    let before = resident();
    let peak = Peak::watch();
    let began = Instant::now();
    let report = attack(world.server.address, &seed, WARM_UP..storm_ends).await;
    let took = began.elapsed();
    let peak = peak.end();
    let left = world.layer.drain(Duration::from_secs(10)).await;
    let after = resident();

    let logs = Logs::begin();
    let logged = attack(world.server.address, &seed, storm_ends..storm_ends + LOGGED).await;

    println!("{seed}");
    for (kind, times) in &report.kinds {
        println!("{times:>8} {kind:?}");
    }
    println!(
        "{:>8} requests in {:?} after a warm-up, answered over HTTP/1.1 with {:?}",
        report.requests(),
        took,
        report.statuses
    );
    println!(
        "VmRSS: {} MiB before, {} at its peak, {} after",
        before / MIB,
        peak / MIB,
        after / MIB
    );
    for report in [&warm_up, &report, &logged] {
        assert!(
            report.faults.is_empty(),
            "{} faults: {:#?}",
            report.faults.len(),
            report.faults.iter().take(10).collect::<Vec<_>>()
        );
    }
    assert_eq!(left, 0, "handlers still run");
    assert!(
        after.saturating_sub(before) < 64 * MIB,
        "memory that is not given back"
    );
    assert!(peak.saturating_sub(before) < 64 * MIB, "memory at the peak");
    assert_eq!(old_answers, self::old_answers(&world, true).await);
    nothing_is_left_behind(&world).await;
    nothing_is_shown(&world, &logs.text());
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "panics");
}

fn count_panics() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(panic);
    }));
}

/// The answers to the keys from before the storm.
async fn old_answers(world: &World, replayed: bool) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for client in 0..CLIENTS.len() {
        for number in 0..OLD_KEYS {
            let key = format!("rawkey-old-{number}");
            bodies.push(plain_answer(world, client, &key, replayed).await);
        }
    }
    bodies
}

/// A request as it should be, answered as it should be.
async fn plain_answer(world: &World, client: usize, key: &str, replayed: bool) -> Vec<u8> {
    let exchange = plain(client, key);
    let received = converse(world.server.address, 0, &exchange).await.unwrap();
    assert_eq!(check(&exchange, &received), Ok(vec![201]));
    assert_eq!(
        contains(&received, "idempotent-replayed: true"),
        replayed,
        "{key}"
    );
    answers(&received).unwrap()[0].body.to_vec()
}

async fn nothing_is_left_behind(world: &World) {
    for client in 0..CLIENTS.len() {
        plain_answer(world, client, "rawkey-new", false).await;
    }
    // The lease of whatever is still in flight is over then, and it is listed.
    world.clock.advance(Duration::from_secs(61));
    let lapsed = world.store.lapsed(None, 10).await.unwrap();
    assert!(lapsed.records.is_empty(), "{:#?}", lapsed.records);
    let ran = world.ran.lock().unwrap();
    assert_eq!(
        ran.times.len(),
        world.store.len(),
        "records of what never ran"
    );
    let mut keys = ran.times.keys().map(|record| record.key.as_str());
    let aborted = keys.find(|key| key.starts_with(ABORTED));
    assert_eq!(aborted, None, "ran, although it did not arrive whole");
    let twice = ran.times.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "no handler failed, so none runs twice");
}

fn nothing_is_shown(world: &World, logs: &str) {
    assert!(logs.contains("idem_tower"), "nothing was logged");
    for line in logs.lines() {
        let shown = MARKS.iter().find(|mark| line.contains(**mark));
        assert_eq!(shown, None, "{line}");
    }
    let hex = |digest: &[u8; 32]| {
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    let fingerprints: HashSet<String> = world
        .ran
        .lock()
        .unwrap()
        .fingerprints
        .iter()
        .map(hex)
        .collect();
    let lower = logs.to_lowercase();
    let mut numbers = lower.split(|character: char| !character.is_ascii_hexdigit());
    let shown = numbers.find(|number| {
        number
            .get(..16)
            .is_some_and(|start| fingerprints.contains(start))
    });
    assert_eq!(shown, None, "a fingerprint");
}
