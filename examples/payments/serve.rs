//! `payments serve`: from the flags to a server, and to its end without losing a payment.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use idem_tower::IdempotencyLayer;
use idempotency::{Idempotency, Janitor, MonotonicClock};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::flags::Serve;
use crate::ledger_file::LedgerFile;
use crate::provider::Provider;
use crate::{server, transfer};

/// How long a shutdown waits for each of: open connections, and payments that run or are unrecorded.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until a signal. `Err`: what is wrong with the flags, in one line.
pub(crate) async fn serve(flags: Serve) -> Result<ExitCode, String> {
    let opened = flags.store.open(flags.cache).await?;
    let janitor = match opened.to_purge {
        Some(store) => Some(Janitor::new(store).start().map_err(|e| e.to_string())?),
        None => None,
    };
    let idempotency = Idempotency::builder(opened.store)
        .lease(flags.lease)
        .retention(flags.retention)
        .on_conflict(flags.on_conflict)
        .on_lapse(flags.on_lapse)
        .build()
        .map_err(|error| error.to_string())?;
    let layer = server::layer(idempotency);
    let provider = Provider::new(
        MonotonicClock::new(),
        flags.provider_window,
        flags.provider_latency,
    );
    if let Some(path) = &flags.provider_ledger {
        let (file, calls) = LedgerFile::open(path)?;
        provider.keep_in(file, calls);
    }
    let cannot_listen = |error| {
        let listen = flags.listen;
        format!("cannot listen on {listen}: {error}; give a free address with --listen")
    };
    let listener = TcpListener::bind(flags.listen)
        .await
        .map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    // Before anybody is told that the server is there: a signal from then on drains it.
    let stopping = stop_signal().map_err(|error| format!("cannot listen to signals: {error}"))?;
    announce(address);

    let (stop, stopped) = oneshot::channel::<()>();
    let mut router = server::router(provider, layer.clone());
    if let Some(transfers) = opened.transfers {
        router = router.merge(transfer::router(transfers, layer.clone()));
    }
    let serving = axum::serve(listener, router).with_graceful_shutdown(async { _ = stopped.await });
    let serving = tokio::spawn(serving.into_future());
    stopping.await;
    drop(stop);
    let ended = drain(layer, serving).await;
    if let Some(janitor) = janitor {
        janitor.stop().await;
    }
    Ok(ended)
}

/// Ends in this order: no new requests, then the payments that run (also those whose client has gone)
/// and what the store has not acknowledged yet.
async fn drain(
    layer: IdempotencyLayer,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
) -> ExitCode {
    // A client that never ends its request must not keep the server from ending.
    let _ = timeout(PATIENCE, serving).await;
    match layer.drain(PATIENCE).await {
        0 => ExitCode::SUCCESS,
        left => {
            eprintln!("payments: ended with {left} payments running or unrecorded");
            ExitCode::FAILURE
        }
    }
}

fn announce(address: SocketAddr) {
    let text = format!(
        "listening on http://{address}\n\
         curl -i http://{address}/payments -H 'Authorization: Bearer acct_812' \
         -H 'Idempotency-Key: order-17' -H 'Content-Type: application/json' \
         -d '{{\"amount\":\"150.00\",\"currency\":\"BRL\",\"customer_id\":\"cus_812\"}}'\n"
    );
    // Whoever started this may have closed the pipe: no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Resolves at ctrl-c or SIGTERM. Signals are caught from when this returns, not from when it is
/// awaited.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { _ = tokio::signal::ctrl_c().await })
}
