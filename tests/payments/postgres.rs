//! Two processes over one database.

use testkit::Postgres;

use crate::http::{PAYMENT, ledger, pay};
use crate::process::Payments;

const KEY: &str = "idempotency-key: order-17";

#[test]
fn what_one_process_answered_another_replays_and_a_third_after_both_have_ended() {
    let server = Postgres::start();
    let url = format!(
        "postgres://postgres@localhost/postgres?host={}&port={}",
        server.socket_folder().display(),
        server.port_number()
    );
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
