//! The server, from another process.

use std::net::SocketAddr;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Answer, Connection, PAYMENT, ledger, pay};
use crate::process::Payments;

/// Twenty requests with one key, begun together.
fn twenty_at_once(address: SocketAddr) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(20));
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                let mut connection = Connection::open(address);
                start.wait();
                let lines = [
                    "authorization: Bearer acct_812",
                    "idempotency-key: order-17",
                ];
                connection.send("POST /payments", &lines, PAYMENT);
                connection.answer()
            })
        })
        .collect();
    let answers = requests.into_iter().map(|request| request.join().unwrap());
    answers.collect()
}

/// The answers that are the payment: all the same bytes, and one of them not a replay.
fn assert_one_payment<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Answer {
    let answers: Vec<_> = answers.into_iter().collect();
    let originals: Vec<_> = answers.iter().filter(|it| !it.is_replayed()).collect();
    assert_eq!(originals.len(), 1, "{answers:#?}");
    let original = originals[0].as_given();
    assert_eq!(original.status, 201);
    for answer in answers {
        assert_eq!(answer.as_given(), original);
    }
    original
}

#[test]
fn it_says_where_it_listens_and_what_to_try() {
    let (mut payments, address) = Payments::serve(&[]);
    let curl = payments.line();
    let url = format!("http://{address}/payments ");
    assert!(curl.starts_with("curl ") && curl.contains(&url), "{curl}");
    for part in [
        "-H 'Authorization: Bearer ",
        "-H 'Idempotency-Key: ",
        PAYMENT,
    ] {
        assert!(curl.contains(part), "{curl}");
    }
}

#[test]
fn twenty_at_once_are_one_charge() {
    let (_payments, address) = Payments::serve(&["--provider-latency", "300ms"]);
    let answers = twenty_at_once(address);
    let (paid, conflicts): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.status == 201);
    assert_one_payment(paid);
    for conflict in conflicts {
        assert_eq!(conflict.status, 409);
        assert_eq!(conflict.problem(), "in-flight");
        assert_eq!(conflict.header("retry-after"), Some("1"));
        assert!(!conflict.is_replayed());
    }
    let ledger = ledger(address);
    assert_eq!((ledger.charges.len(), ledger.provider_calls), (1, 1));
}

#[test]
fn twenty_that_wait_get_one_answer() {
    let (_payments, address) = Payments::serve(&[
        "--provider-latency",
        "300ms",
        "--on-conflict",
        // Longer than any machine takes for this.
        "wait:60s",
    ]);
    assert_one_payment(&twenty_at_once(address));
    let ledger = ledger(address);
    assert_eq!((ledger.charges.len(), ledger.provider_calls), (1, 1));
}

#[test]
fn a_payment_is_answered_and_is_in_the_ledger() {
    let (_payments, address) = Payments::serve(&[]);
    let paid = pay(address, "idempotency-key: order-17", PAYMENT);
    assert_eq!(paid.status, 201);
    assert!(!paid.is_replayed());
    let payment = paid.json();
    let id = payment["id"].as_str().unwrap();
    assert_eq!(paid.header("location"), Some(&*format!("/payments/{id}")));
    let charge = &ledger(address).charges[0];
    for (member, value) in [
        ("id", id),
        ("amount", "150.00"),
        ("currency", "BRL"),
        ("customer_id", "cus_812"),
    ] {
        assert_eq!(payment[member], value);
        assert_eq!(charge[member], value);
    }
    assert_eq!(charge["client"], "acct_812");
    assert_eq!(charge["provider_key"].as_str().unwrap().len(), 36);
    assert_eq!(charge.as_object().unwrap().len(), 6);
}

/// Pays with one key until it is new again, which takes real time here.
fn pay_until_forgotten(provider_window: &str) -> usize {
    let short = ["--lease", "500ms", "--retention", "1s"];
    let flags = [&short[..], &["--provider-window", provider_window]].concat();
    let (_payments, address) = Payments::serve(&flags);
    let key = "idempotency-key: order-17";
    assert_eq!(pay(address, key, PAYMENT).status, 201);
    let asked = Instant::now();
    while pay(address, key, PAYMENT).is_replayed() {
        assert!(asked.elapsed() < Duration::from_secs(60), "never forgotten");
        // why: the retention of a served process is real time
        thread::sleep(Duration::from_millis(50));
    }
    let ledger = ledger(address);
    assert_eq!(ledger.provider_calls, 2);
    ledger.charges.len()
}

#[test]
fn a_key_is_new_after_the_retention_and_charged_again_after_the_providers_window() {
    assert_eq!(pay_until_forgotten("24h"), 1);
    assert_eq!(pay_until_forgotten("0s"), 2);
}

#[cfg(unix)]
mod signals {
    use std::time::Instant;

    use super::*;

    const LATENCY: Duration = Duration::from_millis(500);

    /// A payment whose charge is made and whose answer is still on its way.
    fn begin_payment(address: SocketAddr) -> Connection {
        let mut connection = Connection::open(address);
        let lines = [
            "authorization: Bearer acct_812",
            "idempotency-key: order-17",
        ];
        connection.send("POST /payments", &lines, PAYMENT);
        while ledger(address).charges.is_empty() {
            // why: another process tells of its charges only when it is asked
            thread::sleep(Duration::from_millis(5));
        }
        connection
    }

    #[test]
    fn sigterm_lets_a_payment_end() {
        let (payments, address) = Payments::serve(&["--provider-latency", "500ms"]);
        let connection = begin_payment(address);
        payments.terminate();
        assert_eq!(connection.answer().status, 201);
        let ended = payments.ended();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr, "");
    }

    #[test]
    fn sigterm_lets_a_payment_end_whose_client_has_gone() {
        let begun = Instant::now();
        let (payments, address) = Payments::serve(&["--provider-latency", "500ms"]);
        drop(begin_payment(address));
        payments.terminate();
        let ended = payments.ended();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert!(
            begun.elapsed() >= LATENCY,
            "it did not wait for the payment"
        );
    }

    #[test]
    fn sigterm_ends_an_idle_server_at_once() {
        let (payments, address) = Payments::serve(&[]);
        let _idle = Connection::open(address);
        payments.terminate();
        assert_eq!(payments.ended().status.code(), Some(0));
    }
}
