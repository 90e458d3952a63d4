//! A store that loses requests and answers on request, and yields around every call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::yield_now;
use tokio::time::sleep; // why: under paused time only

use super::support::TokioClock;
use crate::{
    Answer, Completion, Error, Holder, IdempotencyStore, MemoryStore, Outcome, Progress, RecordId,
    ReserveRequest, Terms, Update,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Reserve,
    Complete,
    Renew,
    Abandon,
    Release,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// It never takes effect, and its caller is told that nobody knows.
    LoseRequest,
    /// It takes effect, and its caller is told that nobody knows.
    LoseAnswer,
    /// It never takes effect, and its caller is told so.
    Refuse,
    /// It takes effect at once, and its answer takes so long.
    DelayAnswer(Duration),
    /// It takes effect after so long, and so does its answer.
    DelayRequest(Duration),
    /// The answer to complete with is too large for this store.
    TooLarge,
}

/// A memory store behind an unreliable connection. Clones are the same store.
#[derive(Clone)]
pub(super) struct FaultyStore(Arc<Inner>);

struct Inner {
    store: MemoryStore,
    faults: Mutex<VecDeque<(Call, Fault)>>,
    /// Holds for every call of this kind, after the queued ones.
    always: Mutex<Option<(Call, Fault)>>,
    calls: Mutex<Vec<Call>>,
}

impl FaultyStore {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            store: MemoryStore::with_clock(TokioClock::new()),
            faults: Mutex::default(),
            always: Mutex::default(),
            calls: Mutex::default(),
        }))
    }

    /// The store itself, without faults.
    pub(super) fn inner(&self) -> &MemoryStore {
        &self.0.store
    }

    /// The next call of this kind fails so.
    pub(super) fn next(&self, call: Call, fault: Fault) {
        self.0.faults.lock().unwrap().push_back((call, fault));
    }

    /// Every call of this kind fails so, until [`heal`](Self::heal).
    pub(super) fn always(&self, call: Call, fault: Fault) {
        *self.0.always.lock().unwrap() = Some((call, fault));
    }

    pub(super) fn heal(&self) {
        *self.0.always.lock().unwrap() = None;
    }

    /// The calls so far, in order of arrival.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.0.calls.lock().unwrap().clone()
    }

    fn fault(&self, call: Call) -> Option<Fault> {
        self.0.calls.lock().unwrap().push(call);
        let mut faults = self.0.faults.lock().unwrap();
        if let Some(at) = faults.iter().position(|(of, _)| *of == call) {
            return faults.remove(at).map(|(_, fault)| fault);
        }
        let always = *self.0.always.lock().unwrap();
        always.filter(|(of, _)| *of == call).map(|(_, fault)| fault)
    }

    /// Carries a call out, with an await point before it takes effect and one after.
    async fn through<T>(
        &self,
        call: Call,
        effect: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let lost = || Err(Error::unknown_outcome("connection lost", "planted"));
        yield_now().await;
        match self.fault(call) {
            None => {
                let answer = effect.await;
                yield_now().await;
                answer
            }
            Some(Fault::LoseRequest) => lost(),
            Some(Fault::LoseAnswer) => {
                effect.await?;
                yield_now().await;
                lost()
            }
            Some(Fault::Refuse) => Err(Error::unavailable("connection refused", "planted")),
            Some(Fault::DelayAnswer(delay)) => {
                let answer = effect.await;
                sleep(delay).await;
                answer
            }
            Some(Fault::DelayRequest(delay)) => {
                sleep(delay).await;
                effect.await
            }
            Some(Fault::TooLarge) => Err(Error::too_large("response", 2, 1)),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for FaultyStore {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.through(Call::Reserve, self.0.store.reserve(request))
            .await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.through(Call::Complete, self.0.store.complete(holder, answer))
            .await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.through(Call::Renew, self.0.store.renew(holder, terms, progress))
            .await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.through(Call::Abandon, self.0.store.abandon(holder))
            .await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.through(Call::Release, self.0.store.release(holder))
            .await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.0.store.changed(record, within).await;
    }
}
