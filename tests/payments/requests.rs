//! What the server makes of a request: whose it is, its key, its body.

use crate::http::{PAYMENT, ledger, pay, request};
use crate::process::Payments;

#[test]
fn a_mark_that_comes_in_is_not_believed() {
    let (_payments, address) = Payments::serve(&[]);
    let lines = [
        "authorization: Bearer acct_812",
        "idempotency-key: order-17",
        "idempotent-replayed: true",
    ];
    let paid = request(address, "POST /payments", &lines, PAYMENT);
    assert_eq!((paid.status, paid.is_replayed()), (201, false));
}

#[test]
fn the_query_is_part_of_the_operation() {
    let (_payments, address) = Payments::serve(&[]);
    let lines = [
        "authorization: Bearer acct_812",
        "idempotency-key: order-17",
    ];
    let send = |path| request(address, path, &lines, PAYMENT);
    assert_eq!(send("POST /payments").status, 201);
    assert_eq!(send("POST /payments?dry-run").problem(), "key-reused");
    assert_eq!(send("POST /payments").status, 201);
}

#[test]
fn what_is_refused_before_the_handler_does_not_use_up_the_key() {
    let (_payments, address) = Payments::serve(&[]);
    let key = "idempotency-key: order-17";
    for authorization in [
        "x-none: x",
        "authorization: acct_812",
        "authorization: Basic YTpi",
        "authorization: Bearer",
        "authorization: Bearer two words",
        "authorization: Bearer a\r\nauthorization: Bearer b",
    ] {
        let refused = request(address, "POST /payments", &[authorization, key], PAYMENT);
        assert_eq!(refused.status, 401, "{authorization}");
        assert_eq!(refused.problem(), "unauthorized");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    let huge = format!("{PAYMENT}{}", " ".repeat(64 * 1024));
    let refused = pay(address, key, &huge);
    assert_eq!(refused.status, 413);
    assert_eq!(refused.problem(), "body-too-large");
    let paid = pay(address, key, PAYMENT);
    assert_eq!((paid.status, paid.is_replayed()), (201, false));
    assert_eq!(ledger(address).provider_calls, 1);
}

#[test]
fn keys_are_bare_or_quoted_and_nothing_else() {
    let (_payments, address) = Payments::serve(&[]);
    let status = |value: &str| {
        let answer = pay(address, &format!("idempotency-key: {value}"), PAYMENT);
        match answer.status {
            201 if answer.is_replayed() => "replayed".to_owned(),
            201 => "paid".to_owned(),
            _ => answer.problem(),
        }
    };
    let long = "k".repeat(255);
    for (value, expected) in [
        ("abc", "paid"),
        ("\"abc\"", "replayed"),
        ("  abc\t", "replayed"),
        ("ABC", "paid"),
        ("8e03978e-40d5-43e8-bc93-6894a57f9324", "paid"),
        (r#""a\"b\\c""#, "paid"),
        ("\"with blanks\"", "paid"),
        (&long, "paid"),
        (&format!("\"{long}\""), "replayed"),
        (&format!("{long}k"), "key-malformed"),
        (&format!("\"{long}k\""), "key-malformed"),
        ("", "key-malformed"),
        ("   ", "key-malformed"),
        ("\"\"", "key-malformed"),
        ("\"abc", "key-malformed"),
        ("abc\"", "key-malformed"),
        ("\"abc\";p=1", "replayed"),
        (r#""a\bc""#, "key-malformed"),
        (r#""abc\"#, "key-malformed"),
        ("\"a\tb\"", "key-malformed"),
        ("\"ä\"", "key-malformed"),
        ("ä", "key-malformed"),
        ("a b", "key-malformed"),
        ("a,b", "key-malformed"),
        ("a\r\nidempotency-key: a", "key-malformed"),
    ] {
        assert_eq!(status(value), expected, "{value}");
    }
    assert_eq!(pay(address, "x-none: x", PAYMENT).problem(), "key-missing");
}

#[test]
fn an_amount_is_an_exact_decimal() {
    let (_payments, address) = Payments::serve(&[]);
    let body =
        |amount: &str| format!(r#"{{"amount":{amount},"currency":"BRL","customer_id":"c"}}"#);
    let paid = ["\"0.01\"", "\"1.00\"", "\"10.50\"", "\"999999999999.99\""];
    let refused = [
        "\"0.00\"",
        "\"-1.00\"",
        "\"+1.00\"",
        "\"1\"",
        "\"1.0\"",
        "\"1.000\"",
        "\"01.00\"",
        "\".50\"",
        "\"1,00\"",
        "\"1.0a\"",
        "\"1e2.00\"",
        "\"1.00 \"",
        "\"1000000000000.00\"",
        "\"\"",
        "1.00",
        "1",
        "null",
        "\"abc\"",
        "\"١.00\"",
    ];
    let expected = paid.map(|it| (it, 201)).into_iter();
    for (n, (amount, status)) in expected.chain(refused.map(|it| (it, 400))).enumerate() {
        let answer = pay(address, &format!("idempotency-key: {n}"), &body(amount));
        assert_eq!(answer.status, status, "{amount}");
        if status == 400 {
            assert_eq!(answer.problem(), "invalid-payment", "{amount}");
        }
    }
    assert_eq!(ledger(address).charges.len(), paid.len());
}
