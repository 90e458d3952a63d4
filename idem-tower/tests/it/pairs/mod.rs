//! Pairs of requests: what each must be answered, to the last header, and how often the handler ran.
//!
//! What is expected is written by hand, from what the crate and HTTP promise; [`row`] says how. Every row
//! has a server, a layer and a store of its own. Each is played over HTTP/1.1 and over HTTP/2, unless it
//! says why not.

mod bodies;
mod conflicts;
mod differences;
mod handler;
mod headers;
mod keys;
mod large;
mod methods;
mod problems;
mod row;
mod scopes;
mod settings;
mod statuses;
mod store;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use idem_core::{Idempotency, ManualClock, MemoryStore};
use idem_tower::IdempotencyLayer;
use tokio::time::timeout;

use self::differences::differences;
use self::handler::{Gate, Handler};
use self::row::{Ask, Body, Exchange, Over, Row, Runs};
use self::store::{Fault, RowStore};
use crate::support::client::{Answer, Protocol, send};
use crate::support::server::{self, BoxError, Server, full};
use crate::support::{PATIENCE, by_client};

type Rows = fn() -> Vec<Row>;

/// The themes. Each is a test of its own.
const THEMES: [(&str, Rows); 9] = [
    ("bodies", bodies::rows),
    ("conflicts", conflicts::rows),
    ("headers", headers::rows),
    ("keys", keys::rows),
    ("large", large::rows),
    ("methods", methods::rows),
    ("scopes", scopes::rows),
    ("settings", settings::rows),
    ("statuses", statuses::rows),
];

#[tokio::test]
async fn pairs_about_bodies_are_answered_as_written() {
    play_all(bodies::rows()).await;
}

#[tokio::test]
async fn pairs_about_requests_in_flight_and_unresolved_are_answered_as_written() {
    play_all(conflicts::rows()).await;
}

#[tokio::test]
async fn pairs_about_header_rules_and_trailers_are_answered_as_written() {
    play_all(headers::rows()).await;
}

#[tokio::test]
async fn pairs_about_keys_are_answered_as_written() {
    play_all(keys::rows()).await;
}

#[tokio::test]
async fn pairs_about_large_and_endless_answers_are_answered_as_written() {
    play_all(large::rows()).await;
}

#[tokio::test]
async fn pairs_about_methods_and_paths_are_answered_as_written() {
    play_all(methods::rows()).await;
}

#[tokio::test]
async fn pairs_about_scopes_are_answered_as_written() {
    play_all(scopes::rows()).await;
}

#[tokio::test]
async fn pairs_about_settings_and_stores_that_fail_are_answered_as_written() {
    play_all(settings::rows()).await;
}

#[tokio::test]
async fn pairs_about_statuses_and_dispositions_are_answered_as_written() {
    play_all(statuses::rows()).await;
}

#[test]
fn there_are_at_least_120_pairs_and_no_two_have_one_name() {
    let rows = THEMES.map(|(theme, rows)| (theme, rows()));
    let mut names = BTreeSet::new();
    let mut requests = 0;
    for (theme, rows) in &rows {
        println!("{theme}: {} rows", rows.len());
        for row in rows {
            assert!(names.insert(row.name), "twice: {}", row.name);
            assert!(row.runs != usize::MAX, "how often it runs: {}", row.name);
            if let Over::Only(_, why) = row.over {
                assert!(!why.is_empty(), "why not over both: {}", row.name);
            }
            requests += 2 * worlds(row).len();
        }
    }
    println!("all: {} rows, {requests} requests", names.len());
    assert!(names.len() >= 120);
}

/// A table whose mistakes go unseen is worth nothing.
#[tokio::test]
async fn a_wrong_expectation_is_reported_with_the_name_of_its_row() {
    use row::{post, ran, replay, row};
    let wrong = row("the replay is taken for a run")
        .twice(post("k"), ran(1), ran(2).header("location", "/2"))
        .only_http2("one report is enough")
        .runs(2);
    let right = row("nothing is wrong")
        .twice(post("k"), ran(1), replay(1))
        .runs(1);
    assert_eq!(report(&[right]).await, "");
    assert_eq!(
        report(&[wrong]).await,
        "\
the replay is taken for a run (HTTP/2)
  the second answer, where - is missing and + is too much:
    - header location: \"/2\"
    - body \"run 2\"
    + header idempotent-replayed: \"true\"
    + body \"run 1\"
  the handler ran 1 times instead of 2
"
    );
}

async fn play_all(rows: Vec<Row>) {
    let report = report(&rows).await;
    assert!(report.is_empty(), "\n{report}");
}

/// What is wrong, of all rows; nothing, if nothing is.
async fn report(rows: &[Row]) -> String {
    let mut report = String::new();
    for row in rows {
        for (first, second) in worlds(row) {
            let wrong = play(row, first, second).await;
            if !wrong.is_empty() {
                let over = match first == second {
                    true => name(first).to_owned(),
                    false => format!("{} then {}", name(first), name(second)),
                };
                report += &format!("{} ({over})\n{wrong}", row.name);
            }
        }
    }
    report
}

fn worlds(row: &Row) -> Vec<(Protocol, Protocol)> {
    use Protocol::{Http1, Http2};
    match row.over {
        Over::Both => vec![(Http1, Http1), (Http2, Http2)],
        Over::Only(protocol, _) => vec![(protocol, protocol)],
        Over::Across => vec![(Http1, Http2), (Http2, Http1)],
    }
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
    }
}

/// Plays one row in a world of its own, and says what is wrong.
async fn play(row: &Row, first_over: Protocol, second_over: Protocol) -> String {
    let clock = ManualClock::new();
    let memory = MemoryStore::with_clock(clock.clone());
    let store = RowStore::new(memory, row.fault);
    let idempotency = executor(row, &store);
    let layer = (row.layer)(IdempotencyLayer::new(idempotency.clone(), by_client));
    let gate = (row.between.first_runs != Runs::Before).then(|| Arc::new(Gate::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = Handler {
        replies: row.replies.clone().into(),
        runs: Arc::clone(&runs),
        store: store.clone(),
        idempotency,
        gate: gate.clone(),
    };
    let server = Server::start(layer, move |request| handler.clone().answer(request)).await;

    let first = ask(&server, first_over, &row.first.ask);
    let second = async {
        clock.advance(row.between.passes);
        ask(&server, second_over, &row.second.ask).await
    };
    let (first, second) = match gate {
        None => (first.await, second.await),
        Some(gate) => {
            let second = async {
                let entered = timeout(PATIENCE, gate.entered.acquire()).await;
                entered.expect("the first run begins").unwrap().forget();
                if row.between.first_runs == Runs::UntilAnswered {
                    let second = second.await;
                    gate.open.add_permits(1);
                    return second;
                }
                let waited_for = async {
                    let waits = timeout(PATIENCE, store.is_waited_for()).await;
                    waits.expect("the second request waits");
                    gate.open.add_permits(1);
                };
                futures_util::join!(second, waited_for).0
            };
            futures_util::join!(first, second)
        }
    };

    let mut wrong = String::new();
    for (which, exchange, over, got) in [
        ("first", &row.first, first_over, &first),
        ("second", &row.second, second_over, &second),
    ] {
        wrong += &compare(which, exchange, over, got);
    }
    let ran = runs.load(Ordering::SeqCst);
    if ran != row.runs {
        let wanted = row.runs;
        wrong += &format!("  the handler ran {ran} times instead of {wanted}\n");
    }
    let reserves = store.reserves();
    if let Some(wanted) = row.reserves.filter(|wanted| *wanted != reserves) {
        wrong += &format!("  {reserves} reservations were asked for instead of {wanted}\n");
    }
    wrong
}

fn executor(row: &Row, store: &RowStore) -> Idempotency {
    let mut builder = Idempotency::builder(store.clone());
    if row.fault != Fault::None {
        // One call, and no patience with it.
        builder = builder.store_timeouts(PATIENCE, Duration::from_millis(1));
    }
    (row.executor)(builder).build().unwrap()
}

fn compare(
    which: &str,
    exchange: &Exchange,
    over: Protocol,
    got: &Result<Answer, BoxError>,
) -> String {
    let method: &Method = &exchange.ask.method;
    let lines = differences(&exchange.want, method, over, got.as_ref().ok());
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("  the {which} answer, where - is missing and + is too much:\n");
    lines
        .iter()
        .for_each(|line| text += &format!("    {line}\n"));
    if let Err(error) = got {
        text += &format!("    ({error})\n");
    }
    text
}

async fn ask(server: &Server, over: Protocol, ask: &Ask) -> Result<Answer, BoxError> {
    let mut request = Request::builder().method(ask.method.clone()).uri(ask.path);
    for (name, value) in &ask.headers {
        request = request.header(name, value);
    }
    let request = request.body(body(&ask.body)).unwrap();
    send(server.address, over, request).await
}

fn body(body: &Body) -> server::Body {
    let frame = |text: &'static str| Ok(Frame::data(Bytes::from_static(text.as_bytes())));
    match body {
        Body::Whole(bytes) => full(bytes.clone()),
        Body::Pieces(pieces) => {
            StreamBody::new(stream::iter(pieces.iter().copied().map(frame))).boxed_unsync()
        }
        Body::NeverEnds(text) => {
            let frames = stream::iter([frame(text)]).chain(stream::pending());
            StreamBody::new(frames).boxed_unsync()
        }
        Body::BreaksOff(text) => {
            let frames = [frame(text), Err("the client is gone".into())];
            StreamBody::new(stream::iter(frames)).boxed_unsync()
        }
    }
}
