//! What the cache answers by itself, and what it leaves to the store.

use super::support::{LEASE, SECOND, answer, holder, nodes, operation, request};
use crate::{IdempotencyStore, Outcome, Replay, ReserveRequest, Resolution, Terms, Token, resolve};

#[tokio::test(start_paused = true)]
async fn repeats_of_a_completed_operation_do_not_reach_the_store() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes
        .a
        .complete(&holder(&first), &answer("paid"))
        .await
        .unwrap();
    for _ in 0..20 {
        let outcome = nodes.b.reserve(&request("k")).await.unwrap();
        assert!(matches!(outcome, Outcome::Replay(replay) if replay.answer == answer("paid")));
    }
    assert_eq!(nodes.store.reserves(), 1);
}

#[tokio::test(start_paused = true)]
async fn rapid_repeats_of_an_operation_in_flight_are_refused_while_a_mark_lasts() {
    let nodes = nodes();
    nodes.a.reserve(&request("k")).await.unwrap();
    for _ in 0..20 {
        let outcome = nodes.b.reserve(&request("k")).await.unwrap();
        assert_eq!(
            outcome,
            Outcome::Conflict {
                retry_after: Some(SECOND)
            }
        );
    }
    assert_eq!(nodes.store.reserves(), 1);
    nodes.clock.advance(SECOND);
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert_eq!(
        outcome,
        Outcome::Conflict {
            retry_after: Some(LEASE - SECOND)
        }
    );
    assert_eq!(nodes.store.reserves(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mark_is_gone_before_its_reservation_ends() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes.a.abandon(&holder(&first)).await.unwrap();
    let second = request("k");
    let outcome = nodes.b.reserve(&second).await.unwrap();
    assert!(matches!(outcome, Outcome::Reserved { attempt: 2, .. }));
    nodes
        .b
        .release(&crate::Holder {
            attempt: 2,
            ..holder(&second)
        })
        .await
        .unwrap();
    let outcome = nodes.a.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_marks_again_and_only_if_the_store_renewed() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes.clock.advance(SECOND);
    nodes
        .a
        .renew(&holder(&first), Terms::default(), None)
        .await
        .unwrap();
    nodes.b.reserve(&request("k")).await.unwrap();
    assert_eq!(nodes.store.reserves(), 1);

    // Superseded: an operator settled it past the cache.
    let forget = Resolution::Forget;
    resolve(&nodes.store, &holder(&first), forget, "it hangs")
        .await
        .unwrap();
    nodes.clock.advance(SECOND);
    nodes
        .a
        .renew(&holder(&first), Terms::default(), None)
        .await
        .unwrap();
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Reserved { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_cache_never_says_mismatch_and_never_hides_one() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    let other = || ReserveRequest::new(operation("k", "1.00"), Token::random(), Terms::default());
    assert_eq!(nodes.b.reserve(&other()).await.unwrap(), Outcome::Mismatch);
    nodes
        .a
        .complete(&holder(&first), &answer("paid"))
        .await
        .unwrap();
    assert_eq!(nodes.b.reserve(&other()).await.unwrap(), Outcome::Mismatch);
    assert_eq!(nodes.store.reserves(), 3);
    assert_eq!(nodes.b.look_up(&operation("k", "1.00")).await, None);
}

#[tokio::test(start_paused = true)]
async fn one_s_own_mark_and_every_resend_go_to_the_store() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    let outcome = nodes.a.reserve(&first).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Reserved { attempt: 1, .. }),
        "law R10"
    );
    let outcome = nodes.b.reserve(&request("k").resent()).await.unwrap();
    assert!(matches!(outcome, Outcome::Conflict { .. }));
    assert_eq!(nodes.store.reserves(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_copy_lasts_for_half_of_what_the_store_remembers_and_never_overstates_it() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes
        .a
        .complete(&holder(&first), &answer("paid"))
        .await
        .unwrap();
    let retention = Terms::default().retention();
    for _ in 0..4 {
        let Outcome::Replay(Replay { remembered_for, .. }) =
            nodes.b.reserve(&request("k")).await.unwrap()
        else {
            panic!("not replayed")
        };
        let left = retention.saturating_sub(nodes.clock_elapsed());
        assert!(remembered_for <= left, "{remembered_for:?} of {left:?}");
        nodes.clock.advance(retention / 8);
    }
    assert_eq!(nodes.store.reserves(), 1);
    nodes.b.reserve(&request("k")).await.unwrap();
    assert_eq!(nodes.store.reserves(), 2, "the copy's time is over");
}

#[tokio::test(start_paused = true)]
async fn a_look_up_answers_without_the_store() {
    let nodes = nodes();
    let asked = operation("k", "150.00");
    assert_eq!(nodes.b.look_up(&asked).await, None);
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    let in_flight = nodes.b.look_up(&asked).await;
    assert_eq!(
        in_flight,
        Some(Outcome::Conflict {
            retry_after: Some(SECOND)
        })
    );
    nodes
        .a
        .complete(&holder(&first), &answer("paid"))
        .await
        .unwrap();
    assert!(matches!(
        nodes.b.look_up(&asked).await,
        Some(Outcome::Replay(_))
    ));
    assert_eq!(nodes.store.reserves(), 1);
}

impl super::support::Nodes {
    fn clock_elapsed(&self) -> std::time::Duration {
        std::time::Duration::from_millis(crate::Clock::now(&self.clock).as_millis())
    }
}

#[cfg(feature = "memory-cache")]
#[tokio::test(start_paused = true)]
async fn a_node_s_own_memory_replays_and_keeps_no_marks() {
    use crate::{Cached, ManualClock, MemoryCache};

    let clock = ManualClock::new();
    let store = super::support::Counted::new(&clock);
    let own = || {
        Cached::new(
            store.clone(),
            MemoryCache::with_clock(1 << 20, clock.clone()),
        )
    };
    let (a, b) = (own(), own());
    let first = request("k");
    a.reserve(&first).await.unwrap();
    // The other node cannot remove what this one would have marked: so nothing is marked.
    assert!(matches!(
        a.reserve(&request("k")).await.unwrap(),
        Outcome::Conflict { .. }
    ));
    assert_eq!(store.reserves(), 2);
    b.store().store.abandon(&holder(&first)).await.unwrap();
    let second = request("k");
    assert!(matches!(
        a.reserve(&second).await.unwrap(),
        Outcome::Reserved { attempt: 2, .. }
    ));
    let second = crate::Holder {
        attempt: 2,
        ..holder(&second)
    };
    a.complete(&second, &answer("paid")).await.unwrap();
    let before = store.reserves();
    for node in [&a, &b, &b] {
        assert!(matches!(
            node.reserve(&request("k")).await.unwrap(),
            Outcome::Replay(_)
        ));
    }
    assert_eq!(
        store.reserves(),
        before + 1,
        "only the first repeat on the other node"
    );
    clock.advance(Terms::default().retention());
    assert!(matches!(
        a.reserve(&request("k")).await.unwrap(),
        Outcome::Reserved { .. }
    ));
}

#[cfg(feature = "memory-cache")]
#[tokio::test(start_paused = true)]
async fn a_memory_cache_is_bounded_in_bytes() {
    use crate::{Cache, CacheKey, MemoryCache, RecordId};

    let cache = MemoryCache::new(100_000);
    for n in 0..10_000 {
        let operation = operation(&format!("{n}"), "x");
        let key = CacheKey::of(&RecordId::clone(&operation.record));
        cache.put(&key, vec![0; 300].into(), SECOND).await.unwrap();
    }
    assert!(format!("{cache:?}").contains("capacity: 100"), "{cache:?}");
    let weight = cache.weight();
    assert!(weight <= 110_000 && weight > 10_000, "{weight} bytes");
}
