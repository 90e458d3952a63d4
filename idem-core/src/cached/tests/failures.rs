//! A cache that is down, slow, flushed or damaged costs speed only, and a false conflict for as long
//! as a mark lasts.

use tokio::time::Instant;

use super::support::{Failing, SECOND, answer, holder, nodes, request};
use crate::{IdempotencyStore, Outcome};

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_away_costs_speed_only() {
    for failing in [Failing::Down, Failing::Slow] {
        let nodes = nodes();
        nodes.cache.fail(failing);
        let asked = Instant::now();
        let first = request("k");
        let outcome = nodes.a.reserve(&first).await.unwrap();
        assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
        let outcome = nodes.b.reserve(&request("k")).await.unwrap();
        assert!(matches!(outcome, Outcome::Conflict { .. }));
        nodes
            .a
            .complete(&holder(&first), &answer("paid"))
            .await
            .unwrap();
        let outcome = nodes.b.reserve(&request("k")).await.unwrap();
        assert!(matches!(outcome, Outcome::Replay(replay) if replay.answer == answer("paid")));
        assert!(
            asked.elapsed() < SECOND,
            "{failing:?}: {:?}",
            asked.elapsed()
        );
        assert_eq!(nodes.store.reserves(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_was_flushed_or_damaged_costs_speed_only() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes
        .a
        .complete(&holder(&first), &answer("paid"))
        .await
        .unwrap();
    nodes.cache.damage();
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(_)));
    nodes.cache.flush();
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(_)));
    assert_eq!(nodes.store.reserves(), 3);
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Replay(_)));
    assert_eq!(nodes.store.reserves(), 3, "copied again");
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_could_not_be_removed_is_a_conflict_until_it_ends() {
    let nodes = nodes();
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes.cache.fail(Failing::Down);
    nodes.a.release(&holder(&first)).await.unwrap();
    nodes.cache.fail(Failing::Not);
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Conflict { retry_after: Some(hint) } if hint <= SECOND));
    nodes.clock.advance(SECOND);
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
}

#[tokio::test(start_paused = true)]
async fn without_marks_there_is_no_false_conflict() {
    let mut nodes = nodes();
    nodes.a = nodes.a.marks(std::time::Duration::ZERO);
    let first = request("k");
    nodes.a.reserve(&first).await.unwrap();
    nodes.cache.fail(Failing::Down);
    nodes.a.release(&holder(&first)).await.unwrap();
    nodes.cache.fail(Failing::Not);
    let outcome = nodes.b.reserve(&request("k")).await.unwrap();
    assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
}
