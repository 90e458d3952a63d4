//! What others do between a load and its swap: known faults B02, B24 and B25, laws R2 and L1.

use std::sync::Arc;

use super::toy::{Between, LostAnswer};
use super::{LEASE, MS, RETENTION, World, purge_all, record, request, reserve, terms};
use crate::cas::MOST_RACES;
use crate::cas::keys::record_key;
use crate::machine::{self, Change};
use crate::{
    Applied, CasStore, Clock, CompareAndSwap, Completion, Condition, Error, Holder,
    IdempotencyStore, Inspect, ManualClock, OnLapse, Outcome, Response, Stored, Swapped, Update,
};

/// Something that another process does, once.
fn once(work: impl Future<Output = ()> + Send + 'static) -> Option<Between> {
    Some(Box::new(move || Box::pin(work)))
}

async fn fifty_reserves<const ORDERED: bool>(seed: usize) {
    let world = World::<ORDERED>::default();
    let store = Arc::new(world.store_in(world.engine().yielding(seed)));
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.reserve(&request("k")).await.unwrap() })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        match task.await.unwrap() {
            Outcome::Reserved { attempt: 1, .. } => winners += 1,
            Outcome::Conflict { retry_after } => assert!(retry_after.unwrap() <= LEASE),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn r2_of_fifty_reserves_one_wins() {
    for seed in 0..20 {
        fifty_reserves::<true>(seed * 1_000).await;
        fifty_reserves::<false>(seed * 1_000).await;
    }
}

#[tokio::test]
async fn b02_a_takeover_judged_on_a_stale_record_overwrites_nothing() {
    let world = World::<true>::default();
    let (mine, other) = (world.store(), world.store());
    let holder = reserve(&other, "k", OnLapse::RunAgain).await;
    world.clock.advance(LEASE);
    *mine.engine().before_swap.lock().unwrap() = once(async move {
        let answer = Response::new(201).body("first").into();
        let completed = other.complete(&holder, &answer).await.unwrap();
        assert!(matches!(completed, Completion::Completed { .. }));
    });
    let Outcome::Replay(replay) = mine.reserve(&request("k")).await.unwrap() else {
        panic!("not replayed");
    };
    assert_eq!(replay.answer, Response::new(201).body("first").into());
}

#[tokio::test]
async fn b02_of_two_that_take_over_one_wins() {
    let world = World::<false>::default();
    let (mine, other) = (world.store(), world.store());
    reserve(&other, "k", OnLapse::RunAgain).await;
    world.clock.advance(LEASE);
    *mine.engine().before_swap.lock().unwrap() = once(async move {
        let outcome = other.reserve(&request("k")).await.unwrap();
        assert!(matches!(outcome, Outcome::Reserved { attempt: 2, .. }));
    });
    let outcome = mine.reserve(&request("k")).await.unwrap();
    let retry_after = Some(LEASE);
    assert_eq!(outcome, Outcome::Conflict { retry_after });
}

#[tokio::test]
async fn a_late_completion_does_not_bring_back_what_was_released() {
    let world = World::<false>::default();
    let (mine, other) = (world.store(), world.store());
    let holder = reserve(&other, "k", OnLapse::RunAgain).await;
    let same = holder.clone();
    *mine.engine().before_swap.lock().unwrap() = once(async move {
        assert_eq!(other.release(&same).await.unwrap(), Update::Done);
        reserve(&other, "k", OnLapse::RunAgain).await;
    });
    let answer = Response::new(201).into();
    let completed = mine.complete(&holder, &answer).await.unwrap();
    assert_eq!(completed, Completion::Superseded);
}

/// After a purge judged a record expired, it is reserved anew, or a renewal takes effect that was
/// judged in time.
async fn purged_meanwhile<const ORDERED: bool>(renewed: bool, just_read: bool) {
    let world = World::<ORDERED>::default();
    let (janitor, other) = (world.store(), world.store());
    let holder = reserve(&other, "k", OnLapse::RunAgain).await;
    world.clock.advance(RETENTION - MS);
    let (_, record) = world.data.records().remove(0);
    let now = world.clock.now();
    let (_, renewal) = machine::renew(Some(&record), &holder, terms(), None, now);
    let Change::Put(late) = renewal else {
        panic!("not renewed: {renewal:?}");
    };
    world.clock.advance(MS);
    let (data, key) = (Arc::clone(&world.data), record_key(&holder.record));
    let when = if just_read {
        &janitor.engine().after_read
    } else {
        &janitor.engine().before_swap
    };
    *when.lock().unwrap() = once(async move {
        if renewed {
            data.put(&key, &late.encode());
        } else {
            reserve(&other, "k", OnLapse::RunAgain).await;
        }
    });
    assert_eq!(janitor.purge_expired(10).await.unwrap().removed, 0);
    let outcome = janitor.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Conflict { .. }));
    if ORDERED {
        world.data.check();
    }
    world.clock.advance(RETENTION);
    assert_eq!(purge_all(&janitor).await, 1);
}

#[tokio::test]
async fn b24_b25_a_purge_does_not_remove_what_was_written_since_it_looked() {
    for renewed in [false, true] {
        for just_read in [false, true] {
            purged_meanwhile::<true>(renewed, just_read).await;
            purged_meanwhile::<false>(renewed, just_read).await;
        }
    }
}

#[tokio::test]
async fn what_lapsed_and_was_renewed_during_the_load_is_not_unresolved() {
    let world = World::<true>::default();
    let (mine, other) = (world.store(), world.store());
    let holder = reserve(&other, "k", OnLapse::Hold).await;
    other.renew(&holder, terms(), None).await.unwrap();
    world.clock.advance(LEASE / 2);
    let clock = world.clock.clone();
    *mine.engine().after_read.lock().unwrap() = once(async move {
        other.renew(&holder, terms(), None).await.unwrap();
        // The lease that was loaded is over; the one that stands is not.
        clock.advance(LEASE / 2);
    });
    let outcome = mine.reserve(&request("k")).await.unwrap();
    let retry_after = Some(LEASE / 2);
    assert_eq!(outcome, Outcome::Conflict { retry_after });
}

#[tokio::test]
async fn a_lost_answer_is_passed_on_and_a_resend_finds_its_own_work() {
    for lost in [LostAnswer::Applied, LostAnswer::NotApplied] {
        let world = World::<true>::default();
        let store = world.store();
        let lose = || *store.engine().lose.lock().unwrap() = Some(lost);
        let assert_lost = |error: Error| {
            assert!(error.is_transient());
            assert_eq!(error.applied(), Applied::Unknown);
        };

        let request = request("k");
        lose();
        assert_lost(store.reserve(&request).await.unwrap_err());
        let again = store.reserve(&request).await.unwrap();
        assert!(matches!(again, Outcome::Reserved { attempt: 1, .. }));

        let holder = Holder::new(record("k"), request.token, 1);
        lose();
        assert_lost(store.renew(&holder, terms(), None).await.unwrap_err());
        let again = store.renew(&holder, terms(), None).await.unwrap();
        assert_eq!(again, Update::Done);

        let answer = Response::new(201).body("mine").into();
        lose();
        assert_lost(store.complete(&holder, &answer).await.unwrap_err());
        match store.complete(&holder, &answer).await.unwrap() {
            Completion::Completed { .. } => assert!(matches!(lost, LostAnswer::NotApplied)),
            Completion::AlreadyCompleted(replay) => assert_eq!(replay.answer, answer),
            Completion::Superseded => panic!("superseded by itself"),
        }
        world.data.check();
    }
}

#[tokio::test]
async fn a_call_that_fails_before_it_writes_its_record_was_not_applied() {
    // A reserve on an ordered engine: load, two entries, the record.
    for calls in 0..3 {
        let world = World::<true>::default();
        let store = world.store_in(world.engine().dying_in(calls));
        let error = store.reserve(&request("k")).await.unwrap_err();
        assert_eq!(error.applied(), Applied::No);
        assert!(world.data.records().is_empty());
    }
}

/// Says `Lost` to everything.
struct Liar;

#[async_trait::async_trait]
impl CompareAndSwap for Liar {
    type Version = ();
    const ORDERED: bool = false;

    async fn load(&self, _: &[u8]) -> Result<Option<Stored<()>>, Error> {
        Ok(None)
    }

    async fn swap(&self, _: &[u8], _: Option<&()>, _: Option<&[u8]>) -> Result<Swapped, Error> {
        Ok(Swapped::Lost)
    }

    async fn scan(&self, _: &[u8], _: usize) -> Result<Vec<(Vec<u8>, Stored<()>)>, Error> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn an_engine_that_refuses_for_ever_does_not_hang_its_callers() {
    let store = CasStore::new(Liar, ManualClock::new());
    let error = store.reserve(&request("k")).await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(error.applied(), Applied::No);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with(&MOST_RACES.to_string()), "{source}");
}

#[tokio::test]
async fn handles_by_reference_and_pointer_are_engines_too() {
    let world = World::<true>::default();
    let engine = Arc::new(world.engine());
    let first = CasStore::new(Arc::clone(&engine), world.clock.clone());
    let second = CasStore::new(Box::new(&*engine), world.clock.clone());
    let holder = reserve(&first, "k", OnLapse::RunAgain).await;
    let info = second.get(&holder.record).await.unwrap().unwrap();
    assert!(matches!(info.condition, Condition::Live { .. }));
    world.clock.advance(RETENTION);
    assert_eq!(purge_all(&second).await, 1);
}
