//! The server on sled, killed again and again while clients go on asking: a third of the kills just after the
//! provider has charged, before it answers; a third while the store syncs its files; the rest at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use testkit::http::Request;
use testkit::{Effect, Folder, Marks, Port, RetryingClient, Seed, Victim, effort, until, verdict};

use crate::{flush, process};

const KILLS: u64 = 300;

/// For a flush. There are several for each payment.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the provider takes to answer once it has charged.
const LATENCY: Duration = Duration::from_millis(50);

#[test]
fn no_payment_is_charged_twice_and_no_answer_is_lost() {
    let seed = Seed::of("no_payment_is_charged_twice_and_no_answer_is_lost");
    let (folder, port, marks) = (Folder::new(), Port::claim(), Marks::new());
    let ledger = folder.path().join("ledger");
    fs::write(&ledger, "").unwrap();
    let flags = [
        "serve".to_owned(),
        format!("--listen={}", port.address()),
        format!("--store=sled:{}", folder.path().join("store").display()),
        format!("--provider-ledger={}", ledger.display()),
        format!("--provider-latency={}ms", LATENCY.as_millis()),
        "--lease=250ms".to_owned(),
    ];
    let mut victim = Victim::new(move || {
        let mut command = process::command();
        command.args(&flags);
        command
    });
    let client = RetryingClient::new(port.address());
    let (over, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let kills = KILLS * effort();
    let (mut after_charge, mut within_flush) = (0, 0);
    victim.start(&marks);
    thread::scope(|scope| {
        let _over = SetWhenDropped(&over);
        for number in 0..3 {
            let (client, over, next) = (&client, &over, &next);
            let mut rng = seed.rng("client", number);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    // Two clients for each payment, about.
                    let operation = format!("op-{}", next.fetch_add(1, Ordering::SeqCst) / 2);
                    client.ask(&operation, &payment(&operation), &mut rng);
                }
            });
        }
        let mut rng = seed.rng("kills", 0);
        for kill in 0..kills {
            match kill % 3 {
                0 => {
                    let known = size(&ledger);
                    let charge = || (size(&ledger) > known).then_some(());
                    until("a charge", Duration::from_secs(60), charge);
                    victim.kill();
                    // Its time is that of the latest charge. Later on the payment may have been recorded.
                    let charged = fs::metadata(&ledger).unwrap().modified().unwrap();
                    after_charge += u64::from(charged.elapsed().is_ok_and(|since| since < LATENCY));
                }
                1 => {
                    within_flush += u64::from(flush::is_seen(victim.pid().unwrap(), PATIENCE));
                    victim.kill();
                }
                _ => {
                    // why: a random moment is what is wanted
                    thread::sleep(rng.shorter_than(3 * LATENCY));
                    victim.kill();
                }
            }
            victim.start(&marks);
        }
    });
    let mut rng = seed.rng("once more", 0);
    for operation in client.history.operations().into_keys() {
        client.ask(&operation, &payment(&operation), &mut rng);
    }

    let tries = client.history.operations();
    let violations = verdict::all(&tries, &effects(&ledger));
    println!(
        "{kills} kills, {after_charge} between charge and completion, {within_flush} within a flush; {} payments; \
         {seed}",
        tries.len()
    );
    let shown: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{}\n{seed}", shown.join("\n"));
    assert!(
        after_charge >= kills / 6,
        "{after_charge} between charge and completion"
    );
    assert!(
        within_flush >= kills / 15,
        "{within_flush} within a flush; on a file system whose syncs take no time, there is none to see"
    );
}

fn payment(operation: &str) -> Request {
    let body = format!(r#"{{"amount":"150.00","currency":"BRL","customer_id":"{operation}"}}"#);
    Request::post("/payments", body)
        .header("authorization", "Bearer acct_812")
        .header("content-type", "application/json")
        .header("idempotency-key", operation)
}

fn size(ledger: &Path) -> u64 {
    fs::metadata(ledger).unwrap().len()
}

/// What the provider has charged, in all lives of the server.
fn effects(ledger: &Path) -> Vec<Effect> {
    let mut ids = BTreeSet::new();
    let text = fs::read_to_string(ledger).unwrap();
    let calls = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    calls
        .filter(|call| call["repeat"] == false)
        .map(|call| {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let charge = &call["charge"];
            assert!(ids.insert(text(&charge["id"])), "an id was given twice");
            Effect {
                id: text(&charge["id"]),
                operation: text(&charge["customer_id"]),
                provider_key: Some(text(&call["provider_key"])),
            }
        })
        .collect()
}

/// By a panic too: the clients have to end.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
