//! Attacks on values, caches, listings and what is shown of them, through the public API alone.
#![cfg(all(feature = "json", feature = "memory-cache"))]

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use idem_core::*;

fn operation() -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new("order-17").unwrap(),
        Fingerprint::raw("150.00"),
    )
}

const CARD: &str = "4111111111111111";

/// "Answers never" appear in logs; and `Error::source` is what every logger prints.
#[tokio::test]
async fn a_stored_value_that_does_not_fit_is_not_shown() {
    let idempotency = Idempotency::new(MemoryStore::new());
    idempotency
        .execute_value(&operation(), async |_: Reservation| {
            Ok::<_, Error>(CARD.to_owned())
        })
        .await
        .unwrap();
    let error = idempotency
        .execute_value(&operation(), async |_: Reservation| Ok::<_, Error>(1_u8))
        .await
        .unwrap_err();
    let shown = format!("{error} / {error:?} / {}", error.source().unwrap());
    assert!(!shown.contains(CARD), "{shown}");
}

#[test]
fn a_header_does_not_show_its_value() {
    let response = Response::new(200).header("set-cookie", CARD);
    let shown = format!("{:?}", response.headers());
    assert!(!shown.contains(CARD), "{shown}");
}

#[test]
fn values_of_caches_and_engines_are_not_shown() {
    let value = CacheValue {
        value: Bytes::from_static(CARD.as_bytes()),
        expires_in: Duration::from_secs(1),
    };
    let shown = format!("{value:?}");
    assert!(!shown.contains(CARD), "{shown}");
    let stored = Stored {
        value: CARD.as_bytes().to_vec(),
        version: (),
    };
    let shown = format!("{stored:?}");
    assert!(!shown.contains("52, 49, 49, 49"), "{shown}");
}

/// A repeat gets another value than the first caller, with no error at all.
#[tokio::test]
async fn a_value_that_json_alters_is_never_replayed_as_another() {
    let idempotency = Idempotency::new(MemoryStore::new());
    let handler = async |_: Reservation| Ok::<_, Error>(Some(f64::NAN));
    let first = idempotency
        .execute_value(&operation(), handler)
        .await
        .unwrap();
    let repeat = idempotency.execute_value(&operation(), handler).await;
    let first = first.into_value().unwrap();
    let repeat = match repeat {
        Ok(repeat) => repeat.into_value().unwrap(),
        Err(_) => return, // saying so is right
    };
    assert_eq!(
        first.is_some(),
        repeat.is_some(),
        "first {first:?}, repeat {repeat:?}"
    );
}

/// A small answer that is a slice of a large buffer keeps the large buffer for the whole retention: the
/// response limit does not see it.
#[tokio::test]
async fn the_memory_store_keeps_the_answer_and_not_the_buffer_it_was_cut_from() {
    struct Buffer(Vec<u8>, Arc<AtomicBool>);
    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Buffer {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
        }
    }
    let freed = Arc::new(AtomicBool::new(false));
    let idempotency = Idempotency::new(MemoryStore::new());
    let handler = async |_: Reservation| {
        let buffer = Bytes::from_owner(Buffer(vec![7; 16 << 20], Arc::clone(&freed)));
        Ok::<_, Error>(Response::new(201).body(buffer.slice(..4)))
    };
    drop(idempotency.execute(&operation(), handler).await.unwrap());
    assert!(
        freed.load(Ordering::SeqCst),
        "16 MiB are kept for a day, for an answer of 4 bytes"
    );
}

/// "At most `limit` of them."
#[tokio::test]
async fn a_page_of_at_most_none_has_none() {
    let clock = ManualClock::new();
    let store = MemoryStore::with_clock(clock.clone());
    let request = ReserveRequest::new(operation(), Token::random(), Terms::default());
    store.reserve(&request).await.unwrap();
    clock.advance(Duration::from_secs(61));
    let page = store.lapsed(None, 0).await.unwrap();
    assert!(page.records.is_empty(), "{} record", page.records.len());
}

/// "... nothing runs twice", also if a value panics while it is written as JSON: the effect has happened.
#[tokio::test]
async fn a_value_that_panics_while_it_is_written_does_not_run_again() {
    use std::sync::atomic::AtomicUsize;

    #[derive(Debug, serde::Deserialize)]
    struct Jumpy;
    impl serde::Serialize for Jumpy {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("planted")
        }
    }

    let idempotency = Idempotency::new(MemoryStore::new());
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let (idempotency, runs) = (idempotency.clone(), Arc::clone(&runs));
        let request = async move {
            idempotency
                .execute_value(&operation(), async |_: Reservation| {
                    runs.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Error>(Jumpy)
                })
                .await
        };
        let _ = tokio::spawn(request).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
