//! The suite is tested: every law of it on stores that are wrong.
//!
//! Each is a right store in which one decision is overridden. Every one must be rejected, every law must
//! reject the store that it is for, and the right stores must pass. A store is judged by the laws that are
//! for it; with more effort by all of them, which takes minutes, and then the table says which reject it:
//!
//! ```sh
//! IDEM_EFFORT=10 cargo test -p idem-conformance --test faulty_stores
//! ```

mod data;
mod decisions;
mod harness;
mod store;
mod stores;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use idem_conformance::{Verdict, all_laws, effort::effort};

use decisions::Decisions;
use store::lock;

/// How many stores are judged at a time: some laws wait.
const AT_A_TIME: usize = 6;

/// What became of a store.
struct Judged {
    name: &'static str,
    laws: usize,
    broken: Vec<Verdict>,
}

impl Judged {
    fn rejecting(&self) -> impl Iterator<Item = &'static str> {
        self.broken.iter().map(|verdict| verdict.law)
    }
}

fn judge(store: &'static Decisions, every: bool) -> Judged {
    let verdicts = harness::judge(store, every);
    Judged {
        name: store.name,
        laws: verdicts.len(),
        broken: verdicts
            .into_iter()
            .filter(|verdict| verdict.broken.is_some())
            .collect(),
    }
}

/// What becomes of each of these stores, in their order.
fn judge_each(stores: &'static [Decisions], every: bool) -> Vec<Judged> {
    let next = AtomicUsize::new(0);
    let judged = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(store) = stores.get(number) else {
                        break;
                    };
                    let verdicts = judge(store, every);
                    lock(&judged).insert(number, verdicts);
                }
            });
        }
    });
    std::mem::take(&mut *lock(&judged)).into_values().collect()
}

/// Prints past the test harness, which keeps the output of tests that pass to itself.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").expect("standard output is open");
}

fn print_table(wrong: &[Judged], began: Instant) {
    print("\n| what is wrong | rejected by | which laws |\n| --- | --- | --- |");
    for store in wrong {
        let laws: Vec<_> = store.rejecting().collect();
        print(&format!(
            "| {} | {} | {} |",
            store.name,
            laws.len(),
            laws.join(", ")
        ));
    }
    let verdicts: usize = wrong.iter().map(|store| store.laws).sum();
    print(&format!(
        "\n{} wrong stores, {} laws, {verdicts} verdicts, {:.1?}",
        wrong.len(),
        all_laws().len(),
        began.elapsed()
    ));
    // Of a double grant in a thousand tries, in the law of 14 000 tries alone.
    print(&format!(
        "a double grant one time in a thousand is missed once in {:.0}",
        0.999_f64.powi(-14_000)
    ));
}

#[test]
fn every_wrong_store_is_rejected_and_every_law_rejects_one() {
    let began = Instant::now();
    let right: &'static [Decisions] = stores::right_stores().leak();
    let wrong: &'static [Decisions] = stores::wrong_stores().leak();
    // Thousands of laws are about to panic.
    let loud = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let right = judge_each(right, true);
    let wrong = judge_each(wrong, effort() >= 10);
    panic::set_hook(loud);
    print_table(&wrong, began);

    for store in &right {
        let (name, broken) = (store.name, &store.broken);
        assert!(broken.is_empty(), "{name} breaks {broken:#?}");
    }
    let names: BTreeSet<_> = wrong.iter().map(|store| store.name).collect();
    assert_eq!(names.len(), wrong.len(), "two stores have one name");
    assert!(names.len() >= 40, "there are only {}", names.len());

    let passed = wrong.iter().filter(|store| store.broken.is_empty());
    let passed: Vec<_> = passed.map(|store| store.name).collect();
    assert!(passed.is_empty(), "wrong stores that pass: {passed:#?}");

    // Each law rejects the store that it is for, and so at least one.
    let rejects = |law: &str, name: &str| {
        let mut stores = wrong.iter().filter(|store| store.name == name);
        stores.any(|store| store.rejecting().any(|rejecting| rejecting == law))
    };
    let laws = all_laws().into_iter();
    let idle: Vec<_> = laws
        .filter(|law| !rejects(law.name, law.rejects))
        .map(|law| (law.name, law.rejects))
        .collect();
    assert!(
        idle.is_empty(),
        "laws that do not reject the store that they are for: {idle:#?}"
    );
}
