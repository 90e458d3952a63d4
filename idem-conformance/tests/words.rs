//! What is said of a store is checked against it: a word that is not true, or that is missing, fails a
//! law.

use std::sync::Arc;
use std::time::Duration;

use idem_conformance::{
    Harness, Limited, Reopen, Runtime, Store, all_laws, async_trait, judge, laws, laws_for, run,
};
use idem_core::{ManualClock, MemoryStore};

/// What broke a law, which must be broken.
macro_rules! broken {
    ($harness:ty, $law:expr) => {
        judge("a law", || {
            run(Runtime::Single, async |harness: $harness| {
                $law(harness).await
            })
        })
        .broken
        .expect("the law is to fail")
    };
}

/// A memory store on a manual clock: none of the five words is true of it but `exact_time`.
struct Memory {
    clock: ManualClock,
    store: MemoryStore,
}

#[async_trait]
impl Harness for Memory {
    async fn open() -> Self {
        let clock = ManualClock::new();
        Self {
            store: MemoryStore::with_clock(clock.clone()),
            clock,
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// Opens an empty store again.
#[async_trait]
impl Reopen for Memory {
    async fn reopen(self) -> Self {
        Self::open().await
    }
}

impl Limited for Memory {
    const LARGEST_RESPONSE: usize = 1000;
}

#[test]
fn reopen_is_not_true_of_a_store_that_forgets() {
    broken!(Memory, laws::durability::d1_a_reservation_survives);
    broken!(Memory, laws::durability::d1_an_answer_survives);
}

#[test]
fn a_limit_that_is_not_kept_is_none() {
    let law = async |harness: Memory| {
        laws::sizes::s1_a_response_over_the_limit_is_refused(&harness).await
    };
    let why = broken!(Memory, law);
    assert!(why.contains("over the limit was accepted"), "{why}");
}

#[test]
fn a_cache_that_is_not_there_makes_no_copies_and_no_marks() {
    let copies = async |harness: Memory| {
        laws::cached::r6_a_copy_is_given_for_half_of_the_retention_at_most(&harness).await
    };
    let why = broken!(Memory, copies);
    assert!(why.contains("`copies`"), "{why}");
    let marks = async |harness: Memory| {
        laws::cached::r3_a_mark_refuses_for_a_second_at_most(&harness).await
    };
    let why = broken!(Memory, marks);
    assert!(why.contains("`marks`"), "{why}");
}

/// Its time passes by itself.
struct RealTime(MemoryStore);

#[async_trait]
impl Harness for RealTime {
    async fn open() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    async fn advance(&self, _: Duration) {}
}

#[test]
fn exact_time_is_not_true_where_real_time_passes() {
    let law =
        async |harness: RealTime| laws::exact_time::t2_no_time_passes_by_itself(&harness).await;
    let why = broken!(RealTime, law);
    assert!(why.contains("`exact_time`"), "{why}");
}

#[test]
fn each_word_adds_its_laws_or_puts_others_in_their_place() {
    let count = |words: &[&str]| laws_for(words).len();
    let plain = count(&[]);
    assert!(count(&["exact_time"]) > plain && count(&["reopen"]) > plain);
    // With marks, false conflicts are allowed at any moment, so histories are not compared.
    for word in ["limit", "copies"] {
        let names =
            |words: &[&str]| -> Vec<_> { laws_for(words).iter().map(|law| law.name).collect() };
        let (without, with) = (names(&[]), names(&[word]));
        assert!(with.len() >= without.len(), "`{word}` asks less");
        assert!(
            without.iter().any(|law| !with.contains(law)),
            "`{word}` allows nothing"
        );
    }
    assert_eq!(laws_for(&["marks"]), laws_for(&["copies", "marks"]));
    let all_words = count(&["exact_time", "reopen", "limit", "copies", "marks"]);
    let other_ways = [
        "no_limit",
        "no_copies",
        "exact_time_no_copies",
        "copies_no_marks",
        "no_marks",
    ];
    let left_out = all_laws()
        .iter()
        .filter(|law| other_ways.contains(&law.group))
        .count();
    assert_eq!(all_words + left_out, all_laws().len());
}
