//! Many callers at once: R2, R3, R5, R10, C2.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use idem_core::{Completion, Outcome, ReserveRequest};
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinSet;

use crate::Harness;
use crate::check::{assert_already_completed, assert_completed, assert_replay, assert_reserved};
use crate::fixture::{
    HOUR, a_mismatch, a_try, abandon, answer, ask, complete, holder, release, reserve,
};

/// What each of the callers gets, who all begin at one instant.
pub(super) async fn at_once<T, F>(calls: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let calls: Vec<F> = calls.into_iter().collect();
    let barrier = Arc::new(Barrier::new(calls.len()));
    let mut callers = JoinSet::new();
    for call in calls {
        let barrier = Arc::clone(&barrier);
        callers.spawn(async move {
            barrier.wait().await;
            call.await
        });
    }
    callers.join_all().await
}

/// What both get, who begin at one instant. Which of them is let through first changes from round to
/// round, for runtimes of one thread.
pub(super) async fn both_at_once<A, B>(
    round: usize,
    one: impl Future<Output = A> + Send + 'static,
    other: impl Future<Output = B> + Send + 'static,
) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
{
    let (one_goes, one_is_done) = side(one);
    let (other_goes, other_is_done) = side(other);
    let sides = if round.is_multiple_of(2) {
        [one_goes, other_goes]
    } else {
        [other_goes, one_goes]
    };
    at_once(sides).await;
    let gone = "a side that ended";
    (
        one_is_done.await.expect(gone),
        other_is_done.await.expect(gone),
    )
}

type Side = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A call without its outcome, and where that goes.
fn side<T: Send + 'static>(
    call: impl Future<Output = T> + Send + 'static,
) -> (Side, oneshot::Receiver<T>) {
    let (send, receive) = oneshot::channel();
    let side = Box::pin(async move {
        // Who asks for it waits for all sides first.
        let _ = send.send(call.await);
    });
    (side, receive)
}

/// What each of these tries gets, all sent at one instant.
async fn tries_at_once(
    harness: &dyn Harness,
    tries: impl IntoIterator<Item = ReserveRequest>,
) -> Vec<(ReserveRequest, Outcome)> {
    at_once(tries.into_iter().map(|request| {
        let store = harness.store();
        async move {
            let outcome = ask(&*store, &request).await;
            (request, outcome)
        }
    }))
    .await
}

/// Exactly one is given this attempt, the others are in conflict with it.
#[track_caller]
fn assert_one_winner(outcomes: &[(ReserveRequest, Outcome)], attempt: u32) -> &ReserveRequest {
    let won = |outcome: &Outcome| matches!(outcome, Outcome::Reserved { .. });
    let winners: Vec<_> = outcomes.iter().filter(|(_, o)| won(o)).collect();
    assert_eq!(
        winners.len(),
        1,
        "of {} callers: {winners:?}",
        outcomes.len()
    );
    let (winner, outcome) = winners[0];
    let as_expected =
        matches!(outcome, Outcome::Reserved { attempt: seen, .. } if *seen == attempt);
    assert!(as_expected, "expected attempt {attempt}, got {outcome:?}");
    for (_, outcome) in outcomes.iter().filter(|(_, outcome)| !won(outcome)) {
        let in_conflict = matches!(
            outcome,
            Outcome::Conflict {
                retry_after: Some(_)
            }
        );
        assert!(in_conflict, "a loser got {outcome:?}");
    }
    winner
}

/// R2
pub async fn r2_of_many_at_once_exactly_one_wins(harness: &dyn Harness) {
    for (callers, rounds) in [(2, 50), (20, 20), (100, 5)] {
        for round in 0..rounds {
            let key = format!("{callers}-{round}");
            let outcomes = tries_at_once(harness, (0..callers).map(|_| a_try(&key))).await;
            let winner = assert_one_winner(&outcomes, 1);
            // And the winner does hold it.
            let completed = complete(&*harness.store(), &holder(winner, 1), &key).await;
            assert_completed(&completed);
        }
    }
}

/// R2
pub async fn r2_also_where_a_record_was_released_or_expired(harness: &dyn Harness) {
    let store = &*harness.store();
    for _ in 0..10 {
        let first = reserve(store, &a_try("k")).await;
        release(store, &first).await;
        let outcomes = tries_at_once(harness, (0..20).map(|_| a_try("k"))).await;
        assert_one_winner(&outcomes, 1);
        harness.advance(9 * HOUR).await;
        let outcomes = tries_at_once(harness, (0..20).map(|_| a_try("k"))).await;
        let winner = assert_one_winner(&outcomes, 1);
        release(store, &holder(winner, 1)).await;
    }
}

/// R2
pub async fn r2_of_two_payloads_exactly_one_wins(harness: &dyn Harness) {
    for round in 0..20 {
        let key = format!("{round}");
        let tries = (0..20).map(|n| {
            if n % 2 == 0 {
                a_try(&key)
            } else {
                a_mismatch(&key)
            }
        });
        let outcomes = tries_at_once(harness, tries).await;
        let won = |outcome: &Outcome| matches!(outcome, Outcome::Reserved { attempt: 1, .. });
        let winners: Vec<_> = outcomes.iter().filter(|(_, o)| won(o)).collect();
        assert_eq!(winners.len(), 1, "of twenty callers: {winners:?}");
        let (winner, _) = winners[0];
        for (loser, outcome) in outcomes.iter().filter(|(_, outcome)| !won(outcome)) {
            let same = loser.operation.fingerprint == winner.operation.fingerprint;
            match outcome {
                Outcome::Conflict {
                    retry_after: Some(_),
                } if same => {}
                Outcome::Mismatch if !same => {}
                other => panic!("asking for the same: {same}, a loser got {other:?}"),
            }
        }
    }
}

/// R2
pub async fn r2_many_operations_at_once_do_not_meet(harness: &dyn Harness) {
    let keys: Vec<String> = (0..20).map(|n| format!("order-{n}")).collect();
    let tries = (0..5).flat_map(|_| keys.iter().map(|key| a_try(key)));
    let outcomes = tries_at_once(harness, tries.collect::<Vec<_>>()).await;
    for key in &keys {
        let of_key = |(request, _): &&(ReserveRequest, Outcome)| {
            request.operation.record.key.as_str() == key
        };
        let outcomes: Vec<_> = outcomes.iter().filter(of_key).cloned().collect();
        assert_eq!(outcomes.len(), 5);
        assert_one_winner(&outcomes, 1);
    }
}

/// R3
pub async fn r3_not_one_of_thousands_is_given_a_live_lease(harness: &dyn Harness) {
    // If one grant in a thousand were wrong, 14 000 tries would miss it less than once in a million.
    let winner = a_try("k");
    reserve(&*harness.store(), &winner).await;
    let callers = (0..20).map(|_| {
        let store = harness.store();
        async move {
            for n in 0..700 {
                let outcome = ask(&*store, &a_try("k")).await;
                let in_conflict = matches!(outcome, Outcome::Conflict { .. });
                assert!(in_conflict, "try {n} of a caller got {outcome:?}");
            }
        }
    });
    at_once(callers).await;
    let completed = complete(&*harness.store(), &holder(&winner, 1), "paid").await;
    assert_completed(&completed);
}

/// R5
pub async fn r5_of_many_takers_exactly_one_wins(harness: &dyn Harness) {
    let store = &*harness.store();
    for (n, how) in ["lapsed", "abandoned"].iter().cycle().take(20).enumerate() {
        let key = format!("{how} {n}");
        let first = reserve(store, &a_try(&key)).await;
        harness.advance(2 * HOUR).await;
        if *how == "abandoned" {
            abandon(store, &first).await;
        }
        let outcomes = tries_at_once(harness, (0..20).map(|_| a_try(&key))).await;
        let winner = assert_one_winner(&outcomes, 2);
        assert_completed(&complete(store, &holder(winner, 2), &key).await);
        assert_replay(&ask(store, &a_try(&key)).await, &answer(&key));
    }
}

/// R10
pub async fn r10_many_copies_of_one_try_are_one_reservation(harness: &dyn Harness) {
    let store = &*harness.store();
    for round in 0..10 {
        let key = format!("{round}");
        for attempt in [1, 2] {
            let one = a_try(&key);
            let outcomes = tries_at_once(harness, (0..20).map(|_| one.clone().resent())).await;
            for (_, outcome) in &outcomes {
                assert_reserved(outcome, attempt);
            }
            abandon(store, &holder(&one, attempt)).await;
        }
    }
}

/// C2
pub async fn c2_of_many_answers_exactly_one_stands(harness: &dyn Harness) {
    for round in 0..10 {
        let key = format!("{round}");
        let holder = reserve(&*harness.store(), &a_try(&key)).await;
        let completions = at_once((0..20).map(|n| {
            let (store, holder) = (harness.store(), holder.clone());
            async move { (n, complete(&*store, &holder, &format!("{n}")).await) }
        }))
        .await;
        let recorded = |completion: &Completion| matches!(completion, Completion::Completed { .. });
        let winners: Vec<_> = completions.iter().filter(|(_, c)| recorded(c)).collect();
        assert_eq!(winners.len(), 1, "of twenty answers: {winners:?}");
        let stands = answer(&winners[0].0.to_string());
        for (_, completion) in completions.iter().filter(|(_, c)| !recorded(c)) {
            assert_already_completed(completion, &stands);
        }
        assert_replay(&ask(&*harness.store(), &a_try(&key)).await, &stands);
    }
}
