//! A repeat gets the value that the first caller got, to the last bit.
//!
//! Here and not in idem-core: there a development dependency turns on serde_json's `float_roundtrip`
//! for its tests, and with it hides what users get.
#![cfg(feature = "json")]

use idempotency::{
    Error, Fingerprint, Idempotency, Key, MemoryStore, Operation, Reservation, Scope,
};

#[tokio::test]
async fn floats_are_replayed_as_they_were_answered() {
    let idempotency = Idempotency::new(MemoryStore::new());
    let mut differ = Vec::new();
    for n in 1..=500_u32 {
        let amount = f64::from(n).sqrt() * 100.0;
        let operation = Operation::new(
            Scope::new("acct_812").unwrap(),
            Key::new(n.to_string()).unwrap(),
            Fingerprint::raw(""),
        );
        let handler = async |_: Reservation| Ok::<_, Error>(amount);
        idempotency
            .execute_value(&operation, handler)
            .await
            .unwrap();
        let repeat = idempotency
            .execute_value(&operation, handler)
            .await
            .unwrap();
        let repeat = repeat.into_value().unwrap();
        if repeat != amount {
            differ.push((amount, repeat));
        }
    }
    assert!(
        differ.is_empty(),
        "{} of 500: {:?}",
        differ.len(),
        differ[0]
    );
}
