//! A complete, conforming store out of three functions: `cargo run --example custom_store`.
#![allow(clippy::print_stdout, reason = "its output is for people")]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use idempotency::*;

/// What any ordered key-value engine is to the store. The value itself is the version to compare by.
#[derive(Default)]
pub(crate) struct Engine(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Engine {
    fn map(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Pair = (Vec<u8>, Stored<Vec<u8>>);

fn stored(value: &[u8]) -> Stored<Vec<u8>> {
    let value = value.to_vec();
    Stored {
        version: value.clone(),
        value,
    }
}

#[async_trait]
impl CompareAndSwap for Engine {
    type Version = Vec<u8>;
    const ORDERED: bool = true;

    async fn load(&self, key: &[u8]) -> Result<Option<Stored<Vec<u8>>>, Error> {
        Ok(self.map().get(key).map(|value| stored(value)))
    }

    async fn swap(
        &self,
        key: &[u8],
        expected: Option<&Vec<u8>>,
        value: Option<&[u8]>,
    ) -> Result<Swapped, Error> {
        let mut map = self.map();
        if map.get(key) != expected {
            return Ok(Swapped::Lost);
        }
        match value {
            Some(value) => map.insert(key.to_vec(), value.to_vec()),
            None => map.remove(key),
        };
        Ok(Swapped::Done)
    }

    async fn scan(&self, after: &[u8], limit: usize) -> Result<Vec<Pair>, Error> {
        let map = self.map();
        let rest = map.range::<[u8], _>((Excluded(after), Unbounded));
        Ok(rest
            .take(limit)
            .map(|(key, value)| (key.clone(), stored(value)))
            .collect())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn StdError>> {
    let store = CasStore::new(Engine::default(), MonotonicClock::new());
    let idempotency = Idempotency::new(store);

    let payment = Fingerprint::builder()
        .json("body", r#"{"amount":"150.00"}"#)
        .finish();
    let operation = Operation::new(Scope::new("acct_812")?, Key::new("order-17")?, payment);
    let charge = async |reservation: Reservation| {
        let charge_id = reservation.derived_key("charge");
        Ok::<_, Error>(Response::new(201).body(format!("charged as {charge_id}")))
    };

    let first = idempotency.execute(&operation, charge).await?;
    let retry = idempotency.execute(&operation, charge).await?;
    assert!(matches!(first, Executed::Ran { .. }));
    assert!(matches!(retry, Executed::Replayed(_)));
    assert_eq!(first.response(), retry.response());
    println!("one charge; the retry got the first answer");
    Ok(())
}
