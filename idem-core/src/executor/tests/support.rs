//! What the tests of the executor share: a clock that follows tokio's, a counted effect, and a future
//! that is dropped after so many polls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, sleep}; // why: under paused time only

use super::faults::FaultyStore;
use crate::{
    Builder, Clock, Error, Executed, Fingerprint, Idempotency, Inspect, Key, Operation, RecordInfo,
    Reservation, Response, Scope, Timestamp,
};

pub(super) const LEASE: Duration = Duration::from_secs(60);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A store's clock that is tokio's: under paused time both move together.
#[derive(Debug)]
pub(super) struct TokioClock(Instant);

impl TokioClock {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.elapsed().as_millis() as u64)
    }
}

/// An operation; all that have the same key are the same.
pub(super) fn operation(key: &str) -> Operation {
    asking(key, "150.00")
}

/// An operation that asks for something.
pub(super) fn asking(key: &str, what: &str) -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new(key).unwrap(),
        Fingerprint::raw(what),
    )
}

/// A store, an executor over it, and how often the effect happened.
pub(super) struct World {
    pub(super) store: FaultyStore,
    pub(super) idempotency: Idempotency,
    pub(super) effects: Arc<Effects>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(super) fn with(settings: impl FnOnce(Builder) -> Builder) -> Self {
        let store = FaultyStore::new();
        let idempotency = settings(Idempotency::builder(store.clone()))
            .build()
            .unwrap();
        Self {
            store,
            idempotency,
            effects: Arc::default(),
        }
    }

    /// Another process on the same store, with settings of its own.
    pub(super) fn another(&self, settings: impl FnOnce(Builder) -> Builder) -> Self {
        Self {
            store: self.store.clone(),
            idempotency: settings(Idempotency::builder(self.store.clone()))
                .build()
                .unwrap(),
            effects: Arc::clone(&self.effects),
        }
    }

    /// A request whose handler has its effect and answers `answer`.
    pub(super) async fn pay(&self, key: &str, answer: &'static str) -> Executed {
        self.try_pay(key, answer).await.unwrap()
    }

    pub(super) async fn try_pay(
        &self,
        key: &str,
        answer: &'static str,
    ) -> Result<Executed, crate::ExecuteError<Error>> {
        let effects = Arc::clone(&self.effects);
        let handler = move |_: Reservation| async move {
            effects.happen();
            Ok(Response::new(201).body(answer))
        };
        self.idempotency.execute(&operation(key), handler).await
    }

    /// A request whose handler has its effect and then takes so long.
    pub(super) async fn pay_slowly(&self, takes: Duration, answer: &'static str) -> Executed {
        let handler = async |_: Reservation| {
            self.effects.happen();
            sleep(takes).await;
            Ok::<_, Error>(Response::new(201).body(answer))
        };
        let executed = self.idempotency.execute(&operation("k"), handler).await;
        executed.unwrap()
    }

    pub(super) async fn record(&self, key: &str) -> Option<RecordInfo> {
        self.store
            .inner()
            .get(&operation(key).record)
            .await
            .unwrap()
    }
}

/// Counts the runs of an effect that nothing deduplicates.
#[derive(Default)]
pub(super) struct Effects(AtomicUsize);

impl Effects {
    pub(super) fn happen(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

pub(super) fn body(executed: &Executed) -> &str {
    let response = executed
        .response()
        .unwrap_or_else(|| panic!("no response: {executed:?}"));
    std::str::from_utf8(response.body_bytes()).unwrap()
}

pub(super) fn is_ran(executed: &Executed) -> bool {
    matches!(executed, Executed::Ran { .. })
}

pub(super) fn is_replayed(executed: &Executed) -> bool {
    matches!(executed, Executed::Replayed(_))
}

/// Polls a future so many times, then drops it at the await point where it stands. `None`: it was
/// dropped.
pub(super) async fn dropped_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    DroppedAfter {
        polls,
        future: Some(Box::pin(future)),
    }
    .await
}

struct DroppedAfter<F> {
    polls: usize,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for DroppedAfter<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            self.future = None;
            return Poll::Ready(None);
        }
        self.polls -= 1;
        let Some(future) = &mut self.future else {
            return Poll::Ready(None);
        };
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.polls == 0 => {
                self.future = None;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
