//! Holds back what has had its effect, so that the story and not a sleep decides what comes first.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

/// Open until it is closed, which the server never does.
#[derive(Default)]
pub(crate) struct Gate(Mutex<Option<mpsc::UnboundedSender<HeldCall>>>);

/// The calls that wait at a closed gate. Dropped, the gate is open again.
pub(crate) struct HeldCalls(mpsc::UnboundedReceiver<HeldCall>);

/// A call that has had its effect, and does not know yet. Dropped, it goes on.
pub(crate) struct HeldCall(oneshot::Sender<Fate>);

enum Fate {
    Answer,
    Crash,
}

impl Gate {
    pub(crate) fn close(&self) -> HeldCalls {
        let (arrive, arrived) = mpsc::unbounded_channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrive);
        HeldCalls(arrived)
    }

    pub(crate) async fn pass(&self) {
        let gate = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(gate) = gate else { return };
        let (decide, decided) = oneshot::channel();
        if gate.send(HeldCall(decide)).is_ok()
            && let Ok(Fate::Crash) = decided.await
        {
            // A panic that prints nothing: it stands for the end of the process.
            resume_unwind(Box::new("crashed between the effect and its answer"));
        }
    }
}

impl HeldCalls {
    /// The next call that has had its effect.
    pub(crate) async fn next(&mut self) -> HeldCall {
        self.0
            .recv()
            .await
            .expect("the gate stays closed while this lives")
    }
}

impl HeldCall {
    pub(crate) fn answer(self) {
        // Whoever waited may be gone.
        let _ = self.0.send(Fate::Answer);
    }

    /// The caller dies: it has had its effect, and says nothing more.
    pub(crate) fn crash(self) {
        let _ = self.0.send(Fate::Crash);
    }
}
