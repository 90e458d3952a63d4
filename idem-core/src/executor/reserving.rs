//! Getting a reservation: one try, and waiting for a turn.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use super::calls::Sent;
use super::counters::add_one;
use super::held::USUAL_RETRY_AFTER;
use super::protocol::{self, AfterStart, Begin, GiveBack};
use super::{Engine, Entry, Held, Idempotency, OnConflict, Reservation};
use crate::{Applied, Error, Holder, OnLapse, Operation, Outcome, RecordId, ReserveRequest, Token};

impl Idempotency {
    /// Reserves, waiting for a turn if the settings say so.
    pub(super) async fn reserve_or_wait(&self, operation: &Operation) -> Result<Entry, Error> {
        let OnConflict::Wait { up_to } = self.0.calls.settings.on_conflict else {
            return self.0.reserve_once(operation).await;
        };
        let asked = Instant::now();
        let mut watch: Option<Watch<'_>> = None;
        let mut early = 0;
        let mut in_conflict = false;
        loop {
            let entry = match self.0.reserve_once(operation).await {
                // Somebody else has it, as far as anybody knows: that is more than that nobody knows.
                Err(error) if in_conflict && error.is_unavailable() => {
                    let retry_after = Some(USUAL_RETRY_AFTER);
                    return Ok(Entry::Conflict { retry_after });
                }
                entry => entry?,
            };
            let Entry::Conflict {
                retry_after: Some(lease_left),
            } = entry
            else {
                return Ok(entry);
            };
            in_conflict = true;
            let left = up_to.saturating_sub(asked.elapsed());
            if left.is_zero() {
                return Ok(entry);
            }
            match watch.take() {
                // Begin to watch, then look once more: what was written before the watch began would
                // be missed otherwise (law W1).
                None => {
                    watch = Some(self.0.watch(&operation.record, lease_left.min(left)).await);
                }
                Some(watch) => {
                    let awaited = Instant::now();
                    watch.await;
                    // A store that cannot watch resolves at once: do not ask it without end.
                    early = if awaited.elapsed() < SHORTEST_WAIT {
                        early + 1
                    } else {
                        0
                    };
                    if early > 0 {
                        sleep((SHORTEST_WAIT * early).min(LONGEST_POLL).min(left)).await;
                    }
                }
            }
        }
    }
}

type Watch<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

const SHORTEST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_POLL: Duration = Duration::from_millis(50);

impl Engine {
    /// Begins to watch a record: the returned future was polled once already.
    async fn watch<'a>(&'a self, record: &'a RecordId, within: Duration) -> Watch<'a> {
        let mut watch = Box::pin(async move {
            // A store that does not keep its word must not cost the caller more than it would wait.
            let _ = timeout(within, self.calls.store.changed(record, within)).await;
        });
        let done = poll_fn(|cx| Poll::Ready(watch.as_mut().poll(cx).is_ready())).await;
        if done { Box::pin(async {}) } else { watch }
    }

    async fn reserve_once(self: &Arc<Self>, operation: &Operation) -> Result<Entry, Error> {
        let settings = &self.calls.settings;
        let request = ReserveRequest::new(operation.clone(), Token::random(), settings.terms)
            .on_lapse(settings.on_lapse)
            .longest_age(settings.longest_age);
        let Sent {
            value,
            sent_at,
            resent,
        } = self.try_reserve(request.clone()).await?;
        match value {
            Outcome::Reserved { attempt, progress } => {
                if attempt > 1 {
                    add_one(&self.counting.taken_over);
                    tracing::info!(record = %operation.record, attempt, "operation taken over");
                }
                let holder = Holder::new(operation.record.clone(), request.token, attempt);
                let reservation =
                    Reservation::new(operation.clone(), holder, progress, self.calls.clone());
                let held = Held::new(Arc::clone(self), reservation);
                self.begin(held, sent_at + settings.terms.lease(), resent)
                    .await
            }
            Outcome::Replay(replay) => Ok(Entry::Replayed(replay)),
            Outcome::Conflict { retry_after } => Ok(Entry::Conflict { retry_after }),
            Outcome::Mismatch => Ok(Entry::Mismatch),
        }
    }

    /// What stands between a reservation and its handler. `deadline` is the end of the lease, counted
    /// from before the last send; `resent`: there was an earlier one.
    async fn begin(
        self: &Arc<Self>,
        mut held: Held,
        deadline: Instant,
        resent: bool,
    ) -> Result<Entry, Error> {
        held.start_heartbeat().await;
        let settings = &self.calls.settings;
        let attempt = held.reservation().attempt();
        let late = Instant::now() >= deadline;
        let age_is_bounded = settings.longest_age.is_some();
        match protocol::begin(settings.on_lapse, late, resent, attempt, age_is_bounded) {
            Begin::Run => {}
            Begin::GiveBack => {
                held.give_back(protocol::give_back(attempt)).await;
                return Err(Error::too_late());
            }
            Begin::RenewFirst => {
                let renewed = self.calls.renew(held.reservation().holder(), None).await;
                let (reply, late, error) = match renewed {
                    Ok(sent) => {
                        let renewed_until = sent.sent_at + settings.terms.lease();
                        let start_by =
                            protocol::start_by(deadline, renewed_until, attempt, age_is_bounded);
                        let late = Instant::now() >= start_by;
                        (sent.into_reply(), late, None)
                    }
                    Err(error) => (protocol::Reply::Unanswered, true, Some(error)),
                };
                match protocol::after_start(reply, late) {
                    AfterStart::Run => {}
                    AfterStart::Standing(replay) => {
                        held.forget();
                        return Ok(Entry::Replayed(replay));
                    }
                    AfterStart::Abandon => {
                        held.give_back(GiveBack::Abandon).await;
                        return Err(error.unwrap_or_else(Error::too_late));
                    }
                }
            }
        }
        // No await point since lateness was decided: the handler begins now.
        held.run();
        Ok(Entry::Won(held))
    }

    /// One try at reserving, resent within bounds. If its caller goes away, or it stays without an
    /// answer, a reservation that it may have made is given back in the background.
    async fn try_reserve(
        self: &Arc<Self>,
        request: ReserveRequest,
    ) -> Result<Sent<Outcome>, Error> {
        let mut trying = Trying {
            engine: Arc::clone(self),
            runtime: Handle::try_current().ok(),
            request: Some(request.clone().resent()),
        };
        let sent = self.calls.reserve(&request).await;
        if !matches!(&sent, Err(error) if error.applied() == Applied::Unknown) {
            trying.request = None;
        }
        sent
    }

    /// Reserves again for an attempt that was superseded, asking for `Hold`, so that nothing is taken
    /// from a slow successor; and gives back what it wins on the way.
    pub(super) async fn reserve_again(
        self: &Arc<Self>,
        operation: &Operation,
    ) -> protocol::Superseded {
        let settings = &self.calls.settings;
        let request = ReserveRequest::new(operation.clone(), Token::random(), settings.terms)
            .on_lapse(OnLapse::Hold)
            .longest_age(settings.longest_age);
        let token = request.token;
        let reply = match self.try_reserve(request).await {
            Ok(sent) => sent.into_reply(),
            Err(_) => protocol::Reply::Unanswered,
        };
        let superseded = protocol::after_reserving_again(reply);
        if let protocol::Superseded::ConflictAndGiveBack { attempt } = superseded {
            let holder = Holder::new(operation.record.clone(), token, attempt);
            let reservation = Reservation::new(operation.clone(), holder, None, self.calls.clone());
            let held = Held::new(Arc::clone(self), reservation);
            held.give_back(protocol::give_back(attempt)).await;
        }
        superseded
    }
}

/// A try at reserving whose answer is not known yet.
struct Trying {
    engine: Arc<Engine>,
    runtime: Option<Handle>,
    /// Taken once the answer is known.
    request: Option<ReserveRequest>,
}

impl Drop for Trying {
    fn drop(&mut self) {
        let (Some(request), Some(runtime)) = (self.request.take(), self.runtime.take()) else {
            return;
        };
        let engine = Arc::clone(&self.engine);
        self.engine.background.spawn(&runtime, async move {
            // The same token: it gets what the lost call reserved, or reserves anew, or nothing.
            let Ok(sent) = engine.calls.reserve(&request).await else {
                return;
            };
            if let Outcome::Reserved { attempt, .. } = sent.value {
                let holder = Holder::new(request.operation.record.clone(), request.token, attempt);
                engine.withdraw(&holder, protocol::give_back(attempt)).await;
            }
        });
    }
}
