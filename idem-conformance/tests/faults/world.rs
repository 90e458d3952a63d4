//! One operation, one store, and clients behind connections that fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_conformance::faults::{Faults, Unreliable};
use idem_core::{
    Answer, Clock, Condition, Executed, Fingerprint, Idempotency, Inspect, Key, MemoryStore,
    OnConflict, OnLapse, Operation, RecordInfo, Recorded, Scope, Timestamp,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::provider::Provider;
use crate::report::shown;
use crate::seeds::Numbers;

/// The longer of two.
pub(crate) const LEASE: Duration = Duration::from_secs(40);
/// Shorter than the time in which a call is sent again and again.
const SHORT_LEASE: Duration = Duration::from_secs(4);
pub(crate) const LONGEST_AGE: Duration = Duration::from_secs(240);
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const RESEND_FOR: Duration = Duration::from_secs(5);
pub(crate) const CALL_TIMEOUTS: Duration = CALL_TIMEOUT.saturating_add(RESEND_FOR);

/// Longer than three leases.
const LONGEST_DELAY: Duration = Duration::from_secs(150);

/// At worst more than four calls in ten go wrong.
const FAULTS: Faults = Faults {
    refused: 40,
    lost: 60,
    unanswered: 80,
    slow: 40,
    late: 60,
    copied: 60,
    dropped: 50,
    silent: 50,
    longest_delay: LONGEST_DELAY,
};

/// What everybody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    RunAgain,
    RunAgainWithinAge,
    Hold,
}

pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) provider: Provider,
    pub(crate) operation: Operation,
    store: MemoryStore,
    faults: Faults,
    lease: Duration,
    begun: Instant,
    numbers: Mutex<Numbers>,
    pub(crate) processes: Mutex<Vec<Process>>,
    answers: Mutex<Vec<Executed>>,
    pub(crate) diary: Mutex<Vec<(Duration, String)>>,
}

/// An executor and its connection.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) connection: Unreliable,
    pub(crate) idempotency: Idempotency,
    /// Told to handlers that outlive their callers.
    dead: Arc<AtomicBool>,
    pub(crate) since: Duration,
}

impl Process {
    /// From now on nothing comes from it, but what is under way.
    pub(crate) async fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.connection.cut();
        // Nobody is left to try on in the background.
        self.idempotency.drain(Duration::ZERO).await;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }
}

/// A store's clock that is tokio's: under paused time both move together.
#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::default().saturating_add(self.0.elapsed())
    }
}

impl World {
    pub(crate) fn new(rules: Rules, provider: Provider, seed: u64) -> Arc<Self> {
        let mut numbers = Numbers::new(seed);
        let faults = FAULTS.milder(*numbers.pick(&[1, 3, 10]));
        let lease = *numbers.pick(&[SHORT_LEASE, LEASE]);
        Arc::new(Self {
            rules,
            provider,
            operation: Operation::new(
                Scope::new("acct_812").unwrap(),
                Key::new("order-17").unwrap(),
                Fingerprint::raw("150.00"),
            ),
            store: MemoryStore::with_clock(TokioClock(Instant::now())),
            faults,
            lease,
            begun: Instant::now(),
            numbers: Mutex::new(numbers),
            processes: Mutex::default(),
            answers: Mutex::default(),
            diary: Mutex::default(),
        })
    }

    /// Clients ask until they have their answers or give up, while all goes wrong; then all is well
    /// again for as long as it takes.
    pub(crate) async fn live_through_faults(self: &Arc<Self>) {
        let mut clients = JoinSet::new();
        let count = self.numbers().between(2, 5);
        for number in 0..count {
            let client = Client::new(number, Arc::clone(self), self.numbers().fork());
            clients.spawn(client.ask_until_answered());
        }
        let weather = tokio::spawn(Arc::clone(self).storms(self.numbers().fork()));
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
        weather.abort();
        for process in self.alive() {
            process.connection.set_faults(Faults::default());
            process.connection.restore();
        }
        // What is still under way arrives, and what nobody attends lapses.
        sleep(LONGEST_DELAY + 2 * LEASE + 2 * CALL_TIMEOUTS).await;
    }

    /// For a while the store is down for a process.
    async fn storms(self: Arc<Self>, mut numbers: Numbers) {
        loop {
            sleep(Duration::from_secs(numbers.between(1, 60) as u64)).await;
            let alive = self.alive();
            if alive.is_empty() {
                continue;
            }
            let process = numbers.pick(&alive);
            process.connection.cut();
            self.note(format!("process {} is cut off", process.number));
            sleep(Duration::from_secs(*numbers.pick(&[3, 8, 20, 100]))).await;
            if !process.is_dead() {
                process.connection.restore();
                self.note(format!("process {} is connected again", process.number));
            }
        }
    }

    fn alive(&self) -> Vec<Process> {
        let processes = self.processes.lock().unwrap();
        processes
            .iter()
            .filter(|process| !process.is_dead())
            .cloned()
            .collect()
    }

    /// A client whose connection is good.
    pub(crate) async fn ask_once_more(self: &Arc<Self>) -> Executed {
        let process = self.process(Faults::default());
        let mut client = Client::new(99, Arc::clone(self), Numbers::new(0));
        let executed = client.run(&process, true).await.unwrap();
        self.answered(99, &executed);
        executed
    }

    /// A new process of the service.
    pub(crate) fn process(&self, faults: Faults) -> Process {
        let mut numbers = self.numbers();
        let connection = Unreliable::new(Arc::new(self.store.clone()), faults, numbers.next());
        let mut settings = Idempotency::builder(connection.clone())
            .lease(self.lease)
            .store_timeouts(CALL_TIMEOUT, RESEND_FOR)
            // Longer than any handler; shorter than for ever, for those of dead processes.
            .heartbeat_ceiling(3 * LEASE)
            .on_lapse(if self.rules == Rules::Hold {
                OnLapse::Hold
            } else {
                OnLapse::RunAgain
            });
        if self.rules == Rules::RunAgainWithinAge {
            settings = settings.longest_age(LONGEST_AGE);
        }
        if numbers.percent(40) {
            settings = settings.no_heartbeat();
        }
        if numbers.percent(30) {
            let up_to = Duration::from_secs(20);
            settings = settings.on_conflict(OnConflict::Wait { up_to });
        }
        let mut processes = self.processes.lock().unwrap();
        let process = Process {
            number: processes.len(),
            connection,
            idempotency: settings.build().unwrap(),
            dead: Arc::default(),
            since: self.begun.elapsed(),
        };
        processes.push(process.clone());
        process
    }

    pub(crate) fn faulty_process(&self) -> Process {
        self.process(self.faults)
    }

    pub(crate) fn note(&self, what: String) {
        self.diary
            .lock()
            .unwrap()
            .push((self.begun.elapsed(), what));
    }

    pub(crate) fn answered(&self, client: usize, executed: &Executed) {
        self.note(format!("client {client} is answered {}", shown(executed)));
        self.answers.lock().unwrap().push(executed.clone());
    }

    pub(crate) async fn record(&self) -> Option<RecordInfo> {
        self.store.get(&self.operation.record).await.unwrap()
    }

    /// Every answer is the recorded one, except of attempts whose completion stayed unknown, and of
    /// those that said that they recorded nothing.
    pub(crate) async fn check_answers(&self) {
        let recorded = match self.record().await.map(|record| record.condition) {
            Some(Condition::Completed(Answer::Full(response))) => Some(response),
            _ => None,
        };
        let mut unrecorded = 0_u64;
        for answer in self.answers.lock().unwrap().iter() {
            let given = answer.response().map(|given| given.body_bytes());
            let rests_on_the_record = match answer {
                Executed::Ran { recorded, .. } => matches!(recorded, Recorded::Completed { .. }),
                Executed::Replayed(_) => true,
                _ => false,
            };
            if rests_on_the_record {
                let recorded = recorded.as_ref().map(|recorded| recorded.body_bytes());
                assert_eq!(given, recorded, "{}", shown(answer));
            } else if given.is_some_and(|body| body.starts_with(b"paid")) {
                unrecorded += 1;
            }
        }
        // A caller may have hung up before it was told.
        let processes = self.processes.lock().unwrap();
        let unknown: u64 = processes
            .iter()
            .map(|process| process.idempotency.counters().unrecorded)
            .sum();
        assert!(
            unrecorded <= unknown,
            "of {unrecorded} answers, {unknown} stayed unknown"
        );
    }

    fn numbers(&self) -> std::sync::MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap()
    }
}
