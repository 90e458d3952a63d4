//! Attacks on the executor, through the public API alone. Each test states what should hold.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_core::*;
use tokio::runtime;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn operation() -> Operation {
    Operation::new(
        Scope::new("acct_812").unwrap(),
        Key::new("order-17").unwrap(),
        Fingerprint::raw("150.00"),
    )
}

/// The time of the (paused) runtime, as a store's clock.
#[derive(Debug)]
struct RuntimeClock(tokio::time::Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

/// The in-memory store, with faults planted in front of it.
struct Planted {
    inner: MemoryStore,
    /// So many reserves are applied, and never answered.
    unanswered_reserves: AtomicUsize,
    /// So many renewals get lost, and are never answered.
    lost_renewals: AtomicUsize,
    /// Completions are refused as unavailable.
    away: AtomicBool,
    /// Whole answers are refused for good; answers without a body are taken.
    refuses_bodies: AtomicBool,
    /// So many renewals panic, as a driver's `unwrap` may.
    panicking_renewals: AtomicUsize,
    renewals: AtomicUsize,
    reserves: Mutex<Vec<ReserveRequest>>,
}

impl Planted {
    fn new() -> Arc<Self> {
        Self::over(MemoryStore::with_clock(RuntimeClock(
            tokio::time::Instant::now(),
        )))
    }

    fn over(inner: MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            unanswered_reserves: AtomicUsize::new(0),
            lost_renewals: AtomicUsize::new(0),
            away: AtomicBool::new(false),
            refuses_bodies: AtomicBool::new(false),
            panicking_renewals: AtomicUsize::new(0),
            renewals: AtomicUsize::new(0),
            reserves: Mutex::default(),
        })
    }
}

fn one_less(counter: &AtomicUsize) -> bool {
    counter
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
        .is_ok()
}

#[async_trait]
impl IdempotencyStore for Planted {
    async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
        self.reserves.lock().unwrap().push(request.clone());
        let outcome = self.inner.reserve(request).await;
        if one_less(&self.unanswered_reserves) {
            pending::<()>().await;
        }
        outcome
    }

    async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
        if self.away.load(Ordering::SeqCst) {
            return Err(Error::unavailable("away", "planted"));
        }
        if self.refuses_bodies.load(Ordering::SeqCst) && answer.full().is_some() {
            return Err(Error::failed("a NUL in a text column", "planted"));
        }
        self.inner.complete(holder, answer).await
    }

    async fn renew(
        &self,
        holder: &Holder,
        terms: Terms,
        progress: Option<&Progress>,
    ) -> Result<Update, Error> {
        self.renewals.fetch_add(1, Ordering::SeqCst);
        if one_less(&self.lost_renewals) {
            pending::<()>().await;
        }
        assert!(!one_less(&self.panicking_renewals), "planted");
        self.inner.renew(holder, terms, progress).await
    }

    async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
        self.inner.abandon(holder).await
    }

    async fn release(&self, holder: &Holder) -> Result<Update, Error> {
        self.inner.release(holder).await
    }

    async fn changed(&self, record: &RecordId, within: Duration) {
        self.inner.changed(record, within).await;
    }
}

/// `ExecuteError::Store` says "**The handler did not run.**" Believed by a caller who then charges by
/// another road, that is a double charge.
#[test]
fn a_detached_handler_that_ran_is_never_reported_as_one_that_did_not() {
    let one = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let other = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let charged = Arc::new(AtomicBool::new(false));
    let charge = Arc::clone(&charged);
    let idempotency = Idempotency::new(MemoryStore::new());
    let mut request = None;
    one.block_on(async {
        let detached = idempotency.execute_detached(operation(), move |_| async move {
            charge.store(true, Ordering::SeqCst);
            pending::<()>().await;
            Ok::<_, Error>(Response::new(201))
        });
        let request = request.insert(Box::pin(detached));
        let early = timeout(Duration::from_millis(300), request).await;
        assert!(early.is_err());
    });
    assert!(charged.load(Ordering::SeqCst), "the handler ran");
    one.shutdown_timeout(SECOND);

    let told = other.block_on(request.unwrap());
    assert!(
        !matches!(told, Err(ExecuteError::Store(_))),
        "the card was charged, and the caller is told: {}",
        told.unwrap_err()
    );
}

/// One lost packet: with a lease of 3 s and the default timeouts, the first renewal is given up at the
/// very moment the lease lapses.
#[tokio::test(start_paused = true)]
async fn one_lost_renewal_does_not_cost_a_running_handler_its_lease() {
    let store = Planted::new();
    store.lost_renewals.store(1, Ordering::SeqCst);
    let idempotency = Idempotency::builder(Arc::clone(&store))
        .lease(3 * SECOND)
        .build()
        .unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = |runs: Arc<AtomicUsize>| {
        move |_| async move {
            runs.fetch_add(1, Ordering::SeqCst);
            sleep(10 * SECOND).await;
            Ok::<_, Error>(Response::new(201))
        }
    };
    let first = idempotency.clone();
    let first_handler = handler(Arc::clone(&runs));
    let first = tokio::spawn(async move { first.execute(&operation(), first_handler).await });
    sleep(Duration::from_millis(3_005)).await;
    let second = idempotency
        .execute(&operation(), handler(Arc::clone(&runs)))
        .await
        .unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1, "second request: {second:?}");
}

/// The same with a lease that is shorter than one call may take: the builder takes it, and the heartbeat
/// hangs for several leases.
#[tokio::test(start_paused = true)]
async fn a_store_timeout_longer_than_the_lease_does_not_stop_the_heartbeat() {
    let store = Planted::new();
    store.lost_renewals.store(1, Ordering::SeqCst);
    let built = Idempotency::builder(Arc::clone(&store))
        .lease(60 * SECOND)
        .store_timeouts(Duration::MAX, Duration::MAX)
        .build();
    let Ok(idempotency) = built else {
        return; // refusing it is as good
    };
    let Entry::Won(held) = idempotency.reserve(&operation()).await.unwrap() else {
        panic!("vacant")
    };
    sleep(600 * SECOND).await;
    let shown = store.inner.get(&operation().record).await.unwrap().unwrap();
    let live = matches!(shown.condition, Condition::Live { .. });
    let finished = timeout(3_600 * SECOND, held.finish(Response::new(201))).await;
    assert!(
        live && finished.is_ok(),
        "after one lost renewal: live {live}, could finish within an hour: {}",
        finished.is_ok()
    );
}

/// "Dropped without `finish` ... under `RunAgain` the operation is abandoned in the background."
#[test]
fn a_held_reservation_dropped_on_a_plain_thread_is_abandoned() {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let store = MemoryStore::new();
    let idempotency = Idempotency::new(store.clone());
    let Ok(Entry::Won(held)) = runtime.block_on(idempotency.reserve(&operation())) else {
        panic!("vacant")
    };
    std::thread::spawn(move || drop(held)).join().unwrap();
    runtime.block_on(async {
        sleep(Duration::from_millis(200)).await;
        let shown = store.get(&operation().record).await.unwrap().unwrap();
        assert!(
            matches!(shown.condition, Condition::Abandoned { .. }),
            "the runtime is alive, and the key is stuck for a lease: {:?}",
            shown.condition
        );
    });
}

/// The effect has happened; the operator says "run again"; the store is back and would still take the
/// answer (law C7: its token may still complete). Given up, the effect happens twice.
#[tokio::test(start_paused = true)]
async fn an_unrecorded_answer_is_recorded_although_the_record_was_abandoned() {
    let store = Planted::new();
    store.away.store(true, Ordering::SeqCst);
    let idempotency = Idempotency::new(Arc::clone(&store));
    let runs = AtomicUsize::new(0);
    let handler = async |_: Reservation| {
        runs.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Error>(Response::new(201).body("paid"))
    };
    let first = idempotency.execute(&operation(), handler).await.unwrap();
    assert!(matches!(
        first,
        Executed::Ran {
            recorded: Recorded::Unrecorded,
            ..
        }
    ));
    let shown = store.inner.get(&operation().record).await.unwrap().unwrap();
    resolve(&store.inner, &shown.holder, Resolution::RunAgain, "attack")
        .await
        .unwrap();
    store.away.store(false, Ordering::SeqCst);
    sleep(30 * SECOND).await;

    let second = idempotency.execute(&operation(), handler).await.unwrap();
    assert_eq!(
        runs.load(Ordering::SeqCst),
        1,
        "nobody resent the answer although the store would take it: {second:?}"
    );
}

/// A store that refuses an answer for good (not "too large", not transient): the executor renews and
/// resends for ever. The key never gets an answer, each such request keeps a task and its answer in
/// memory, and the store is asked twice every ten seconds for each.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_refused_for_good_does_not_hold_its_key_for_ever() {
    let store = Planted::new();
    store.refuses_bodies.store(true, Ordering::SeqCst);
    let idempotency = Idempotency::new(Arc::clone(&store));
    let handler = async |_: Reservation| Ok::<_, Error>(Response::new(201).body("\0"));
    idempotency.execute(&operation(), handler).await.unwrap();
    sleep(12 * 3600 * SECOND).await;
    let second = idempotency.execute(&operation(), handler).await.unwrap();
    assert!(
        second.is_replayed(),
        "half a day and {} renewals later: {second:?}; {} task(s) left",
        store.renewals.load(Ordering::SeqCst),
        idempotency.drain(Duration::ZERO).await
    );
}

/// Under `Hold` "the lease lapses and the operation is unresolved" after an error. A clone of the
/// reservation that outlives the run keeps it live instead, past any heartbeat ceiling.
#[tokio::test(start_paused = true)]
async fn a_stashed_reservation_cannot_renew_after_the_end_of_its_run() {
    let store = Planted::new();
    let idempotency = Idempotency::hold(Arc::clone(&store));
    let stash = Mutex::new(None);
    let failed = idempotency
        .execute(&operation(), async |reservation: Reservation| {
            *stash.lock().unwrap() = Some(reservation);
            Err::<Response, _>("the line went dead")
        })
        .await;
    assert!(matches!(failed, Err(ExecuteError::Handler(_))));
    let stashed = stash.lock().unwrap().take().unwrap();
    let mut saved = 0;
    for _ in 0..60 {
        sleep(50 * SECOND).await;
        saved += usize::from(stashed.save_progress("still here").await.is_ok());
    }
    let shown = store.inner.get(&operation().record).await.unwrap().unwrap();
    assert!(
        saved == 0 && matches!(shown.condition, Condition::Unresolved { .. }),
        "50 minutes after the run ended: {saved} saves accepted, {:?}",
        shown.condition
    );
}

/// "This try was sent before, and may have been applied: a cache must not answer it." The give-back of a
/// dropped reserve sends the same try again, and does not say so.
#[tokio::test(start_paused = true)]
async fn the_try_that_gives_a_dropped_reserve_back_is_marked_as_a_resend() {
    let store = Planted::new();
    store.unanswered_reserves.store(1, Ordering::SeqCst);
    let idempotency = Idempotency::new(Arc::clone(&store));
    let dropped = timeout(SECOND, idempotency.reserve(&operation())).await;
    assert!(dropped.is_err());
    sleep(SECOND).await;
    let sent = store.reserves.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].token, sent[1].token);
    assert!(sent[1].resend, "the second send of one token");
}

/// "Dropped: nothing is lost, the task goes on."
#[tokio::test]
async fn a_detached_request_dropped_before_its_first_poll_runs_all_the_same() {
    let idempotency = Idempotency::new(MemoryStore::new());
    let ran = Arc::new(AtomicBool::new(false));
    let run = Arc::clone(&ran);
    drop(
        idempotency.execute_detached(operation(), move |_| async move {
            run.store(true, Ordering::SeqCst);
            Ok::<_, Error>(Response::new(201))
        }),
    );
    idempotency.drain(SECOND).await;
    assert!(ran.load(Ordering::SeqCst));
}

/// "What an `Idempotency` has done since it was made."
#[tokio::test]
async fn reservations_by_hand_are_counted() {
    let idempotency = Idempotency::new(MemoryStore::new());
    let Entry::Won(held) = idempotency.reserve(&operation()).await.unwrap() else {
        panic!("vacant")
    };
    let conflict = idempotency.reserve(&operation()).await.unwrap();
    assert!(matches!(conflict, Entry::Conflict { .. }));
    held.finish(Response::new(201)).await;
    let replayed = idempotency.reserve(&operation()).await.unwrap();
    assert!(matches!(replayed, Entry::Replayed(_)));
    let counters = idempotency.counters();
    assert_eq!(
        (counters.ran, counters.conflicts, counters.replayed),
        (1, 1, 1)
    );
}

/// A store whose `changed` does not come back must not cost the waiter more than it was willing to wait.
#[tokio::test(start_paused = true)]
async fn waiting_ends_after_up_to_whatever_changed_does() {
    struct Deaf(Arc<Planted>);

    #[async_trait]
    impl IdempotencyStore for Deaf {
        async fn reserve(&self, request: &ReserveRequest) -> Result<Outcome, Error> {
            self.0.reserve(request).await
        }
        async fn complete(&self, holder: &Holder, answer: &Answer) -> Result<Completion, Error> {
            self.0.complete(holder, answer).await
        }
        async fn renew(
            &self,
            holder: &Holder,
            terms: Terms,
            progress: Option<&Progress>,
        ) -> Result<Update, Error> {
            self.0.renew(holder, terms, progress).await
        }
        async fn abandon(&self, holder: &Holder) -> Result<Update, Error> {
            self.0.abandon(holder).await
        }
        async fn release(&self, holder: &Holder) -> Result<Update, Error> {
            self.0.release(holder).await
        }
        async fn changed(&self, _: &RecordId, _: Duration) {
            pending().await
        }
    }

    let idempotency = Idempotency::builder(Deaf(Planted::new()))
        .on_conflict(OnConflict::Wait { up_to: SECOND })
        .build()
        .unwrap();
    let Entry::Won(_held) = idempotency.reserve(&operation()).await.unwrap() else {
        panic!("vacant")
    };
    let waited = timeout(3_600 * SECOND, idempotency.reserve(&operation())).await;
    assert!(waited.is_ok(), "it waits for an hour, and on");
}

/// "Dropped: the verdict is recorded in the background all the same." In a `select!` whose other branch
/// is ready first, the future of `finish` is dropped before it was polled: the card is charged, the
/// verdict was handed over, and the operation is abandoned. The retry charges again.
#[tokio::test(start_paused = true)]
async fn a_verdict_that_was_handed_over_is_recorded_even_if_finish_is_never_polled() {
    let store = Planted::new();
    let idempotency = Idempotency::new(Arc::clone(&store));
    let Entry::Won(held) = idempotency.reserve(&operation()).await.unwrap() else {
        panic!("vacant")
    };
    let shutdown = async {};
    tokio::select! {
        biased;
        () = shutdown => {}
        _ = held.finish(Response::new(201).body("paid")) => unreachable!(),
    }
    idempotency.drain(SECOND).await;
    let again = idempotency.reserve(&operation()).await.unwrap();
    assert!(matches!(again, Entry::Replayed(_)), "the retry: {again:?}");
}

/// A driver that panics once in a renewal ends the heartbeat without a word: the handler runs on, its
/// lease lapses, and another request runs it a second time.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_panics_does_not_end_the_heartbeat() {
    let store = Planted::new();
    store.panicking_renewals.store(1, Ordering::SeqCst);
    let idempotency = Idempotency::new(Arc::clone(&store));
    let Entry::Won(held) = idempotency.reserve(&operation()).await.unwrap() else {
        panic!("vacant")
    };
    sleep(120 * SECOND).await;
    let shown = store.inner.get(&operation().record).await.unwrap().unwrap();
    assert!(
        matches!(shown.condition, Condition::Live { .. }) || held.reservation().is_superseded(),
        "its handler still runs and was told nothing: {:?}",
        shown.condition
    );
}

/// A watcher in a task of its own is the natural way to cancel a long handler. It never ends: one task
/// and one reservation for each request, for ever.
#[tokio::test(start_paused = true)]
async fn a_watcher_of_superseded_ends_with_the_run() {
    let idempotency = Idempotency::new(Planted::new());
    let watchers = Mutex::new(Vec::new());
    idempotency
        .execute(&operation(), async |reservation: Reservation| {
            let watched = reservation.clone();
            let watcher = tokio::spawn(async move { watched.superseded().await });
            watchers.lock().unwrap().push(watcher);
            Ok::<_, Error>(Response::new(201))
        })
        .await
        .unwrap();
    sleep(24 * 3_600 * SECOND).await;
    assert!(watchers.lock().unwrap()[0].is_finished());
}

/// With a longest age, callers are told "unresolved, only a person can settle it" of records that
/// `lapsed` shows as `Lapsed` ("the next request takes it over") or `Abandoned`; the recipe of `resolve`
/// passes over both, and nobody ever settles them.
#[tokio::test]
async fn what_callers_are_told_is_unresolved_is_shown_as_such() {
    for abandoned in [false, true] {
        let clock = ManualClock::new();
        let store = MemoryStore::with_clock(clock.clone());
        let idempotency = Idempotency::builder(store.clone())
            .longest_age(3_600 * SECOND)
            .build()
            .unwrap();
        let request = ReserveRequest::new(operation(), Token::random(), Terms::default());
        store.reserve(&request).await.unwrap();
        let holder = Holder::new(operation().record, request.token, 1);
        if abandoned {
            store.abandon(&holder).await.unwrap();
        }
        clock.advance(7_200 * SECOND);
        let told = idempotency.reserve(&operation()).await.unwrap();
        assert!(matches!(told, Entry::Conflict { retry_after: None }));
        let page = store.lapsed(None, 100).await.unwrap();
        // As in the recipe.
        let longest_age = Some(3_600 * SECOND);
        let found = page
            .records
            .iter()
            .any(|record| record.needs_a_person(longest_age));
        assert!(found, "shown as {:?}", page.records[0].condition);
    }
}

/// The spans of a detached request belong to the request.
#[test]
fn a_detached_request_keeps_the_span_of_its_caller() {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    use tracing::Instrument as _;
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing::Level::TRACE)
        .finish();
    // While there is one subscriber only, tracing decides for every thread by what the thread has that
    // comes first to a place that logs: by that of another test, which has none.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    tracing::subscriber::with_default(subscriber, || {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let request = async {
            let idempotency = Idempotency::new(MemoryStore::new());
            idempotency
                .execute_detached(operation(), |_| async {
                    tracing::info!("charging");
                    Ok::<_, Error>(Response::new(201))
                })
                .await
                .unwrap();
        };
        runtime.block_on(request.instrument(tracing::info_span!("http_request", id = 7)));
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = text.lines().find(|line| line.contains("charging")).unwrap();
    assert!(line.contains("http_request"), "{line}");
}

/// `Recorded::Completed` says "every repeat replays it". Over the limit no repeat ever does, and the one
/// caller who has the answer in hand, and could still keep it, is not told.
#[tokio::test]
async fn an_answer_that_was_not_kept_is_not_reported_as_one_that_repeats_replay() {
    let idempotency = Idempotency::builder(MemoryStore::new())
        .response_limit(64)
        .build()
        .unwrap();
    let handler = async |_: Reservation| Ok::<_, Error>(Response::new(201).body(vec![7; 65]));
    let first = idempotency.execute(&operation(), handler).await.unwrap();
    let repeat = idempotency.execute(&operation(), handler).await.unwrap();
    let Executed::Ran { recorded, .. } = first else {
        panic!("{first:?}")
    };
    assert!(
        repeat.response().is_some() || !matches!(recorded, Recorded::Completed { .. }),
        "told {recorded:?}, and the repeat has {repeat:?}"
    );
}

/// A handler that blocks its thread (a synchronous driver, a long computation) on a runtime with idle
/// workers: the heartbeat, spawned a moment before, must not wait for that very thread.
#[test]
fn a_handler_that_blocks_one_worker_keeps_its_lease() {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let idempotency = Idempotency::builder(MemoryStore::new())
        .lease(Duration::from_millis(900))
        .build()
        .unwrap();
    let blocking = idempotency.clone();
    runtime.block_on(async {
        let first = tokio::spawn(async move {
            blocking
                .execute(&operation(), async |_: Reservation| {
                    // why: it stands for a synchronous driver
                    std::thread::sleep(3 * SECOND);
                    Ok::<_, Error>(Response::new(201))
                })
                .await
        });
        sleep(2 * SECOND).await;
        let second = idempotency.reserve(&operation()).await.unwrap();
        assert!(
            matches!(second, Entry::Conflict { .. }),
            "three workers are idle, and the operation runs a second time: {second:?}"
        );
        first.await.unwrap().unwrap();
    });
}

/// The same with a verdict in hand: whatever `finish` does on a thread without a runtime (today it
/// panics), the runtime that made the reservation is alive and can record the verdict.
#[test]
fn a_verdict_given_on_a_plain_thread_is_recorded() {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let store = MemoryStore::new();
    let idempotency = Idempotency::new(store.clone());
    let Ok(Entry::Won(held)) = runtime.block_on(idempotency.reserve(&operation())) else {
        panic!("vacant")
    };
    let _panicked = std::thread::spawn(move || {
        let mut finish = std::pin::pin!(held.finish(Response::new(201)));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = finish.as_mut().poll(&mut context);
    })
    .join();
    runtime.block_on(async {
        sleep(Duration::from_millis(300)).await;
        let shown = store.get(&operation().record).await.unwrap().unwrap();
        assert!(
            matches!(shown.condition, Condition::Completed(_)),
            "the effect happened and will happen again after the lease: {:?}",
            shown.condition
        );
    });
}

/// A store that panics once must not end purging for the life of the process, without a word.
#[tokio::test(start_paused = true)]
async fn a_janitor_outlives_a_panic_of_its_store() {
    struct Jumpy(Arc<AtomicUsize>);

    #[async_trait]
    impl Inspect for Jumpy {
        async fn get(&self, _: &RecordId) -> Result<Option<RecordInfo>, Error> {
            Ok(None)
        }
        async fn lapsed(&self, _: Option<&Cursor>, _: usize) -> Result<LapsedPage, Error> {
            Err(Error::invalid("not asked"))
        }
        async fn purge_expired(&self, _: usize) -> Result<Purged, Error> {
            let before = self.0.fetch_add(1, Ordering::SeqCst);
            assert!(before > 0, "planted");
            Ok(Purged {
                removed: 0,
                more: false,
            })
        }
    }

    let asked = Arc::new(AtomicUsize::new(0));
    let janitor = Janitor::new(Jumpy(Arc::clone(&asked))).start().unwrap();
    sleep(3_600 * SECOND).await;
    janitor.stop().await;
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked > 1, "asked {asked} time in an hour");
}
