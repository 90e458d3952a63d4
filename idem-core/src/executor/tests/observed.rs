//! What operators see: counters, log lines, and never a key.

use std::io;
use std::sync::{Arc, Mutex};

use tokio::time::sleep;
use tracing::Level;

use super::faults::{Call, Fault};
use super::support::{LEASE, SECOND, World, asking, is_ran, operation};
use crate::{
    Error, ExecuteError, Executed, Idempotency, OnLapse, Reservation, Resolution, Response,
};

/// Everything that is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn every_outcome_is_logged_with_its_fields_and_without_key_scope_or_fingerprint() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer({
            let log = log.clone();
            move || log.clone()
        })
        .finish();
    // While there is one subscriber only, tracing decides for every thread by what the thread has that
    // comes first to a place that logs: by that of another test, which has none.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let guard = tracing::subscriber::set_default(subscriber);

    let world = World::with(|builder| builder.no_heartbeat());
    let key = "a-secret-key";
    let slow = async {
        let handler = async |_: Reservation| {
            sleep(2 * LEASE).await;
            Ok::<_, Error>(Response::new(201).body("secret-answer"))
        };
        world
            .idempotency
            .execute(&operation(key), handler)
            .await
            .unwrap()
    };
    let (_, ()) = tokio::join!(slow, async {
        sleep(SECOND).await;
        assert!(matches!(
            world.pay(key, "-").await,
            Executed::Conflict { .. }
        ));
        sleep(LEASE).await;
        assert!(is_ran(&world.pay(key, "-").await));
    });
    let other = async |_: Reservation| Ok::<_, Error>(Response::new(201));
    world
        .idempotency
        .execute(&asking(key, "other"), other)
        .await
        .unwrap();
    world.store.next(Call::Complete, Fault::TooLarge);
    world.store.always(Call::Complete, Fault::LoseRequest);
    assert!(is_ran(
        &world.pay("unrecorded-secret-key", "secret-answer").await
    ));
    let holder = world.record(key).await.unwrap().holder;
    crate::resolve(
        &world.store,
        &holder,
        Resolution::Forget,
        "asked the provider",
    )
    .await
    .unwrap();
    let details = format!("{:?} {:?}", world.idempotency, operation(key));
    drop(guard);

    let text = log.text() + &details;
    for expected in [
        "outcome=\"completed\"",
        "outcome=\"conflict\"",
        "outcome=\"mismatch\"",
        "outcome=\"replayed\"",
        "outcome=\"unrecorded\"",
        "attempt=2",
        "attempt superseded",
        "operation taken over",
        "answer unrecorded",
        "reason=\"asked the provider\"",
        "record=#",
    ] {
        assert!(text.contains(expected), "no {expected} in:\n{text}");
    }
    for secret in ["secret-key", "acct_812", "secret-answer", "150.00"] {
        assert!(!text.contains(secret), "{secret} is in:\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn counters_count_each_outcome() {
    let world = World::with(|builder| builder.on_lapse(OnLapse::Hold));
    world.pay("k", "paid").await;
    world.pay("k", "paid").await;
    let other = async |_: Reservation| Ok::<_, Error>(Response::new(201));
    world
        .idempotency
        .execute(&asking("k", "other"), other)
        .await
        .unwrap();
    let failing = async |_: Reservation| Err::<Response, _>("crashed");
    assert!(
        world
            .idempotency
            .execute(&operation("u"), failing)
            .await
            .is_err()
    );
    assert!(matches!(
        world.pay("u", "-").await,
        Executed::Conflict {
            retry_after: Some(_)
        }
    ));
    sleep(LEASE).await;
    assert!(matches!(
        world.pay("u", "-").await,
        Executed::Conflict { retry_after: None }
    ));
    world.store.always(Call::Reserve, Fault::Refuse);
    assert!(matches!(
        world.try_pay("s", "-").await,
        Err(ExecuteError::Store(_))
    ));

    let counters = world.idempotency.counters();
    assert_eq!(counters.ran, 1);
    assert_eq!(counters.replayed, 1);
    assert_eq!(counters.mismatches, 1);
    assert_eq!(counters.handler_errors, 1);
    assert_eq!((counters.conflicts, counters.unresolved), (2, 1));
    assert_eq!(counters.store_errors, 1);
    assert_eq!(
        (
            counters.superseded,
            counters.taken_over,
            counters.unrecorded
        ),
        (0, 0, 0)
    );
}

#[test]
fn settings_that_cannot_work_are_refused_with_what_is_allowed() {
    let builder = || Idempotency::builder(crate::MemoryStore::new());
    let zero = std::time::Duration::ZERO;
    for (broken, says) in [
        (builder().lease(zero), "lease is zero"),
        (builder().retention(zero), "retention is zero"),
        (
            builder().retention(LEASE),
            "twice the lease must fit into it",
        ),
        (builder().longest_age(zero), "longest age is zero"),
        (builder().heartbeat(zero), "heartbeat is zero"),
        (builder().heartbeat(LEASE), "not shorter than the lease"),
        (
            builder().heartbeat_ceiling(zero),
            "heartbeat ceiling is zero",
        ),
        (
            builder().store_timeouts(zero, SECOND),
            "store timeout of one call is zero",
        ),
        (
            builder().store_timeouts(SECOND, zero),
            "store timeout of all resends is zero",
        ),
    ] {
        let error = broken.build().unwrap_err();
        assert!(error.is_invalid());
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(builder().build().is_ok());
}

#[test]
fn without_a_runtime_a_dropped_reservation_lapses_and_nothing_panics() {
    let world = {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (world, held) = runtime.block_on(async {
            let world = World::new();
            let entry = world.idempotency.reserve(&operation("k")).await.unwrap();
            (world, entry)
        });
        drop(runtime);
        drop(held);
        world
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let condition = runtime.block_on(world.record("k")).unwrap().condition;
    assert!(matches!(condition, crate::Condition::Live { .. }));
}
