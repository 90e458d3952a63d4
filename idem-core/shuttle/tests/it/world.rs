//! What the models share: a store whose clock is the execution's time, callers, and what they saw.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use idem_core_shuttle::{
    Builder, Clock, Error, ExecuteError, Executed, Fingerprint, Idempotency, IdempotencyStore, Key,
    MemoryStore, OnConflict, Operation, Recorded, Reservation, Response, Scope, Timestamp,
};
use shuttle::rand::Rng as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const LEASE: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.elapsed().as_millis() as u64)
    }
}

pub(crate) fn memory() -> MemoryStore {
    MemoryStore::with_clock(TokioClock(Instant::now()))
}

pub(crate) fn operation() -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new("k").unwrap(),
        Fingerprint::raw("150.00"),
    )
}

/// An executor, and how often the effect happened.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) idempotency: Idempotency,
    pub(crate) effects: Arc<Effects>,
}

impl World {
    pub(crate) fn new(
        store: impl IdempotencyStore + 'static,
        settings: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        Self {
            idempotency: settings(Idempotency::builder(store)).build().unwrap(),
            effects: Arc::default(),
        }
    }

    /// A request whose handler has its effect, takes so long, and answers, with its attempt in front.
    pub(crate) async fn pay(&self, takes: Duration, answer: impl Into<String>) -> Executed {
        self.try_pay(takes, answer).await.unwrap()
    }

    pub(crate) async fn try_pay(
        &self,
        takes: Duration,
        answer: impl Into<String>,
    ) -> Result<Executed, ExecuteError<Error>> {
        let (effects, answer) = (Arc::clone(&self.effects), answer.into());
        let handler = async move |reservation: Reservation| {
            let attempt = reservation.attempt();
            effects.happen(attempt);
            pass(takes).await;
            Ok::<_, Error>(Response::new(201).body(format!("{attempt}:{answer}")))
        };
        self.idempotency.execute(&operation(), handler).await
    }

    /// So many callers at once, each in a task of its own.
    pub(crate) fn spawn<F>(
        &self,
        callers: usize,
        call: impl Fn(Self, usize) -> F,
    ) -> Vec<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let call = |n| tokio::task::spawn(call(self.clone(), n));
        (0..callers).map(call).collect()
    }

    /// All that goes on in the background has ended.
    pub(crate) async fn settle(&self) {
        let left = self.idempotency.drain(10 * LEASE).await;
        assert_eq!(left, 0, "left in the background");
    }
}

/// An await point, whether it takes time or not.
pub(crate) async fn pass(time: Duration) {
    if time.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(time).await; // why: it is the execution's own time
    }
}

pub(crate) async fn all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    outputs
}

pub(crate) fn waiting(up_to: Duration) -> impl Fn(Builder) -> Builder {
    move |builder| builder.on_conflict(OnConflict::Wait { up_to })
}

/// One of `0..below`, by shuttle's choice.
pub(crate) fn any(below: usize) -> usize {
    shuttle::rand::thread_rng().gen_range(0..below)
}

/// The runs of an effect that nothing deduplicates.
#[derive(Default)]
pub(crate) struct Effects {
    count: AtomicUsize,
    last_attempt: AtomicU32,
}

impl Effects {
    pub(crate) fn happen(&self, attempt: u32) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.last_attempt.fetch_max(attempt, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// The last attempt that began.
    pub(crate) fn last_attempt(&self) -> u32 {
        self.last_attempt.load(Ordering::SeqCst)
    }
}

pub(crate) fn body(executed: &Executed) -> &[u8] {
    executed
        .response()
        .unwrap_or_else(|| panic!("no response: {executed:?}"))
        .body_bytes()
}

pub(crate) fn is_completed(executed: &Executed) -> bool {
    let recorded = |recorded: &Recorded| matches!(recorded, Recorded::Completed { .. });
    matches!(executed, Executed::Ran { recorded: r, .. } if recorded(r))
}

pub(crate) fn is_replayed(executed: &Executed) -> bool {
    matches!(executed, Executed::Replayed(_))
}

pub(crate) fn is_conflict(executed: &Executed) -> bool {
    matches!(
        executed,
        Executed::Conflict {
            retry_after: Some(_)
        }
    )
}

/// Of one record, at most one answer is recorded, and every replay is that one.
pub(crate) fn one_answer<'a>(executed: impl IntoIterator<Item = &'a Executed>) {
    let rests_on_the_record = |one: &&Executed| is_completed(one) || is_replayed(one);
    let known: Vec<_> = executed.into_iter().filter(rests_on_the_record).collect();
    let recorded = known.iter().filter(|one| is_completed(one)).count();
    assert!(recorded <= 1, "so many answers were recorded: {recorded}");
    let same = known.windows(2).all(|pair| body(pair[0]) == body(pair[1]));
    assert!(same, "different answers: {known:?}");
}

/// Polls a future so many times, from once, then drops it at the await point where it stands.
pub(crate) async fn dropped_after<F: Future>(mut polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 1 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}
