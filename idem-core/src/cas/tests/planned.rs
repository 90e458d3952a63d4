//! Steps in a transaction of the engine's own.

use super::toy::Toy;
use super::{RETENTION, World, operation, record, request, reserve};
use crate::cas::CasStore;
use crate::machine::{self, Change, Record};
use crate::{
    CompareAndSwap as _, Completion, Holder, IdempotencyStore as _, Inspect as _, OnLapse, Outcome,
    Planned, Response, Swapped,
};

type Store = CasStore<Toy<true>>;

/// What a transaction does: reads, plans, writes everything.
async fn transact<T>(
    store: &Store,
    key: &str,
    decide: impl FnOnce(Option<&Record>, crate::Timestamp) -> (T, Change),
) -> T {
    let record = record(key);
    let stored = store
        .engine()
        .load(&Store::record_key(&record))
        .await
        .unwrap();
    let value = stored.as_ref().map(|stored| &*stored.value);
    let planned = store.plan(&record, value, store.now(), decide).unwrap();
    for (key, value) in planned.writes {
        let there = store.engine().load(&key).await.unwrap();
        let version = there.as_ref().map(|there| &there.version);
        if version.is_some() || value.is_some() {
            let swapped = store.engine().swap(&key, version, value.as_deref()).await;
            assert_eq!(swapped.unwrap(), Swapped::Done);
        }
    }
    store.wake(&record);
    planned.answer
}

#[tokio::test]
async fn what_is_planned_is_what_the_store_does_index_included() {
    let world = World::<true>::default();
    let store = world.store();
    let request = request("k");
    let outcome = transact(&store, "k", |record, now| {
        machine::reserve(record, &request, now)
    })
    .await;
    assert!(
        matches!(outcome, Outcome::Reserved { attempt: 1, .. }),
        "{outcome:?}"
    );
    let holder = Holder::new(record("k"), request.token, 1);
    assert_eq!(
        store.get(&record("k")).await.unwrap().unwrap().holder,
        holder
    );

    let answer = Response::new(201).body("paid").into();
    let mut waiting = std::pin::pin!(store.changed(&holder.record, RETENTION));
    let pending =
        std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending()));
    assert!(pending.await);
    let completed = transact(&store, "k", |record, now| {
        machine::complete(record, &holder, &answer, now)
    });
    assert!(matches!(completed.await, Completion::Completed { .. }));
    waiting.await;
    let replay = store.reserve(&super::request("k")).await.unwrap();
    assert!(matches!(replay, Outcome::Replay(_)), "{replay:?}");

    world.clock.advance(RETENTION);
    assert_eq!(store.purge_expired(10).await.unwrap().removed, 1);
    store.purge_expired(10).await.unwrap();
    assert_eq!(
        store.engine().scan(&[], 10).await.unwrap().len(),
        0,
        "nothing is left"
    );
}

#[tokio::test]
async fn nothing_is_written_for_what_stays_as_it_is_and_entries_are_told_from_records() {
    let world = World::<true>::default();
    let store = world.store();
    let again = |record: Option<&Record>, now| machine::reserve(record, &request("k"), now);
    let vacant = store.plan(&record("k"), None, store.now(), again).unwrap();
    let kinds = |planned: &Planned<Outcome>| -> Vec<bool> {
        let keys = planned.writes.iter().map(|(key, _)| key);
        keys.map(|key| Store::is_index_entry(key)).collect()
    };
    assert_eq!(kinds(&vacant), [true, true, false], "entries first");
    let value = vacant.writes[2].1.as_deref();
    let conflict = store.plan(&record("k"), value, store.now(), again).unwrap();
    assert!(matches!(conflict.answer, Outcome::Conflict { .. }));
    assert_eq!(conflict.writes, []);
    let fresh = store.plan(&record("k"), None, store.now(), again).unwrap();
    assert_ne!(
        fresh.writes[0].1, vacant.writes[0].1,
        "entries have a fresh value each time"
    );
}

#[tokio::test]
async fn what_cannot_be_read_or_is_too_large_is_an_error() {
    let world = World::<true>::default();
    let store = world.store();
    let reserve_it = |record: Option<&Record>, now| machine::reserve(record, &request("k"), now);
    let damaged = store.plan(&record("k"), Some(b"?"), store.now(), reserve_it);
    assert!(damaged.unwrap_err().is_corrupt());
    let small = world.store().max_value_bytes(10);
    let too_large = small.plan(&record("k"), None, small.now(), reserve_it);
    assert!(too_large.unwrap_err().is_too_large());
    // The other road is still open.
    reserve(&store, "k", OnLapse::RunAgain).await;
    assert_eq!(operation("k").record, record("k"));
}
