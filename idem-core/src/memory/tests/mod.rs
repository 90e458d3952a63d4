//! What only the in-memory store promises: bounded memory, prompt wake-ups, one sweep for all shards.
//! That it keeps the laws is tested by the machine's tests, which it runs directly, and here at random.

mod bounded;
mod inspected;
#[cfg(idem_loom)]
mod loom;
mod random;
mod woken;

use std::time::Duration;

use super::{MemoryStore, lock};
use crate::{
    Fingerprint, Holder, IdempotencyStore, Key, ManualClock, OnLapse, Operation, Outcome, RecordId,
    ReserveRequest, Scope, Terms, Token,
};

const LEASE: Duration = Duration::from_secs(10);
const RETENTION: Duration = Duration::from_secs(100);

fn operation(key: impl AsRef<str>) -> Operation {
    Operation::new(
        Scope::new("s").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw("x"),
    )
}

fn record(key: impl AsRef<str>) -> RecordId {
    operation(key).record
}

fn store() -> (MemoryStore, ManualClock) {
    let clock = ManualClock::new();
    (MemoryStore::with_clock(clock.clone()), clock)
}

fn request(key: impl AsRef<str>) -> ReserveRequest {
    let terms = Terms::new(LEASE, RETENTION).unwrap();
    ReserveRequest::new(operation(key), Token::random(), terms)
}

async fn reserve(store: &MemoryStore, key: impl AsRef<str>, on_lapse: OnLapse) -> Holder {
    let request = request(key).on_lapse(on_lapse);
    match store.reserve(&request).await.unwrap() {
        Outcome::Reserved { attempt, .. } => {
            Holder::new(request.operation.record, request.token, attempt)
        }
        other => panic!("not reserved: {other:?}"),
    }
}

impl MemoryStore {
    fn check(&self) {
        self.0.shards.iter().for_each(|shard| lock(shard).check());
    }

    fn nobody_waits(&self) -> bool {
        self.0
            .shards
            .iter()
            .all(|shard| lock(shard).waiters.is_empty())
    }
}
