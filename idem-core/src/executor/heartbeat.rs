//! Renews the lease of a running handler, in a task of its own.

use std::future::pending;

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::calls::Calls;
use super::reservation::{Beating, Reservation};
use crate::panics::catch_panic;
use crate::{Error, Update};

/// A running heartbeat. Dropped, it stops without being awaited.
pub(crate) struct Heartbeat(Reservation);

impl Heartbeat {
    /// `None` if the settings want none, or there is no runtime to run it.
    pub(crate) fn start(calls: &Calls, reservation: &Reservation) -> Option<Self> {
        calls.settings.heartbeat?;
        let runtime = Handle::try_current().ok()?;
        let beats = beat(calls.clone(), Beating::begin(reservation.clone()));
        runtime.spawn(beats.in_current_span());
        Some(Self(reservation.clone()))
    }

    /// Stops it, and waits until it has: no renewal is under way afterwards. Can be called again if it
    /// was dropped half-way.
    pub(crate) async fn stop(&self) {
        self.0.stop_heartbeat().await;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.ask_heartbeat_to_stop();
    }
}

async fn beat(calls: Calls, beating: Beating) {
    let Some(settings) = calls.settings.heartbeat else {
        return pending().await;
    };
    let reservation = beating.reservation();
    let started = Instant::now();
    let mut pause = settings.every;
    loop {
        let left = settings.ceiling.saturating_sub(started.elapsed());
        if left < pause {
            tracing::warn!(
                record = %reservation.holder().record,
                attempt = reservation.attempt(),
                "heartbeat reached its ceiling: the lease will lapse",
            );
            return;
        }
        if timeout(pause, beating.asked_to_stop()).await.is_ok() {
            return;
        }
        // A beat that hangs must leave time for the next one before the lease ends.
        let patience = calls.settings.call_timeout.min(settings.every / 2);
        let renewal = timeout(patience, calls.renew_once(reservation.holder()));
        let renewed = match catch_panic(renewal).await {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(_)) => Err(Error::timed_out()),
            Err(_) => Err(Error::store_panicked()),
        };
        match renewed {
            Ok(Update::Done) => pause = settings.every,
            Ok(Update::Superseded | Update::AlreadyCompleted(_)) => {
                reservation.mark_superseded();
                return;
            }
            // A lapsed lease that nobody took over is still current (law C4): keep trying, sooner.
            Err(error) => {
                tracing::debug!(
                    record = %reservation.holder().record,
                    attempt = reservation.attempt(),
                    %error,
                    "heartbeat failed",
                );
                pause = settings.every / 4;
            }
        }
    }
}
