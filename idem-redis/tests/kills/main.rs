//! The application is killed, again and again, in every stage of an operation, while clients go on asking: no effect
//! twice, no acknowledged answer lost or changed, nothing stuck.
//!
//! Not with the feature `cluster`: it changes nothing on a single server, and one run is long enough.
#![cfg(not(feature = "cluster"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod child;

use std::time::Duration;

use idem_core::{Answer, Condition, Inspect as _};
use idem_redis::{Connection, RedisStore};
use testkit::http::Request;
use testkit::verdict::Violation;
use testkit::{
    Append, Campaign, Effect, Findings, Ledger, Marks, Port, Redis, Remembers, RetryingClient,
    Seed, Stage, Victim, effort,
};
use tokio::runtime::Runtime;

use crate::child::{VARIABLE, operation};

const KILLS: u64 = 300;

/// What is left after a campaign.
struct Found {
    findings: Findings,
    charges: Vec<Effect>,
    /// Operations that were answered, and whose record says something else, or nothing.
    forgotten: Vec<String>,
    /// Lapsed, unresolved or abandoned records.
    left_over: usize,
}

fn campaign(
    seed: &Seed,
    test: &'static str,
    wrong: &str,
    adjust: impl FnOnce(&mut Campaign<'_>),
) -> Found {
    let server = Redis::builder().append(Append::Always).start();
    let (port, marks) = (Port::claim(), Marks::new());
    // A provider remembers for longer than anything here takes.
    let ledger = Ledger::reporting_to(&marks, Remembers::Keys(Duration::from_secs(3600)));
    let (listen, provider, redis) = (port.address(), ledger.address(), server.url());
    let job = format!("{listen} {provider} {redis} {wrong}");
    let victim = Victim::this_test(test, VARIABLE, job);
    let mut campaign = Campaign::new(seed, victim, &marks, RetryingClient::new(listen));
    campaign.clients = 8;
    // Between effect and completion the most often.
    campaign.at = vec![
        "received",
        "charged",
        "reserved",
        "charging",
        "charged",
        "completed",
    ];
    adjust(&mut campaign);
    let findings = campaign.run(|operation| {
        Request::post("/payments", "150.00 BRL").header("idempotency-key", operation)
    });
    println!("{findings}");
    assert_eq!(findings.missed, 0, "kills came to their mark in time");
    let (forgotten, left_over) = Runtime::new().unwrap().block_on(async {
        let store = RedisStore::new(Connection::open(&redis).await.unwrap());
        let lapsed = store.lapsed(None, 1000).await.unwrap();
        (forgotten(&store, &findings).await, lapsed.records.len())
    });
    Found {
        findings,
        charges: ledger.effects(),
        forgotten,
        left_over,
    }
}

/// The operations whose record does not say what their client was first told for good.
async fn forgotten(store: &RedisStore, findings: &Findings) -> Vec<String> {
    let mut forgotten = Vec::new();
    for (name, told) in findings.told() {
        let record = store.get(&operation(&name).record).await.unwrap();
        let stands = record.is_some_and(|record| match record.condition {
            Condition::Completed(Answer::Full(response)) => *response.body_bytes() == *told,
            _ => false,
        });
        if !stands {
            forgotten.push(name);
        }
    }
    forgotten
}

const SURVIVES: &str = "operations_survive_kills_in_every_stage";

#[test]
fn operations_survive_kills_in_every_stage() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(SURVIVES);
    println!("{seed}");
    let kills = KILLS * effort();
    let found = campaign(&seed, SURVIVES, "", |campaign| campaign.kills = kills);
    found.findings.assert_clean(&found.charges);
    assert_eq!(found.forgotten, [""; 0], "records and clients differ");
    assert_eq!(found.left_over, 0, "records in flight");
    let operations = found.findings.history.operations().len();
    assert_eq!(found.charges.len(), operations, "one charge each");
    let tally = &found.findings.tally;
    for stage in Stage::ALL {
        let met = tally.exactly_at(stage);
        assert!(met >= kills / 20, "{met} {stage}");
    }
    let after_the_effect = tally.exactly_at(Stage::EffectToCompletion);
    println!("{after_the_effect} of {kills} kills between effect and completion");
    assert!(after_the_effect >= kills / 6);
}

const NO_KEY: &str = "a_provider_without_the_derived_key_is_found_to_charge_twice";

#[test]
fn a_provider_without_the_derived_key_is_found_to_charge_twice() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(NO_KEY);
    let found = campaign(&seed, NO_KEY, child::WITHOUT_KEY, |campaign| {
        campaign.only_at("charged");
    });
    let violations = found.findings.violations(&found.charges);
    let twice = |violation: &Violation| matches!(violation, Violation::EffectTwice { .. });
    assert!(violations.len() >= 3, "{violations:?}");
    assert!(violations.iter().all(twice), "{violations:?}");
}
