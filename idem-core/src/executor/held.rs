//! A reservation in the hands of its caller: whatever happens to the caller, its end is told to the
//! store.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::yield_now;

use super::calls::{Sent, answer_within};
use super::counters::add_one;
use super::heartbeat::Heartbeat;
use super::protocol::{self, Close, End, GiveBack, Reply, Sequel, Superseded};
use super::{Engine, Executed, Recorded, Reservation, Verdict};
use crate::jitter::jittered;
use crate::panics::catch_panic;
use crate::{Answer, Completion, Error, Holder, Replay, Update};

/// A reservation made by hand: see [`Idempotency::reserve`](super::Idempotency::reserve).
///
/// Dropped without [`finish`](Self::finish), the outcome is unknown, as when a handler's future is
/// dropped: under [`RunAgain`](crate::OnLapse::RunAgain) the operation is abandoned in the background;
/// under [`Hold`](crate::OnLapse::Hold) the lease lapses and the operation is unresolved.
#[must_use = "dropped, the outcome counts as unknown"]
pub struct Held {
    engine: Arc<Engine>,
    reservation: Reservation,
    heartbeat: Option<Heartbeat>,
    /// Where it was reserved: what is left to do is done there, wherever it is dropped.
    runtime: Option<Handle>,
    stage: Stage,
}

/// How far its caller has come: decides what is left to do if the caller goes away.
#[derive(Clone)]
enum Stage {
    /// Nothing ran yet.
    NotBegun,
    Running,
    /// The run has ended; the store is being told.
    Closing(Closing),
    /// Nothing is left to do.
    Over,
}

#[derive(Clone)]
enum Closing {
    Complete(Answer),
    Withdraw(GiveBack),
}

/// Hint for a caller who cannot be told how much of a lease is left.
pub(super) const USUAL_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Held {
    pub(super) fn new(engine: Arc<Engine>, reservation: Reservation) -> Self {
        Self {
            engine,
            reservation,
            heartbeat: None,
            runtime: Handle::try_current().ok(),
            stage: Stage::NotBegun,
        }
    }

    /// What the handler gets.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// Records the verdict, and says what to answer: its own response, or the one that stands.
    ///
    /// Dropped: the verdict is recorded in the background all the same.
    pub fn finish(self, verdict: impl Into<Verdict>) -> impl Future<Output = Executed> + Send {
        let engine = Arc::clone(&self.engine);
        let closing = self.close_with(verdict.into());
        async move {
            let executed = closing.await;
            engine.counting.count_executed(&executed);
            executed
        }
    }

    /// Not an `async fn`: the verdict counts from now on, even if the future is never polled.
    pub(super) fn close_with(mut self, verdict: Verdict) -> impl Future<Output = Executed> + Send {
        let (end, response, answer) = match verdict {
            Verdict::Complete(response) => {
                let limit = self.engine.calls.settings.response_limit;
                let answer = answer_within(&response, limit);
                (End::Complete, response, Some(answer))
            }
            Verdict::CompleteWithoutBody {
                response,
                body_length,
            } => {
                let answer = Answer::NotRetained {
                    status: response.status(),
                    body_length,
                };
                (End::Complete, response, Some(answer))
            }
            Verdict::AlreadyRecorded(response) => (End::Recorded, response, None),
            Verdict::Abandon(response) => (End::Abandon, response, None),
            Verdict::Release(response) => (End::Release, response, None),
        };
        self.stage = stage_after(self.closing(end), answer.as_ref());
        async move {
            match self.close(end, answer).await {
                Ok(recorded) => Executed::Ran { response, recorded },
                Err(standing) => standing,
            }
        }
    }

    /// Leaves the outcome unknown, as an error or a panic of a handler does: under
    /// [`RunAgain`](crate::OnLapse::RunAgain) the operation is abandoned, under
    /// [`Hold`](crate::OnLapse::Hold) its lease lapses. `Some`: what to answer instead of one's own
    /// failure, since another attempt took over or somebody settled the operation.
    ///
    /// Dropped: the same in the background.
    pub async fn fail(self) -> Option<Executed> {
        let engine = Arc::clone(&self.engine);
        let standing = self.leave_unknown().await;
        match &standing {
            Some(executed) => _ = engine.counting.count_executed(executed),
            None => add_one(&engine.counting.handler_errors),
        }
        standing
    }

    pub(super) async fn leave_unknown(self) -> Option<Executed> {
        self.close(End::Unknown, None).await.err()
    }

    /// Starts the heartbeat, and lets it set its timer: a handler that blocks this thread before its
    /// first await point would keep it from that.
    pub(super) async fn start_heartbeat(&mut self) {
        self.heartbeat = Heartbeat::start(&self.engine.calls, &self.reservation);
        if self.heartbeat.is_some() {
            yield_now().await;
        }
    }

    /// The handler begins.
    pub(super) fn run(&mut self) {
        self.stage = Stage::Running;
    }

    /// Nothing is to be told to the store.
    pub(super) fn forget(mut self) {
        self.stage = Stage::Over;
    }

    /// Gives back a reservation that never ran.
    pub(super) async fn give_back(mut self, how: GiveBack) {
        self.stage = Stage::Closing(Closing::Withdraw(how));
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.stop().await;
        }
        self.engine.withdraw(self.reservation.holder(), how).await;
        self.stage = Stage::Over;
    }

    /// Tells the store how the run ended. `Err`: not the caller's own answer.
    async fn close(mut self, end: End, answer: Option<Answer>) -> Result<Recorded, Executed> {
        self.reservation.mark_over();
        self.stage = stage_after(self.closing(end), answer.as_ref());
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.stop().await;
        }
        // Once more: its last beat may have found that another attempt took over.
        let closing = self.closing(end);
        self.stage = stage_after(closing, answer.as_ref());
        let (sequel, recorded) = match self.stage.clone() {
            Stage::Closing(Closing::Complete(answer)) => self.complete(answer).await,
            Stage::Closing(Closing::Withdraw(how)) => {
                let reply = self.engine.withdraw(self.reservation.holder(), how).await;
                let recorded = match how {
                    GiveBack::Abandon => Recorded::Abandoned,
                    GiveBack::Release => Recorded::Released,
                };
                (protocol::after_withdrawing(reply), recorded)
            }
            _ if closing == Close::ReserveAgain => (Sequel::ReserveAgain, Recorded::Unrecorded),
            _ if end == End::Recorded => (Sequel::Own, Recorded::ByHandler),
            _ => (Sequel::Own, Recorded::Unrecorded),
        };
        self.stage = Stage::Over;
        match sequel {
            Sequel::Own => Ok(recorded),
            Sequel::OwnUnrecorded => Ok(Recorded::Unrecorded),
            Sequel::Standing(replay) => Err(Executed::Replayed(replay)),
            Sequel::ReserveAgain => {
                add_one(&self.engine.counting.superseded);
                tracing::warn!(
                    record = %self.reservation.holder().record,
                    attempt = self.reservation.attempt(),
                    "attempt superseded: its own answer is not sent",
                );
                Err(
                    match self
                        .engine
                        .reserve_again(self.reservation.operation())
                        .await
                    {
                        Superseded::Standing(replay) => Executed::Replayed(replay),
                        Superseded::Conflict | Superseded::ConflictAndGiveBack { .. } => {
                            Executed::Conflict {
                                retry_after: Some(USUAL_RETRY_AFTER),
                            }
                        }
                    },
                )
            }
        }
    }

    fn closing(&self, end: End) -> Close {
        let on_lapse = self.engine.calls.settings.on_lapse;
        let attempt = self.reservation.attempt();
        protocol::close(end, attempt, on_lapse, self.reservation.is_superseded())
    }

    async fn complete(&self, mut answer: Answer) -> (Sequel, Recorded) {
        let holder = self.reservation.holder();
        let sent = self.engine.calls.complete(holder, &mut answer).await;
        let recorded = match &sent {
            Ok(Sent {
                value:
                    Completion::Completed { remembered_for }
                    | Completion::AlreadyCompleted(Replay { remembered_for, .. }),
                ..
            }) => {
                let remembered_for = *remembered_for;
                match answer {
                    Answer::Full(_) => Recorded::Completed { remembered_for },
                    Answer::NotRetained { .. } => Recorded::CompletedWithoutBody { remembered_for },
                }
            }
            _ => Recorded::Unrecorded,
        };
        let sequel = match sent {
            Ok(sent) => protocol::after_completing(sent.into_reply(), &answer),
            Err(error) => {
                self.engine
                    .complete_later(holder.clone(), answer.clone(), &error);
                protocol::after_completing(Reply::Unanswered, &answer)
            }
        };
        (sequel, recorded)
    }
}

fn stage_after(closing: Close, answer: Option<&Answer>) -> Stage {
    match (closing, answer) {
        (Close::Complete, Some(answer)) => Stage::Closing(Closing::Complete(answer.clone())),
        (Close::Abandon, _) => Stage::Closing(Closing::Withdraw(GiveBack::Abandon)),
        (Close::Release, _) => Stage::Closing(Closing::Withdraw(GiveBack::Release)),
        _ => Stage::Over,
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.reservation.mark_over();
        let closing = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Over => return,
            Stage::Closing(closing) => closing,
            Stage::NotBegun => Closing::Withdraw(protocol::give_back(self.reservation.attempt())),
            Stage::Running => match stage_after(self.closing(End::Unknown), None) {
                Stage::Closing(closing) => closing,
                _ => return,
            },
        };
        // Without a runtime the lease lapses.
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        let engine = Arc::clone(&self.engine);
        let holder = self.reservation.holder().clone();
        let heartbeat = self.heartbeat.take();
        self.engine.background.spawn(&runtime, async move {
            if let Some(heartbeat) = &heartbeat {
                heartbeat.stop().await;
            }
            match closing {
                Closing::Withdraw(how) => {
                    engine.withdraw(&holder, how).await;
                }
                Closing::Complete(mut answer) => {
                    match engine.calls.complete(&holder, &mut answer).await {
                        Ok(sent) => log_late_completion(&holder, &sent.value),
                        Err(error) => engine.complete_later(holder, answer, &error),
                    }
                }
            }
        });
    }
}

impl Engine {
    /// Abandons or releases, resent within bounds.
    pub(super) async fn withdraw(&self, holder: &Holder, how: GiveBack) -> Reply<Update> {
        let sent = match how {
            GiveBack::Abandon => self.calls.abandon(holder).await,
            GiveBack::Release => self.calls.release(holder).await,
        };
        match sent {
            Ok(sent) => sent.into_reply(),
            Err(error) => {
                tracing::warn!(
                    record = %holder.record,
                    attempt = holder.attempt,
                    %error,
                    "could not give the operation back: its lease will lapse",
                );
                Reply::Unanswered
            }
        }
    }

    /// Goes on renewing and resending in the background, until the store answers or the executor is
    /// drained. The key is never abandoned: the effect has happened.
    fn complete_later(self: &Arc<Self>, holder: Holder, mut answer: Answer, error: &Error) {
        add_one(&self.counting.unrecorded);
        tracing::error!(
            record = %holder.record,
            attempt = holder.attempt,
            %error,
            "answer unrecorded: sent, but not acknowledged by the store; trying on",
        );
        // Called inside a runtime, always: the store was just asked.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let engine = Arc::clone(self);
        let drains = self.background.drains();
        self.background.spawn(&runtime, async move {
            // Often enough that a renewal which gets through keeps the lease alive.
            let longest = (engine.calls.settings.terms.lease() / 3).min(Duration::from_secs(10));
            let mut pause = Duration::from_millis(100).min(longest);
            while engine.background.pause(jittered(pause), drains).await {
                pause = (pause * 2).min(longest);
                let completing = catch_panic(engine.calls.complete(&holder, &mut answer));
                if let Ok(Ok(sent)) = completing.await {
                    return log_late_completion(&holder, &sent.value);
                }
                // Only the completion decides: an abandoned record takes no renewal, and still an answer.
                let _ = catch_panic(engine.calls.renew_once(&holder)).await;
            }
        });
    }
}

fn log_late_completion(holder: &Holder, completion: &Completion) {
    let (record, attempt) = (&holder.record, holder.attempt);
    match completion {
        Completion::Completed { .. } | Completion::AlreadyCompleted(_) => {
            tracing::info!(%record, attempt, "answer recorded after its caller had gone on");
        }
        Completion::Superseded => {
            tracing::warn!(%record, attempt, "answer not recorded: another attempt took over");
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("reservation", &self.reservation)
            .finish_non_exhaustive()
    }
}
