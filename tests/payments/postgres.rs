//! Payments over a database.

use std::time::Duration;

use testkit::{Postgres, until};

use crate::http::{PAYMENT, ledger, pay, request};
use crate::process::Payments;

const KEY: &str = "idempotency-key: order-17";

#[test]
fn what_one_process_answered_another_replays_and_a_third_after_both_have_ended() {
    let server = Postgres::start();
    let url = server.url();
    let store = ["--store", &url];
    let first = {
        let (_one, one) = Payments::serve(&store);
        let (_other, other) = Payments::serve(&store);
        let first = pay(one, KEY, PAYMENT);
        let repeat = pay(other, KEY, PAYMENT);
        assert_eq!(first.status, 201);
        assert!(!first.is_replayed() && repeat.is_replayed());
        assert_eq!(repeat.as_given(), first.as_given());
        assert_eq!(ledger(one).charges.len(), 1);
        assert_eq!(ledger(other).provider_calls, 0);
        first
    };
    let (_third, third) = Payments::serve(&store);
    let repeat = pay(third, KEY, PAYMENT);
    assert!(repeat.is_replayed());
    assert_eq!(repeat.as_given(), first.as_given());
    assert_eq!(pay(third, KEY, r#"{"amount":"9.99"}"#).status, 422);
}

#[test]
fn a_row_and_its_key_commit_together() {
    let server = Postgres::start();
    let url = server.url();
    let (_payments, address) = Payments::serve(&["--store", &url]);
    let lines = ["authorization: Bearer acct_812", KEY];
    let transfer = |body| request(address, "POST /transfers", &lines, body);
    let invalid = transfer(r#"{"amount":"abc","currency":"BRL","customer_id":"cus_812"}"#);
    assert_eq!(invalid.problem(), "invalid-payment");
    let first = transfer(PAYMENT);
    let repeat = transfer(PAYMENT);
    assert_eq!((first.status, first.is_replayed()), (201, false));
    assert_eq!(repeat.as_given(), first.as_given());
    assert!(repeat.is_replayed());
    let rows =
        server.psql("SELECT count(*) FROM payments_example_transfers WHERE client = 'acct_812'");
    assert_eq!(rows.unwrap(), "1");
}

#[test]
#[cfg(unix)]
fn what_has_expired_is_purged() {
    let server = Postgres::start();
    let url = server.url();
    let records = || server.psql("SELECT count(*) FROM idempotency_records");
    {
        let (_payments, address) = Payments::serve(&["--store", &url]);
        assert_eq!(pay(address, KEY, PAYMENT).status, 201);
    }
    assert_eq!(records().unwrap(), "1");
    let expire = "UPDATE idempotency_records SET retention_ends_at = 1, purge_at = 1";
    server.psql(expire).unwrap();
    let (payments, _) = Payments::serve(&["--store", &url]);
    until("a purge", Duration::from_secs(20), || {
        (records().unwrap() == "0").then_some(())
    });
    payments.terminate();
    let ended = payments.ended();
    assert_eq!(
        (ended.status.code(), ended.stderr),
        (Some(0), String::new())
    );
}
