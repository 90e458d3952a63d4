//! The application is killed, again and again, in every stage of an operation, while clients go on
//! asking: no effect twice, no acknowledged answer lost or changed, nothing stuck.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code, and prints its figures"
)]

mod child;
mod service;
#[path = "../support/mod.rs"]
mod support;

use std::thread;
use std::time::Duration;

use idem_core::{Answer, Condition, Inspect as _};
use idem_postgres::sqlx::{AssertSqlSafe, Executor as _, Row as _};
use idem_postgres::{PostgresStore, sqlx};
use testkit::http::Request;
use testkit::verdict::{self, Violation};
use testkit::{
    Campaign, Effect, Findings, Ledger, Marks, Port, Remembers, RetryingClient, Seed, Stage,
    Victim, effort,
};
use tokio::runtime::Runtime;

use crate::child::{Job, VARIABLE};
use crate::service::{Way, operation};
use crate::support::Isolated;

/// Of each way. 300 together.
const KILLS: u64 = 100;

/// What is left after a campaign.
struct Found {
    findings: Findings,
    /// What the provider has done; of a way that calls it.
    charges: Vec<Effect>,
    /// The rows of the effect, by the answer that they belong to; of a way that writes them.
    rows: Vec<Effect>,
    violations: Vec<Violation>,
    /// Operations that were answered, and whose record says something else, or nothing.
    forgotten: Vec<String>,
    /// Lapsed, unresolved or abandoned records.
    left_over: usize,
}

fn campaign(
    seed: &Seed,
    test: &'static str,
    way: Way,
    adjust: impl FnOnce(&mut Campaign<'_>),
) -> Found {
    let runtime = Runtime::new().unwrap();
    let isolated = runtime.block_on(Isolated::open(support::Way::pool(2)));
    let payments = format!("{}.payments", isolated.schema);
    let create = format!("CREATE TABLE {payments} (operation text, answer text)");
    runtime.block_on(isolated.run(&create));

    let (port, marks) = (Port::claim(), Marks::new());
    // A provider remembers for longer than anything here takes.
    let ledger = Ledger::reporting_to(&marks, Remembers::Keys(Duration::from_secs(3600)));
    let job = Job {
        way,
        listen: port.address(),
        ledger: ledger.address(),
        schema: isolated.schema.clone(),
        socket_folder: support::SERVER.socket_folder().to_owned(),
    };
    let victim = Victim::this_test(test, VARIABLE, job.to_string());
    let mut campaign = Campaign::new(seed, victim, &marks, RetryingClient::new(port.address()));
    campaign.clients = 8;
    campaign.at = way.marks().to_vec();
    adjust(&mut campaign);
    let findings = campaign.run(|operation| {
        Request::post("/payments", "150.00 BRL").header("idempotency-key", operation)
    });
    println!("{way}: {findings}");
    assert_eq!(findings.missed, 0, "kills came to their mark in time");

    let rows = runtime.block_on(rows(&isolated.store, &payments));
    let charges = ledger.effects();
    let effects = if way.charges() { &charges } else { &rows };
    let mut violations = findings.violations(effects);
    if way.charges() && way.writes_rows() {
        violations.extend(verdict::no_effect_twice(&rows));
        violations.extend(verdict::answers_stand(
            &findings.history.operations(),
            &rows,
        ));
    }
    let (forgotten, left_over) = runtime.block_on(async {
        let lapsed = isolated.store.lapsed(None, 1000).await.unwrap();
        let forgotten = forgotten(&isolated.store, &findings).await;
        (forgotten, lapsed.records.len())
    });
    Found {
        findings,
        charges,
        rows,
        violations,
        forgotten,
        left_over,
    }
}

async fn rows(store: &PostgresStore, payments: &str) -> Vec<Effect> {
    let select = format!("SELECT operation, answer FROM {payments}");
    let select = sqlx::raw_sql(AssertSqlSafe(select));
    let rows = store.pool().fetch_all(select).await.unwrap();
    let effect = |row: &sqlx::postgres::PgRow| Effect {
        id: row.get("answer"),
        operation: row.get("operation"),
        provider_key: None,
    };
    rows.iter().map(effect).collect()
}

/// The operations whose record does not say what their client was told.
async fn forgotten(store: &PostgresStore, findings: &Findings) -> Vec<String> {
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

const SURVIVES: &str = "each_way_survives_kills_in_every_stage";

#[test]
fn each_way_survives_kills_in_every_stage() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(SURVIVES);
    println!("{seed}");
    let ways = [Way::Plain, Way::ThreeSteps, Way::OneTransaction];
    let found = thread::scope(|scope| {
        let run = |way| {
            let seed = &seed;
            scope.spawn(move || {
                campaign(seed, SURVIVES, way, |campaign| {
                    campaign.kills = KILLS * effort();
                })
            })
        };
        let running = ways.map(run);
        running.map(|campaign| campaign.join().unwrap())
    });
    let (mut kills, mut after_the_effect) = (0, 0);
    for (way, found) in ways.iter().zip(&found) {
        let shown: Vec<_> = found.violations.iter().map(Violation::to_string).collect();
        assert!(shown.is_empty(), "{way}: {}", shown.join("\n"));
        assert_eq!(
            found.forgotten, [""; 0],
            "{way}: records and clients differ"
        );
        assert_eq!(found.left_over, 0, "{way}: records in flight");
        let operations = found.findings.history.operations().len();
        assert!(way.charges() || found.charges.is_empty());
        if way.writes_rows() {
            assert_eq!(found.rows.len(), operations, "{way}: one row each");
        }
        // Each result is the answer that its client was told: effect and answer committed together.
        let told = found.findings.told();
        for row in &found.rows {
            let told = told.get(&row.operation).map(Vec::as_slice);
            assert_eq!(told, Some(row.id.as_bytes()), "{way}: {}", row.operation);
        }
        let tally = &found.findings.tally;
        for stage in Stage::ALL {
            let kills = tally.exactly_at(stage);
            assert!(kills >= 5, "{way}: {kills} {stage}");
        }
        kills += tally.kills;
        after_the_effect += tally.exactly_at(Stage::EffectToCompletion);
    }
    println!("{after_the_effect} of {kills} kills between effect and completion");
    assert_eq!(kills, 3 * KILLS * effort());
    assert!(after_the_effect >= kills / 6);
}

const NO_KEY: &str = "a_provider_without_the_derived_key_is_found_to_charge_twice";

#[test]
fn a_provider_without_the_derived_key_is_found_to_charge_twice() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(NO_KEY);
    let found = campaign(&seed, NO_KEY, Way::WithoutDerivedKey, |campaign| {
        campaign.only_at("charged")
    });
    let twice = |violation: &Violation| matches!(violation, Violation::EffectTwice { .. });
    assert!(found.violations.len() >= 3, "{:?}", found.violations);
    assert!(found.violations.iter().all(twice), "{:?}", found.violations);
}

const EFFECT_FIRST: &str = "an_effect_outside_of_the_transaction_is_found_to_happen_twice";

#[test]
fn an_effect_outside_of_the_transaction_is_found_to_happen_twice() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(EFFECT_FIRST);
    let found = campaign(&seed, EFFECT_FIRST, Way::EffectOutside, |campaign| {
        campaign.only_at("effected")
    });
    let twice = |violation: &Violation| matches!(violation, Violation::EffectTwice { .. });
    assert!(found.violations.len() >= 3, "{:?}", found.violations);
    assert!(found.violations.iter().all(twice), "{:?}", found.violations);
}

const ANSWER_FIRST: &str = "an_answer_recorded_before_its_effect_is_found_to_stand_without_one";

#[test]
fn an_answer_recorded_before_its_effect_is_found_to_stand_without_one() {
    if child::is_this_process() {
        return;
    }
    let seed = Seed::of(ANSWER_FIRST);
    let found = campaign(&seed, ANSWER_FIRST, Way::AnswerFirst, |campaign| {
        campaign.only_at("recorded")
    });
    let without =
        |violation: &Violation| matches!(violation, Violation::AcknowledgedWithoutEffect { .. });
    assert!(found.violations.len() >= 3, "{:?}", found.violations);
    assert!(
        found.violations.iter().all(without),
        "{:?}",
        found.violations
    );
}
