//! That the store keeps the laws on an engine that yields, loses answers, dies, and lets others in
//! between.

mod awkward;
mod chaos;
mod costs;
mod crashes;
mod inspected;
#[cfg(idem_loom)]
mod loom;
mod planned;
mod races;
mod random;
mod toy;
mod unreadable;
mod woken;

use std::sync::Arc;
use std::time::Duration;

use self::toy::{Data, Toy};
use super::CasStore;
use crate::{
    Fingerprint, Holder, IdempotencyStore, Inspect, Key, ManualClock, OnLapse, Operation, Outcome,
    RecordId, RecordInfo, ReserveRequest, Response, Scope, Terms, Token,
};

const LEASE: Duration = Duration::from_secs(10);
const RETENTION: Duration = Duration::from_secs(100);
const MS: Duration = Duration::from_millis(1);

fn terms() -> Terms {
    Terms::new(LEASE, RETENTION).unwrap()
}

fn operation(key: impl AsRef<str>) -> Operation {
    let scope = Scope::new("s").unwrap();
    Operation::new(scope, Key::new(key).unwrap(), Fingerprint::raw("x"))
}

fn record(key: impl AsRef<str>) -> RecordId {
    operation(key).record
}

fn request(key: impl AsRef<str>) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), terms())
}

/// Stores in one process or in many, on the same records and the same clock.
#[derive(Default)]
struct World<const ORDERED: bool> {
    data: Arc<Data>,
    clock: ManualClock,
}

impl<const ORDERED: bool> World<ORDERED> {
    fn engine(&self) -> Toy<ORDERED> {
        Toy::new(Arc::clone(&self.data))
    }

    fn store(&self) -> CasStore<Toy<ORDERED>> {
        self.store_in(self.engine())
    }

    fn store_in(&self, engine: Toy<ORDERED>) -> CasStore<Toy<ORDERED>> {
        CasStore::new(engine, self.clock.clone())
    }
}

async fn reserve<S: IdempotencyStore>(
    store: &S,
    key: impl AsRef<str>,
    on_lapse: OnLapse,
) -> Holder {
    let request = request(key).on_lapse(on_lapse);
    match store.reserve(&request).await.unwrap() {
        Outcome::Reserved { attempt, .. } => {
            Holder::new(request.operation.record, request.token, attempt)
        }
        other => panic!("not reserved: {other:?}"),
    }
}

async fn completed<S: IdempotencyStore>(store: &S, key: String) {
    let holder = reserve(store, key, OnLapse::RunAgain).await;
    let answer = Response::new(201).into();
    store.complete(&holder, &answer).await.unwrap();
}

/// Everything that `lapsed` lists, in pages of this size.
async fn all_lapsed<S: Inspect>(store: &S, limit: usize) -> Vec<RecordInfo> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.lapsed(after.as_ref(), limit).await.unwrap();
        assert!(page.records.len() <= limit);
        found.extend(page.records);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

async fn purge_all<S: Inspect>(store: &S) -> usize {
    let mut removed = 0;
    loop {
        let purged = store.purge_expired(7).await.unwrap();
        assert!(purged.removed <= 7);
        removed += purged.removed;
        if !purged.more {
            return removed;
        }
    }
}
