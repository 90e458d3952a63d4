//! Two at one instant who each want something else: a holder whose lease has lapsed and who takes over
//! from it, a holder's own calls, a purge and who reserves.

use std::sync::Arc;

use idem_core::{Completion, Holder, Inspect, Outcome, ReserveRequest, Update};
use tokio::task::JoinSet;

use super::cached::LONGEST_MARK;
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

/// The reservation of a round, of an operation of its own, and the handle by which it was made.
struct Held {
    round: usize,
    key: String,
    holder: Holder,
    by: Arc<dyn Store>,
}

impl Held {
    /// What the holder and somebody else are told, who write and reserve at one instant.
    async fn beside_a_taker<T, F>(
        &self,
        harness: &dyn Harness,
        other: &ReserveRequest,
        write: impl FnOnce(Arc<dyn Store>, Holder) -> F,
    ) -> (T, Outcome)
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let writing = write(Arc::clone(&self.by), self.holder.clone());
        let (store, other) = (harness.store(), other.clone());
        let taking = async move { ask(&*store, &other).await };
        both_at_once(self.round, writing, taking).await
    }

    /// What the holder is told, who writes twice at one instant.
    async fn twice<A, B, F, G>(
        &self,
        one: impl FnOnce(Arc<dyn Store>, Holder) -> F,
        other: impl FnOnce(Arc<dyn Store>, Holder) -> G,
    ) -> (A, B)
    where
        A: Send + 'static,
        B: Send + 'static,
        F: Future<Output = A> + Send + 'static,
        G: Future<Output = B> + Send + 'static,
    {
        let one = one(Arc::clone(&self.by), self.holder.clone());
        let other = other(Arc::clone(&self.by), self.holder.clone());
        both_at_once(self.round, one, other).await
    }
}

/// Reservations that are live, one for each round.
async fn held(harness: &dyn Harness) -> Vec<Held> {
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        let (key, by) = (format!("{round}"), harness.store());
        let holder = reserve(&*by, &a_try(&key)).await;
        all.push(Held {
            round,
            key,
            holder,
            by,
        });
    }
    all
}

/// Reservations that have lapsed, one for each round.
async fn lapsed(harness: &dyn Harness) -> Vec<Held> {
    let held = held(harness).await;
    harness.advance(2 * HOUR).await;
    held
}

async fn complete_as(store: Arc<dyn Store>, holder: Holder, body: &'static str) -> Completion {
    complete(&*store, &holder, body).await
}

async fn renew_as(store: Arc<dyn Store>, holder: Holder) -> Update {
    renew(&*store, &holder).await
}

async fn abandon_as(store: Arc<dyn Store>, holder: Holder) -> Update {
    abandon(&*store, &holder).await
}

async fn release_as(store: Arc<dyn Store>, holder: Holder) -> Update {
    release(&*store, &holder).await
}

/// C3
pub async fn c3_a_late_completion_and_a_takeover_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    let completing = |store, holder| complete_as(store, holder, "the first's");
    for held in lapsed(harness).await {
        let other = a_try(&held.key);
        let stands = match held.beside_a_taker(harness, &other, completing).await {
            (Completion::Completed { .. }, outcome) => {
                assert_replay(&outcome, &answer("the first's"));
                "the first's"
            }
            (Completion::Superseded, Outcome::Reserved { attempt: 2, .. }) => {
                let second = holder(&other, 2);
                assert_completed(&complete(store, &second, "the second's").await);
                "the second's"
            }
            both => panic!("the holder and the taker were told {both:?}"),
        };
        assert_replay(&ask(store, &a_try(&held.key)).await, &answer(stands));
    }
}

/// C6
pub async fn c6_a_late_renewal_and_a_takeover_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    for held in lapsed(harness).await {
        let other = a_try(&held.key);
        let holding = match held.beside_a_taker(harness, &other, renew_as).await {
            (Update::Done, outcome) => {
                assert_conflict(&outcome, lease(1));
                held.holder
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
    for held in lapsed(harness).await {
        let other = a_try(&held.key);
        let (told, taken) = held.beside_a_taker(harness, &other, abandon_as).await;
        // Taken over in either order: what lapsed, or what was abandoned.
        let as_expected = matches!(told, Update::Done | Update::Superseded);
        assert!(as_expected, "the holder was told {told:?}");
        assert_reserved(&taken, 2);
        assert_conflict(&ask(store, &a_try(&held.key)).await, lease(1));
        assert_completed(&complete(store, &holder(&other, 2), "paid").await);
    }
}

/// C8
pub async fn c8_a_late_release_takes_nothing_from_a_taker(harness: &dyn Harness) {
    let store = &*harness.store();
    for held in lapsed(harness).await {
        let other = a_try(&held.key);
        let attempt = match held.beside_a_taker(harness, &other, release_as).await {
            (Update::Done, Outcome::Reserved { attempt: 1, .. }) => 1,
            (Update::Superseded, Outcome::Reserved { attempt: 2, .. }) => 2,
            both => panic!("the holder and the taker were told {both:?}"),
        };
        assert_conflict(&ask(store, &a_try(&held.key)).await, lease(1));
        assert_completed(&complete(store, &holder(&other, attempt), "paid").await);
    }
}

/// C5
pub async fn c5_a_completion_and_a_release_do_not_both_win(harness: &dyn Harness) {
    let store = &*harness.store();
    let completing = |store, holder| complete_as(store, holder, "paid");
    for held in held(harness).await {
        match held.twice(completing, release_as).await {
            (Completion::Completed { .. }, told) => {
                assert_update_finds_it_completed(&told, &answer("paid"));
                assert_replay(&ask(store, &a_try(&held.key)).await, &answer("paid"));
            }
            (Completion::Superseded, Update::Done) => {
                assert_eq!(look(store, &held.holder.record).await, None);
                assert_reserved(&ask(store, &a_try(&held.key)).await, 1);
            }
            both => panic!("the completion and the release were told {both:?}"),
        }
    }
}

/// Renews and abandons at one instant; gives the keys.
async fn renewed_beside_their_abandonment(harness: &dyn Harness) -> Vec<String> {
    let mut keys = Vec::new();
    for held in held(harness).await {
        let (renewed, abandoned) = held.twice(renew_as, abandon_as).await;
        let as_expected = matches!(renewed, Update::Done | Update::Superseded);
        assert!(as_expected, "the renewal was told {renewed:?}");
        assert_eq!(abandoned, Update::Done);
        let again = renew(&*held.by, &held.holder).await;
        assert_eq!(again, Update::Superseded, "it was abandoned");
        keys.push(held.key);
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
    let store = &*harness.store();
    let mut delayed = Vec::new();
    for key in renewed_beside_their_abandonment(harness).await {
        match ask(store, &a_try(&key)).await {
            Outcome::Reserved { attempt: 2, .. } => {}
            marked => {
                assert_conflict(&marked, LONGEST_MARK);
                delayed.push(key);
            }
        }
    }
    harness.advance(LONGEST_MARK).await;
    for key in delayed {
        assert_reserved(&ask(store, &a_try(&key)).await, 2);
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
