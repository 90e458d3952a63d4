//! One process after the other over one folder.

use testkit::Folder;

use crate::http::{PAYMENT, ledger, pay};
use crate::process::{Payments, run};

const KEY: &str = "idempotency-key: order-17";

#[test]
fn what_one_process_answered_the_next_replays_and_the_provider_remembers() {
    let folder = Folder::new();
    let store = format!("sled:{}", folder.path().join("store").display());
    let file = folder.path().join("ledger");
    let file = file.to_str().unwrap();
    let flags = ["--store", &store, "--provider-ledger", file];
    let first = {
        let (_first, address) = Payments::serve(&flags);
        pay(address, KEY, PAYMENT)
    };
    let (_second, address) = Payments::serve(&flags);
    let repeat = pay(address, KEY, PAYMENT);
    assert!(!first.is_replayed() && repeat.is_replayed());
    assert_eq!(repeat.as_given(), first.as_given());
    let ledger = ledger(address);
    assert_eq!((ledger.charges.len(), ledger.provider_calls), (1, 1));

    // A second process on the folder is refused, in one line.
    let refused = run(&["serve", "--listen", "127.0.0.1:0", "--store", &store]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("is in use"), "{}", refused.stderr);
}

#[test]
fn a_ledger_that_is_none_is_refused() {
    let folder = Folder::new();
    let file = folder.path().join("ledger");
    std::fs::write(&file, "not a ledger\n").unwrap();
    let file = file.to_str().unwrap();
    let refused = run(&["serve", "--store", "memory", "--provider-ledger", file]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        refused.stderr.contains("--provider-ledger"),
        "{}",
        refused.stderr
    );
}

#[test]
#[cfg(unix)]
fn a_temporary_store_is_gone_with_its_server() {
    let temp = Folder::new();
    let (payments, address) = Payments::serve_with(&[], Some(temp.path()));
    assert_eq!(pay(address, KEY, PAYMENT).status, 201);
    let there = || std::fs::read_dir(temp.path()).unwrap().count();
    assert_eq!(there(), 1);
    payments.terminate();
    assert_eq!(payments.ended().status.code(), Some(0));
    assert_eq!(there(), 0);
}
