//! Stores that do one thing wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use idem_core_shuttle::{
    Answer, Completion, Error, Holder, IdempotencyStore, Inspect, MemoryStore, OnLapse, Outcome,
    Progress, RecordId, ReserveRequest, Terms, Update,
};
use shuttle::current::me;
use shuttle::scheduler::TaskId;
use tokio::task::yield_now;

use crate::world::{any, memory};

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Grants what it saw vacant a moment ago.
    GrantsTwice,
    /// Begins to watch one poll late.
    WatchesLate,
    /// The first look after a watch began tells what the look before it had seen. To the executor that
    /// is as if it did not look again.
    NoSecondLook,
    /// Says that it abandoned, and does not.
    LosesAbandon,
    /// Says that it renewed, and does not.
    LosesRenewal,
    /// Completes whoever holds the record.
    ForgetsTheToken,
    /// Takes over what was to be held.
    IgnoresHold,
    /// Does not know a token again that holds the record.
    ForgetsItsOwn,
}

/// A memory store with a fault. Clones are the same store.
#[derive(Clone)]
pub(crate) struct Faulty {
    store: MemoryStore,
    fault: Fault,
    looks: Arc<Mutex<HashMap<TaskId, Look>>>,
}

/// What a task saw last, and whether it began to watch after that.
struct Look {
    outcome: Outcome,
    watches: bool,
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        Self {
            store: memory(),
            fault,
            looks: Arc::default(),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

#[async_trait]
impl IdempotencyStore for Faulty {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        let mut request = request.clone();
        match self.fault {
            Fault::GrantsTwice => {
                let seen = self.store.get(&request.operation.record).await?;
                yield_now().await;
                let outcome = self.store.reserve(&request).await?;
                let granted = Outcome::Reserved {
                    attempt: 1,
                    progress: None,
                };
                return Ok(if seen.is_none() { granted } else { outcome });
            }
            Fault::NoSecondLook => {
                let stale = self.looks.lock().unwrap().remove(&me());
                if let Some(Look {
                    outcome,
                    watches: true,
                }) = stale
                {
                    return Ok(outcome);
                }
                let outcome = self.store.reserve(&request).await?;
                let look = Look {
                    outcome: outcome.clone(),
                    watches: false,
                };
                self.looks.lock().unwrap().insert(me(), look);
                return Ok(outcome);
            }
            Fault::IgnoresHold => request.on_lapse = OnLapse::RunAgain,
            Fault::ForgetsItsOwn => {
                let info = self.store.get(&request.operation.record).await?;
                if info.is_some_and(|info| info.holder.token == request.token) {
                    let retry_after = Some(request.terms.lease());
                    return Ok(Outcome::Conflict { retry_after });
                }
            }
            _ => {}
        }
        self.store.reserve(&request).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        let mut holder = holder.clone();
        if self.has(Fault::ForgetsTheToken)
            && let Some(info) = self.store.get(&holder.record).await?
        {
            holder = info.holder;
        }
        self.store.complete(&holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        if self.has(Fault::LosesRenewal) {
            return Ok(Update::Done);
        }
        self.store.renew(holder, terms, progress).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        if self.has(Fault::LosesAbandon) {
            return Ok(Update::Done);
        }
        self.store.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.store.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        if let Some(look) = self.looks.lock().unwrap().get_mut(&me()) {
            look.watches = true;
        }
        if self.has(Fault::WatchesLate) {
            yield_now().await;
        }
        self.store.changed(record, within).await;
    }
}

/// A store behind a connection that loses a few requests and answers. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct Unreliable<S> {
    store: S,
    /// How many it still loses.
    left: Arc<Mutex<usize>>,
}

impl<S> Unreliable<S> {
    pub(crate) fn new(store: S, losses: usize) -> Self {
        Self {
            store,
            left: Arc::new(Mutex::new(losses)),
        }
    }

    /// Loses the request, or the answer, or neither.
    async fn send<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        yield_now().await;
        if self.loses() {
            return Err(lost("request"));
        }
        let answer = call.await;
        yield_now().await;
        if self.loses() {
            return Err(lost("answer"));
        }
        answer
    }

    fn loses(&self) -> bool {
        let mut left = self.left.lock().unwrap();
        let loses = *left > 0 && any(4) == 0;
        *left -= usize::from(loses);
        loses
    }
}

fn lost(what: &'static str) -> Error {
    Error::unknown_outcome(format!("the {what} is lost"), "no connection")
}

#[async_trait]
impl<S: IdempotencyStore> IdempotencyStore for Unreliable<S> {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.send(self.store.reserve(request)).await
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        self.send(self.store.complete(holder, answer)).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.send(self.store.renew(holder, terms, progress)).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.send(self.store.abandon(holder)).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.send(self.store.release(holder)).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.store.changed(record, within).await;
    }
}
