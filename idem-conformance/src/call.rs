//! A call as a value: it can be made on a store, put to the state machine, and printed.

use idem_core::machine::{self, Change, Record};
use idem_core::{
    Answer, Completion, Error, Holder, Outcome, Progress, RecordId, RecordInfo, ReserveRequest,
    Terms, Timestamp, Update,
};

use crate::Store;

/// A call on one record.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Reserve(ReserveRequest),
    Complete(Holder, Answer),
    Renew(Holder, Terms, Option<Progress>),
    Abandon(Holder),
    Release(Holder),
    Get(RecordId),
}

/// What a call is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Reserve(Outcome),
    Complete(Completion),
    Update(Update),
    Get(Option<RecordInfo>),
}

impl Call {
    pub(crate) fn record(&self) -> &RecordId {
        match self {
            Self::Reserve(request) => &request.operation.record,
            Self::Complete(holder, _)
            | Self::Renew(holder, _, _)
            | Self::Abandon(holder)
            | Self::Release(holder) => &holder.record,
            Self::Get(record) => record,
        }
    }

    /// Makes the call.
    pub(crate) async fn send(&self, store: &dyn Store) -> Result<Reply, Error> {
        Ok(match self {
            Self::Reserve(request) => Reply::Reserve(store.reserve(request).await?),
            Self::Complete(holder, answer) => {
                Reply::Complete(store.complete(holder, answer).await?)
            }
            Self::Renew(holder, terms, progress) => {
                Reply::Update(store.renew(holder, *terms, progress.as_ref()).await?)
            }
            Self::Abandon(holder) => Reply::Update(store.abandon(holder).await?),
            Self::Release(holder) => Reply::Update(store.release(holder).await?),
            Self::Get(record) => Reply::Get(store.get(record).await?),
        })
    }

    /// What the machine says to it.
    pub(crate) fn specified(&self, record: Option<&Record>, now: Timestamp) -> (Reply, Change) {
        match self {
            Self::Reserve(request) => {
                let (outcome, change) = machine::reserve(record, request, now);
                (Reply::Reserve(outcome), change)
            }
            Self::Complete(holder, answer) => {
                let (completion, change) = machine::complete(record, holder, answer, now);
                (Reply::Complete(completion), change)
            }
            Self::Renew(holder, terms, progress) => update(machine::renew(
                record,
                holder,
                *terms,
                progress.as_ref(),
                now,
            )),
            Self::Abandon(holder) => update(machine::abandon(record, holder, now)),
            Self::Release(holder) => update(machine::release(record, holder, now)),
            Self::Get(id) => {
                let shown = record.and_then(|record| machine::view(id, record, now));
                (Reply::Get(shown), Change::Keep)
            }
        }
    }
}

fn update((update, change): (Update, Change)) -> (Reply, Change) {
    (Reply::Update(update), change)
}

impl Reply {
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Reserve(outcome) => outcome,
            other => panic!("a reserve was answered: {other}"),
        }
    }

    pub(crate) fn completion(self) -> Completion {
        match self {
            Self::Complete(completion) => completion,
            other => panic!("a completion was answered: {other}"),
        }
    }

    pub(crate) fn update(self) -> Update {
        match self {
            Self::Update(update) => update,
            other => panic!("a write was answered: {other}"),
        }
    }

    pub(crate) fn info(self) -> Option<RecordInfo> {
        match self {
            Self::Get(info) => info,
            other => panic!("a get was answered: {other}"),
        }
    }
}

/// Makes a store of a type that has `call(&self, Call) -> Result<Reply, Error>` and
/// `wait(&self, &RecordId, Duration)`, both async.
macro_rules! store_of_calls {
    (impl[$($generics:tt)*] for $store:ty) => {
        #[::async_trait::async_trait]
        impl<$($generics)*> ::idem_core::IdempotencyStore for $store {
            async fn reserve(
                &self,
                request: &::idem_core::ReserveRequest,
            ) -> Result<::idem_core::Outcome, ::idem_core::Error> {
                let call = $crate::call::Call::Reserve(request.clone());
                Ok(self.call(call).await?.outcome())
            }

            async fn complete(
                &self,
                holder: &::idem_core::Holder,
                answer: &::idem_core::Answer,
            ) -> Result<::idem_core::Completion, ::idem_core::Error> {
                let call = $crate::call::Call::Complete(holder.clone(), answer.clone());
                Ok(self.call(call).await?.completion())
            }

            async fn renew(
                &self,
                holder: &::idem_core::Holder,
                terms: ::idem_core::Terms,
                progress: Option<&::idem_core::Progress>,
            ) -> Result<::idem_core::Update, ::idem_core::Error> {
                let call = $crate::call::Call::Renew(holder.clone(), terms, progress.cloned());
                Ok(self.call(call).await?.update())
            }

            async fn abandon(
                &self,
                holder: &::idem_core::Holder,
            ) -> Result<::idem_core::Update, ::idem_core::Error> {
                let call = $crate::call::Call::Abandon(holder.clone());
                Ok(self.call(call).await?.update())
            }

            async fn release(
                &self,
                holder: &::idem_core::Holder,
            ) -> Result<::idem_core::Update, ::idem_core::Error> {
                let call = $crate::call::Call::Release(holder.clone());
                Ok(self.call(call).await?.update())
            }

            async fn changed(&self, record: &::idem_core::RecordId, within: ::std::time::Duration) {
                self.wait(record, within).await;
            }
        }
    };
}

pub(crate) use store_of_calls;
