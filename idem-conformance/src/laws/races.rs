//! Two at one instant who each want something else: a holder whose lease has lapsed and who takes over
//! from it, a holder's own calls, a purge and who reserves.

use std::sync::Arc;

use idem_core::{Completion, Holder, Inspect, Outcome, ReserveRequest, Update};
use tokio::task::JoinSet;

use super::concurrency::both_at_once;
use crate::check::{
    assert_completed, assert_conflict, assert_replay, assert_reserved,
    assert_update_finds_it_completed,
};
use crate::fixture::{
    HOUR, a_try, abandon, answer, ask, complete, holder, lease, look, release, renew, reserve,
};
use crate::{Harness, Store};

const ROUNDS: usize = 50;

/// One lapsed reservation a round, each of its own operation.
async fn lapsed(harness: &dyn Harness) -> Vec<(String, Holder)> {
    let held = held(harness).await;
    harness.advance(2 * HOUR).await;
    held
}

/// One live reservation a round, each of its own operation.
async fn held(harness: &dyn Harness) -> Vec<(String, Holder)> {
    let mut held = Vec::new();
    for round in 0..ROUNDS {
        let key = format!("{round}");
        let holder = reserve(&*harness.store(), &a_try(&key)).await;
        held.push((key, holder));
    }
    held
}

async fn taking(store: Arc<dyn Store>, request: ReserveRequest) -> Outcome {
    ask(&*store, &request).await
}

/// C3
pub async fn c3_a_late_completion_and_a_takeover_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    for (key, first) in lapsed(harness).await {
        let (writing, other) = (harness.store(), a_try(&key));
        let completing = async move { complete(&*writing, &first, "the first's").await };
        let (told, taken) = both_at_once(completing, taking(harness.store(), other.clone())).await;
        match (told, taken) {
            (Completion::Completed { .. }, Outcome::Replay(replay)) => {
                assert_eq!(replay.answer, answer("the first's"));
                assert_replay(&ask(store, &a_try(&key)).await, &answer("the first's"));
            }
            (Completion::Superseded, Outcome::Reserved { attempt: 2, .. }) => {
                let second = holder(&other, 2);
                assert_completed(&complete(store, &second, "the second's").await);
                assert_replay(&ask(store, &a_try(&key)).await, &answer("the second's"));
            }
            both => panic!("the holder and the taker were told {both:?}"),
        }
    }
}

/// C6
pub async fn c6_a_late_renewal_and_a_takeover_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    for (key, first) in lapsed(harness).await {
        let (writing, renewing, other) = (harness.store(), first.clone(), a_try(&key));
        let renewing = async move { renew(&*writing, &renewing).await };
        let holding = match both_at_once(renewing, taking(harness.store(), other.clone())).await {
            (Update::Done, outcome) => {
                assert_conflict(&outcome, lease(1));
                first
            }
            (Update::Superseded, Outcome::Reserved { attempt: 2, .. }) => holder(&other, 2),
            both => panic!("the holder and the taker were told {both:?}"),
        };
        assert_completed(&complete(store, &holding, "paid").await);
    }
}

/// C7
pub async fn c7_a_late_abandonment_takes_nothing_from_a_taker(harness: &dyn Harness) {
    let store = &*harness.store();
    for (key, first) in lapsed(harness).await {
        let (writing, other) = (harness.store(), a_try(&key));
        let abandoning = async move { abandon(&*writing, &first).await };
        let (told, taken) = both_at_once(abandoning, taking(harness.store(), other.clone())).await;
        // Taken over in either order: what lapsed, or what was abandoned.
        assert!(
            matches!(told, Update::Done | Update::Superseded),
            "{told:?}"
        );
        assert_reserved(&taken, 2);
        assert_conflict(&ask(store, &a_try(&key)).await, lease(1));
        assert_completed(&complete(store, &holder(&other, 2), "paid").await);
    }
}

/// C8
pub async fn c8_a_late_release_takes_nothing_from_a_taker(harness: &dyn Harness) {
    let store = &*harness.store();
    for (key, first) in lapsed(harness).await {
        let (writing, other) = (harness.store(), a_try(&key));
        let releasing = async move { release(&*writing, &first).await };
        let attempt = match both_at_once(releasing, taking(harness.store(), other.clone())).await {
            (Update::Done, Outcome::Reserved { attempt: 1, .. }) => 1,
            (Update::Superseded, Outcome::Reserved { attempt: 2, .. }) => 2,
            both => panic!("the holder and the taker were told {both:?}"),
        };
        assert_conflict(&ask(store, &a_try(&key)).await, lease(1));
        assert_completed(&complete(store, &holder(&other, attempt), "paid").await);
    }
}

/// C5
pub async fn c5_a_completion_and_a_release_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    for (key, first) in held(harness).await {
        let (one, another) = (harness.store(), harness.store());
        let (completing, releasing) = (first.clone(), first.clone());
        let completing = async move { complete(&*one, &completing, "paid").await };
        let releasing = async move { release(&*another, &releasing).await };
        match both_at_once(completing, releasing).await {
            (Completion::Completed { .. }, told) => {
                assert_update_finds_it_completed(&told, &answer("paid"));
                assert_replay(&ask(store, &a_try(&key)).await, &answer("paid"));
            }
            (Completion::Superseded, Update::Done) => {
                assert_eq!(look(store, &first.record).await, None);
                assert_reserved(&ask(store, &a_try(&key)).await, 1);
            }
            both => panic!("the completion and the release were told {both:?}"),
        }
    }
}

/// Renews and abandons at one instant; gives the keys.
async fn renewed_beside_their_abandonment(harness: &dyn Harness) -> Vec<String> {
    let store = &*harness.store();
    let mut keys = Vec::new();
    for (key, first) in held(harness).await {
        let (one, another) = (harness.store(), harness.store());
        let (renewing, abandoning) = (first.clone(), first.clone());
        let renewing = async move { renew(&*one, &renewing).await };
        let abandoning = async move { abandon(&*another, &abandoning).await };
        let (renewed, abandoned) = both_at_once(renewing, abandoning).await;
        assert!(
            matches!(renewed, Update::Done | Update::Superseded),
            "{renewed:?}"
        );
        assert_eq!(abandoned, Update::Done);
        assert_eq!(renew(store, &first).await, Update::Superseded);
        keys.push(key);
    }
    keys
}

/// C7
pub async fn c7_a_renewal_beside_it_does_not_undo_an_abandonment(harness: &dyn Harness) {
    for key in renewed_beside_their_abandonment(harness).await {
        assert_reserved(&ask(&*harness.store(), &a_try(&key)).await, 2);
    }
}

/// C7, for stores behind marks
pub async fn c7_a_renewal_beside_it_delays_an_abandonment_by_a_mark(harness: &dyn Harness) {
    let keys = renewed_beside_their_abandonment(harness).await;
    harness.advance(super::cached::LONGEST_MARK).await;
    for key in keys {
        assert_reserved(&ask(&*harness.store(), &a_try(&key)).await, 2);
    }
}

/// P1
pub async fn p1_a_purge_beside_reserves_takes_nothing_from_them(harness: &dyn Harness) {
    for _ in 0..5 {
        let store = harness.store();
        for n in 0..40 {
            reserve(&*store, &a_try(&format!("{n}"))).await;
        }
        harness.advance(9 * HOUR).await;
        let mut tasks = JoinSet::new();
        for part in 0..4 {
            tasks.spawn(purge_bit_by_bit(harness.store()));
            let store = harness.store();
            tasks.spawn(async move {
                for n in (part..40).step_by(4) {
                    reserve_and_keep(&*store, &format!("{n}")).await;
                }
            });
        }
        tasks.join_all().await;
        for n in 0..40 {
            let replay = ask(&*store, &a_try(&format!("{n}"))).await;
            assert_replay(&replay, &answer("kept"));
        }
        harness.advance(9 * HOUR).await;
    }
}

async fn purge_bit_by_bit(store: Arc<dyn Store>) {
    for _ in 0..20 {
        store.purge_expired(3).await.expect("purge");
        tokio::task::yield_now().await;
    }
}

async fn reserve_and_keep(store: &dyn Store, key: &str) {
    let holder = reserve(store, &a_try(key)).await;
    assert_eq!(holder.attempt, 1, "it had expired");
    tokio::task::yield_now().await;
    assert_eq!(renew(store, &holder).await, Update::Done, "of {key}");
    tokio::task::yield_now().await;
    assert_completed(&complete(store, &holder, "kept").await);
}
