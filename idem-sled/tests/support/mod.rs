//! What the test binaries share.
#![allow(dead_code, reason = "each test binary needs a part")]

pub(crate) mod large;

use std::fs;
use std::path::Path;
use std::time::Duration;

use idem_core::{
    Fingerprint, Holder, IdempotencyStore as _, Key, ManualClock, Operation, Outcome,
    ReserveRequest, Scope, Terms, Token,
};
use idem_sled::SledStore;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const RETENTION: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn terms() -> Terms {
    Terms::new(LEASE, RETENTION).unwrap()
}

pub(crate) fn operation(key: &str) -> Operation {
    let scope = Scope::new("scope").unwrap();
    Operation::new(scope, Key::new(key).unwrap(), Fingerprint::raw("150.00"))
}

pub(crate) fn request(key: &str) -> ReserveRequest {
    ReserveRequest::new(operation(key), Token::random(), terms())
}

pub(crate) async fn reserve(store: &SledStore, key: &str) -> Holder {
    holder(store, request(key)).await
}

pub(crate) async fn holder(store: &SledStore, request: ReserveRequest) -> Holder {
    match store.reserve(&request).await.unwrap() {
        Outcome::Reserved { attempt, .. } => {
            Holder::new(request.operation.record, request.token, attempt)
        }
        other => panic!("not reserved: {other:?}"),
    }
}

pub(crate) async fn open_at(folder: &Path, clock: &ManualClock) -> SledStore {
    let options = SledStore::options(folder).clock(clock.clone());
    options.open().await.unwrap()
}

/// What a process that is killed now would leave behind: the files as they are.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
