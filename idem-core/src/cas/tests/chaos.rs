//! Many tasks at once on an ordered engine that yields anywhere, while the clock jumps and walks come
//! past: the invariant of the indexes holds in the end, and everything that expires can leave.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{LEASE, RETENTION, World, all_lapsed, request, terms};
use crate::machine::expires_at;
use crate::test_support::effort;
use crate::{Clock, Holder, IdempotencyStore, Inspect, OnLapse, Outcome, Response};

/// Numbers from a seed, drawn by all tasks in turn: one thread, so each seed is one history.
struct Dice(AtomicU64);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.fetch_add(1, Ordering::SeqCst).hash(&mut hasher);
        hasher.finish() % sides
    }
}

async fn client(world: Arc<World<true>>, dice: Arc<Dice>, seed: usize) {
    let store = world.store_in(world.engine().yielding(seed));
    for _ in 0..6 {
        let on_lapse = [OnLapse::RunAgain, OnLapse::Hold][dice.roll(2) as usize];
        let request = request(format!("{}", dice.roll(3))).on_lapse(on_lapse);
        let Outcome::Reserved { attempt, .. } = store.reserve(&request).await.unwrap() else {
            continue;
        };
        let holder = Holder::new(request.operation.record, request.token, attempt);
        for _ in 0..dice.roll(3) {
            store.renew(&holder, terms(), None).await.unwrap();
        }
        match dice.roll(4) {
            0 => drop(
                store
                    .complete(&holder, &Response::new(201).into())
                    .await
                    .unwrap(),
            ),
            1 => drop(store.abandon(&holder).await.unwrap()),
            2 => drop(store.release(&holder).await.unwrap()),
            _ => {}
        }
    }
}

async fn walker(world: Arc<World<true>>, dice: Arc<Dice>, seed: usize) {
    let store = world.store_in(world.engine().yielding(seed));
    for _ in 0..10 {
        let now = world.clock.now();
        // Each walk by itself, without the patrol: it would heal what the indexes lost.
        match dice.roll(3) {
            0 => drop(store.purge_due(now, 2).await.unwrap()),
            1 => store.tidy_lapse(now, 2).await.unwrap(),
            _ => drop(store.lapsed(None, 2).await.unwrap()),
        }
    }
}

async fn time(world: Arc<World<true>>, dice: Arc<Dice>) {
    let steps = [Duration::ZERO, LEASE / 2, LEASE, RETENTION / 2, RETENTION];
    for _ in 0..20 {
        for _ in 0..dice.roll(8) {
            tokio::task::yield_now().await;
        }
        world.clock.advance(steps[dice.roll(5) as usize]);
    }
}

async fn history(seed: usize) {
    let world = Arc::new(World::<true>::default());
    let dice = Arc::new(Dice(AtomicU64::new(seed as u64 * 1_000_000)));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(time(Arc::clone(&world), Arc::clone(&dice)));
    for n in 1..4 {
        let seed = seed * 1_000_000 + n * 100_000;
        tasks.spawn(client(Arc::clone(&world), Arc::clone(&dice), seed));
        tasks.spawn(walker(Arc::clone(&world), Arc::clone(&dice), seed + 50_000));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    world.data.check();

    let store = world.store();
    world.clock.advance(RETENTION * 2);
    assert!(!store.purge_due(world.clock.now(), 100).await.unwrap().more);
    let left = world.data.records();
    assert!(left.iter().all(|(_, record)| expires_at(record).is_none()));
    assert_eq!(all_lapsed(&store, 2).await.len(), left.len());
}

#[tokio::test]
async fn the_indexes_stay_whole_whatever_meets() {
    for seed in 0..400 * effort() as usize {
        // Which one it was, if it fails.
        println!("seed {seed}");
        history(seed).await;
    }
}
