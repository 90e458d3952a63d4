//! The rig finds what was planted, and finds nothing where nothing was.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and it prints figures"
)]

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use testkit::http::Request;
use testkit::verdict::Violation;
use testkit::{
    Campaign, Findings, Folder, Ledger, Marks, Port, Remembers, RetryingClient, Seed, Stage,
    Victim, effort,
};

const MODES: [&str; 4] = ["derived-key", "charges-twice", "answers-first", "stuck"];

fn campaign(
    seed: &Seed,
    mode: &'static str,
    adjust: impl FnOnce(&mut Campaign<'_>),
) -> (Findings, Vec<Violation>) {
    assert!(MODES.contains(&mode));
    let (folder, port, marks) = (Folder::new(), Port::claim(), Marks::new());
    let ledger = Ledger::reporting_to(&marks, Remembers::Keys(Duration::from_secs(3600)));
    let args = [
        mode.to_owned(),
        port.address().to_string(),
        ledger.address().to_string(),
        folder.path().join("records").display().to_string(),
    ];
    let victim = Victim::new(move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planted"));
        command.args(&args);
        command
    });
    let mut campaign = Campaign::new(seed, victim, &marks, RetryingClient::new(port.address()));
    campaign.kills *= effort();
    adjust(&mut campaign);
    let request = |operation: &str| {
        Request::post("/payments", "150.00 BRL").header("idempotency-key", operation)
    };
    let findings = campaign.run(request);
    println!("{mode}: {findings}");
    assert_eq!(findings.missed, 0);
    let violations = findings.violations(&ledger.effects());
    (findings, violations)
}

#[test]
fn a_right_server_survives_kills_in_every_stage() {
    let seed = Seed::of("a_right_server_survives_kills_in_every_stage");
    let (findings, violations) = campaign(&seed, "derived-key", |_| {});
    for stage in Stage::ALL {
        let kills = findings.tally.exactly_at(stage);
        assert!(kills >= 5, "{kills} {stage}");
    }
    assert_eq!(violations, []);
}

#[test]
fn a_server_that_charges_twice_after_a_kill_is_found() {
    let seed = Seed::of("a_server_that_charges_twice_after_a_kill_is_found");
    let (findings, violations) = campaign(&seed, "charges-twice", |_| {});
    let twice = |violation: &Violation| matches!(violation, Violation::EffectTwice { .. });
    // No other fault was planted.
    assert!(violations.iter().all(twice), "{violations:?}");
    println!(
        "{} operations were charged twice, such as {}",
        violations.len(),
        violations[0]
    );
    let twice: BTreeSet<_> = violations.iter().map(operation).collect();
    let killed = |exactly: bool| -> BTreeSet<&str> {
        let after_effect = findings.landings.iter().filter(|landing| {
            landing.stage == Stage::EffectToCompletion && (landing.exact || !exactly)
        });
        after_effect.map(|landing| &*landing.operation).collect()
    };
    // Whatever was charged and killed there is charged again, and nothing else is.
    assert!(twice.len() >= 5);
    let (surely, perhaps) = (killed(true), killed(false));
    assert!(twice.is_superset(&surely), "{twice:?} {surely:?}");
    assert!(twice.is_subset(&perhaps), "{twice:?} {perhaps:?}");
}

fn operation(violation: &Violation) -> &str {
    match violation {
        Violation::EffectTwice { operation, .. } => operation,
        other => panic!("{other}"),
    }
}

#[test]
fn a_server_that_answers_before_it_records_is_found() {
    let seed = Seed::of("a_server_that_answers_before_it_records_is_found");
    let (_, violations) = campaign(&seed, "answers-first", |campaign| {
        campaign.kills = 10;
        campaign.at = vec!["answered"];
    });
    let changed = |violation: &Violation| matches!(violation, Violation::AnswerChanged { .. });
    assert!(violations.iter().any(changed), "{violations:?}");
    assert!(violations.iter().all(changed), "{violations:?}");
    println!(
        "{} answers changed, such as {}",
        violations.len(),
        violations[0]
    );
}

#[test]
fn a_server_that_leaves_operations_stuck_is_found() {
    let seed = Seed::of("a_server_that_leaves_operations_stuck_is_found");
    let (_, violations) = campaign(&seed, "stuck", |campaign| {
        campaign.kills = 3;
        campaign.at = vec!["reserved"];
        campaign.random_one_in = 0;
        campaign.client.patience = Duration::from_secs(1);
    });
    let stuck = |violation: &Violation| matches!(violation, Violation::Stuck { .. });
    assert!(violations.len() >= 2, "{violations:?}");
    assert!(violations.iter().all(stuck), "{violations:?}");
    println!(
        "{} operations stuck, such as {}",
        violations.len(),
        violations[0]
    );
}
