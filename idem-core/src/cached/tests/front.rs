//! A cache before transactions: what it is told, and what it answers then.

use std::sync::Arc;
use std::time::Duration;

use super::support::{Failing, LEASE, SECOND, answer, nodes, operation, request};
use crate::{Cache, CacheFront, Cached, Outcome, Replay, ReserveRequest};

const RETENTION: Duration = Duration::from_secs(24 * 3600);

async fn begin(front: &CacheFront, request: &ReserveRequest) {
    assert_eq!(front.look_up(&request.operation).await, None);
    front.reserved(request, Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_a_conflict_then_nothing_then_its_answer() {
    let nodes = nodes();
    let (front, other) = (nodes.a.front(), nodes.b.front());
    let request = request("k");
    begin(&front, &request).await;
    let conflict = other.look_up(&request.operation).await;
    assert!(
        matches!(conflict, Some(Outcome::Conflict { retry_after: Some(hint) }) if hint <= SECOND)
    );
    assert_eq!(other.look_up(&operation("k", "9.99")).await, None);
    front.ends(&request.operation.record).await;
    assert_eq!(other.look_up(&request.operation).await, None);
    let (paid, elapsed) = (answer("paid"), 3 * SECOND);
    front
        .committed(&request.operation, &paid, RETENTION, elapsed)
        .await;
    let Some(Outcome::Replay(replay)) = other.look_up(&request.operation).await else {
        panic!("no replay")
    };
    assert_eq!(replay.answer, paid);
    assert_eq!(replay.remembered_for, RETENTION / 2 - elapsed);
    assert_eq!(other.look_up(&operation("k", "9.99")).await, None);
    assert_eq!(nodes.store.reserves(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_mark_lasts_no_longer_than_what_is_left_of_the_lease() {
    let nodes = nodes();
    let front = nodes.a.marks(LEASE).front();
    let request = request("k");
    let left = 2 * SECOND;
    front.reserved(&request, LEASE - left).await;
    let conflict = front.look_up(&request.operation).await;
    assert!(
        matches!(conflict, Some(Outcome::Conflict { retry_after: Some(hint) }) if hint == left)
    );
    nodes.clock.advance(left);
    assert_eq!(front.look_up(&request.operation).await, None);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_not_refused_and_refuses_nobody() {
    let nodes = nodes();
    let (marks, waits) = (nodes.a.front(), nodes.a.front().without_marks());
    begin(&waits, &request("unmarked")).await;
    assert_eq!(marks.look_up(&operation("unmarked", "150.00")).await, None);
    begin(&marks, &request("marked")).await;
    let operation = operation("marked", "150.00");
    assert_eq!(waits.look_up(&operation).await, None);
    marks
        .committed(&operation, &answer("paid"), RETENTION, SECOND)
        .await;
    assert!(matches!(
        waits.look_up(&operation).await,
        Some(Outcome::Replay(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn what_the_store_replayed_is_kept_for_half_of_its_time() {
    let nodes = nodes();
    let (front, operation) = (nodes.a.front(), operation("k", "150.00"));
    let replay = Replay {
        answer: answer("paid"),
        remembered_for: RETENTION,
    };
    front.replayed(&operation, &replay, SECOND).await;
    let Some(Outcome::Replay(kept)) = nodes.b.front().look_up(&operation).await else {
        panic!("no replay")
    };
    assert_eq!(kept.answer, replay.answer);
    assert_eq!(kept.remembered_for, RETENTION / 2 - SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_away_is_passed_over_behind_any_pointer() {
    let nodes = nodes();
    let shared: Arc<dyn Cache> = Arc::new(nodes.cache.clone());
    assert!(shared.is_shared());
    let front = Cached::new((), shared).front();
    for failing in [Failing::Down, Failing::Slow] {
        nodes.cache.fail(failing);
        let request = request("k");
        begin(&front, &request).await;
        front.ends(&request.operation.record).await;
        front
            .committed(&request.operation, &answer("paid"), RETENTION, SECOND)
            .await;
        assert_eq!(front.look_up(&request.operation).await, None);
    }
    nodes.cache.fail(Failing::Not);
    begin(&front, &request("k")).await;
    assert!(front.look_up(&operation("k", "150.00")).await.is_some());
}
