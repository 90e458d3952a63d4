//! A server on the store, killed again and again: at the marks that it reports, within a flush, within a
//! transaction, and at random moments. Without arguments this is the test; with arguments, the server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and it prints figures"
)]

mod child;
#[path = "../support/large.rs"]
#[allow(dead_code, reason = "each test binary needs a part")]
mod large;
#[path = "../support/one_test.rs"]
mod one_test;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use idem_sled::SledStore;
use testkit::http::Request;
use testkit::{
    Campaign, Effect, Findings, Folder, Ledger, Marks, Port, Remembers, RetryingClient, Seed,
    Stage, Victim, effort,
};

const NAME: &str = "killed_again_and_again";
const KILLS: u64 = 300;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == child::ARGUMENT) {
        return child::serve(&args[1..]);
    }
    one_test::run(NAME, killed_again_and_again);
}

fn killed_again_and_again() {
    let seed = Seed::of(NAME);
    let (folder, port, marks) = (Folder::new(), Port::claim(), Marks::new());
    let ledger = Ledger::reporting_to(&marks, Remembers::Keys(Duration::from_secs(3600)));
    let args = [
        child::ARGUMENT.to_owned(),
        port.address().to_string(),
        ledger.address().to_string(),
        folder.path().display().to_string(),
    ];
    let victim = Victim::new(move || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&args);
        command
    });
    let mut campaign = Campaign::new(&seed, victim, &marks, RetryingClient::new(port.address()));
    campaign.kills = KILLS * effort();
    // Others come along: what commits while one is met at its mark, or waits.
    campaign.at = vec![
        "charged",
        "flushing",
        "charged",
        "inside",
        "charged",
        "reserved",
        "charged",
        "completed",
    ];
    let request = |operation: &str| {
        Request::post("/payments", "150.00 BRL").header("idempotency-key", operation)
    };
    let findings = campaign.run(request);
    let at = |mark: &str| findings.tally.marks.get(mark).copied().unwrap_or(0);
    println!(
        "{findings}; {} within a flush, {} within a transaction",
        at(child::FLUSHING),
        at(child::INSIDE)
    );
    findings.assert_clean(&all_effects(&folder, ledger.effects(), &findings));
    let after_effect = findings.tally.exactly_at(Stage::EffectToCompletion);
    assert!(
        after_effect >= KILLS / 6,
        "{after_effect} between effect and completion"
    );
    assert!(at(child::FLUSHING) >= KILLS / 15, "{findings}");
    assert!(at(child::INSIDE) >= KILLS / 30, "{findings}");
}

/// Those of the provider, and those that are rows in the store's own folder.
fn all_effects(folder: &Folder, mut effects: Vec<Effect>, findings: &Findings) -> Vec<Effect> {
    let rows = rows(folder);
    for (operation, ids) in &rows {
        match child::way(operation) {
            child::Way::OneTransaction => effects.extend(ids.iter().map(|id| Effect {
                id: id.clone(),
                operation: operation.clone(),
                provider_key: None,
            })),
            // Written once, with the completion; the effect is the provider's.
            child::Way::ThreeSteps => assert_eq!(ids.len(), 1, "{operation}: {ids:?}"),
            child::Way::Plain => panic!("{operation} writes no row"),
        }
    }
    let with_a_row = |operation: &String| child::way(operation) != child::Way::Plain;
    for (operation, told) in findings.told().into_iter().filter(|(it, _)| with_a_row(it)) {
        let body = String::from_utf8(told).unwrap();
        let id = body.split(' ').next().unwrap();
        assert_eq!(
            rows[&operation],
            [id],
            "{operation}: what was told is not what is there"
        );
    }
    effects
}

/// Opens what the last life left, and reads the user's tree: identities by operation.
fn rows(folder: &Folder) -> BTreeMap<String, Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let path = folder.path().join("store");
        let store = SledStore::open(&path).await.unwrap();
        let large = large::assert_whole(&store);
        println!("{large} large answers, and no chunk without its record");
        assert!(large >= 10 && large::blobs(&path) == 0);
        let tree = store.effect_tree(child::TREE).await.unwrap();
        let mut rows = BTreeMap::<String, Vec<String>>::new();
        for key in tree.tree().iter().keys() {
            let key = String::from_utf8(key.unwrap().to_vec()).unwrap();
            let (operation, id) = key.split_once('/').unwrap();
            rows.entry(operation.to_owned())
                .or_default()
                .push(id.to_owned());
        }
        rows
    })
}
