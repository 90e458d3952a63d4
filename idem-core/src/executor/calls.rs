//! Asking the store, within bounds: a call without an answer is sent again with the same token.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::protocol::Reply;
use super::settings::Settings;
use crate::jitter::jittered;
use crate::{
    Answer, Applied, Completion, Error, Holder, IdempotencyStore, Outcome, Progress,
    ReserveRequest, Update,
};

/// The store, and how patient to be with it.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) store: Arc<dyn IdempotencyStore>,
    pub(crate) settings: Arc<Settings>,
}

/// An answer of the store.
pub(crate) struct Sent<T> {
    pub(crate) value: T,
    /// The moment before the last send: a lease is counted from here, since the store counts it from
    /// later.
    pub(crate) sent_at: Instant,
    /// An earlier send of this call may have been applied.
    pub(crate) resent: bool,
}

impl<T> Sent<T> {
    pub(crate) fn into_reply(self) -> Reply<T> {
        Reply::Answered {
            value: self.value,
            resent: self.resent,
        }
    }
}

/// One call of a store's method, as `async_trait` gives it.
type StoreCall<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

impl Calls {
    pub(crate) async fn reserve(&self, request: &ReserveRequest) -> Result<Sent<Outcome>, Error> {
        let again = request.clone().resent();
        self.send_marked(|resend| self.store.reserve(if resend { &again } else { request }))
            .await
    }

    /// Records an answer; one that turns out to be too large for this store without its body, which
    /// `answer` is then.
    pub(crate) async fn complete(
        &self,
        holder: &Holder,
        answer: &mut Answer,
    ) -> Result<Sent<Completion>, Error> {
        match self.send(|| self.store.complete(holder, answer)).await {
            Err(error) if error.is_too_large() => {
                *answer = without_body(answer);
                self.send(|| self.store.complete(holder, answer)).await
            }
            result => result,
        }
    }

    pub(crate) async fn renew(
        &self,
        holder: &Holder,
        progress: Option<&Progress>,
    ) -> Result<Sent<Update>, Error> {
        let terms = self.settings.terms;
        self.send(|| self.store.renew(holder, terms, progress))
            .await
    }

    pub(crate) async fn abandon(&self, holder: &Holder) -> Result<Sent<Update>, Error> {
        self.send(|| self.store.abandon(holder)).await
    }

    pub(crate) async fn release(&self, holder: &Holder) -> Result<Sent<Update>, Error> {
        self.send(|| self.store.release(holder)).await
    }

    /// One send of a renewal, for callers with a rhythm of their own.
    pub(crate) async fn renew_once(&self, holder: &Holder) -> Result<Update, Error> {
        let terms = self.settings.terms;
        self.once(self.settings.call_timeout, || {
            self.store.renew(holder, terms, None)
        })
        .await
    }

    async fn once<'a, T>(
        &self,
        within: Duration,
        call: impl Fn() -> StoreCall<'a, T>,
    ) -> Result<T, Error> {
        timeout(within, call())
            .await
            .unwrap_or_else(|_| Err(Error::timed_out()))
    }

    async fn send<'a, T>(&self, call: impl Fn() -> StoreCall<'a, T>) -> Result<Sent<T>, Error> {
        self.send_marked(|_resend| call()).await
    }

    /// Sends a call until it is answered, within bounds; `call` is told whether it is a resend.
    async fn send_marked<'a, T>(
        &self,
        call: impl Fn(bool) -> StoreCall<'a, T>,
    ) -> Result<Sent<T>, Error> {
        let mut first = true;
        let first_sent = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut resent = false;
        loop {
            let sent_at = Instant::now();
            let resend = !std::mem::replace(&mut first, false);
            match self.once(self.settings.call_timeout, || call(resend)).await {
                Ok(value) => {
                    return Ok(Sent {
                        value,
                        sent_at,
                        resent,
                    });
                }
                Err(error) => {
                    resent |= error.applied() == Applied::Unknown;
                    let pause_ends = first_sent.elapsed().saturating_add(pause);
                    if !error.is_transient() || pause_ends >= self.settings.resend_for {
                        return Err(if resent {
                            error.possibly_applied()
                        } else {
                            error
                        });
                    }
                }
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn without_body(answer: &Answer) -> Answer {
    match answer {
        Answer::Full(response) => Answer::NotRetained {
            status: response.status(),
            body_length: response.body_bytes().len() as u64,
        },
        Answer::NotRetained { .. } => answer.clone(),
    }
}

/// The answer to record for a response: without its body where it is over the limit.
pub(crate) fn answer_within(response: &crate::Response, limit: usize) -> Answer {
    let whole = Answer::Full(response.clone());
    if response.encoded_len() > limit {
        without_body(&whole)
    } else {
        whole
    }
}
