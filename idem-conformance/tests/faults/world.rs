//! One operation, one store, and clients behind connections that fail.

use std::fmt::Write as _;
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
use crate::seeds::{Figures, Numbers};

pub(crate) const LEASE: Duration = Duration::from_secs(40);
pub(crate) const LONGEST_AGE: Duration = Duration::from_secs(240);
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const RESEND_FOR: Duration = Duration::from_secs(5);
pub(crate) const CALL_TIMEOUTS: Duration = CALL_TIMEOUT.saturating_add(RESEND_FOR);

/// Longer than three leases.
const LONGEST_DELAY: Duration = Duration::from_secs(150);

/// Four calls in ten go wrong.
const FAULTS: [u32; 7] = [40, 60, 80, 40, 60, 60, 50];

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
    begun: Instant,
    numbers: Mutex<Numbers>,
    processes: Mutex<Vec<Process>>,
    answers: Mutex<Vec<Executed>>,
    diary: Mutex<Vec<(Duration, String)>>,
}

/// An executor and its connection.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) connection: Unreliable,
    pub(crate) idempotency: Idempotency,
    /// Told to handlers that outlive their callers.
    dead: Arc<AtomicBool>,
    since: Duration,
}

impl Process {
    /// From now on nothing comes from it, but what is under way.
    pub(crate) fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.connection.cut();
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
        let share = *numbers.pick(&[1, 3, 10]);
        let [refused, lost, unanswered, slow, late, copied, dropped] =
            FAULTS.map(|per_mille| per_mille / share);
        let faults = Faults {
            refused,
            lost,
            unanswered,
            slow,
            late,
            copied,
            dropped,
            longest_delay: LONGEST_DELAY,
        };
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

    /// For a while the store is down for a process, or answers nothing.
    async fn storms(self: Arc<Self>, mut numbers: Numbers) {
        let silence = Faults {
            lost: 500,
            unanswered: 500,
            ..Faults::default()
        };
        loop {
            sleep(Duration::from_secs(numbers.between(1, 60) as u64)).await;
            let alive = self.alive();
            if alive.is_empty() {
                continue;
            }
            let process = numbers.pick(&alive);
            let silent = numbers.percent(50);
            if silent {
                process.connection.set_faults(silence);
            } else {
                process.connection.cut();
            }
            let number = process.number;
            let what = if silent {
                "no answers"
            } else {
                "no connection"
            };
            self.note(format!("{what} for process {number}"));
            sleep(Duration::from_secs(*numbers.pick(&[3, 8, 20, 100]))).await;
            self.note(format!("the weather clears for process {number}"));
            if !process.is_dead() {
                process.connection.set_faults(self.faults);
                process.connection.restore();
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
            .lease(LEASE)
            .store_timeouts(CALL_TIMEOUT, RESEND_FOR)
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
        for answer in self.answers.lock().unwrap().iter() {
            let rests_on_the_record = match answer {
                Executed::Ran { recorded, .. } => matches!(recorded, Recorded::Completed { .. }),
                Executed::Replayed(_) => true,
                _ => false,
            };
            if rests_on_the_record {
                let recorded = recorded.as_ref().map(|recorded| recorded.body_bytes());
                let given = answer.response().map(|given| given.body_bytes());
                assert_eq!(given, recorded, "{}", shown(answer));
            }
        }
    }

    /// All that happened, in order.
    pub(crate) fn trace(&self) -> String {
        let mut lines = self.diary.lock().unwrap().clone();
        for process in self.processes.lock().unwrap().iter() {
            let calls = process.connection.trace().into_iter();
            let number = process.number;
            lines.extend(
                calls.map(|(at, call)| {
                    (process.since + at, format!("    process {number}: {call}"))
                }),
            );
        }
        lines.sort_by_key(|(at, _)| *at);
        lines
            .into_iter()
            .fold(String::new(), |mut text, (at, line)| {
                let _ = writeln!(text, "{:>9.3} s {line}", at.as_secs_f64());
                text
            })
    }

    pub(crate) fn add_to(&self, figures: &mut Figures) {
        figures.charges += self.provider.charges();
        for process in self.processes.lock().unwrap().iter() {
            figures.calls += process.connection.trace().len();
            for (fault, count) in process.connection.injected() {
                *figures.faults.entry(fault).or_default() += count;
            }
            let counters = process.idempotency.counters();
            for (name, count) in [
                ("ran", counters.ran),
                ("replayed", counters.replayed),
                ("conflicts", counters.conflicts),
                ("unresolved", counters.unresolved),
                ("handler errors", counters.handler_errors),
                ("store errors", counters.store_errors),
                ("taken over", counters.taken_over),
                ("superseded", counters.superseded),
                ("unrecorded", counters.unrecorded),
            ] {
                *figures.outcomes.entry(name).or_default() += count;
            }
        }
    }

    fn numbers(&self) -> std::sync::MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap()
    }
}

pub(crate) fn shown(executed: &Executed) -> String {
    let body = executed
        .response()
        .map(|response| String::from_utf8_lossy(response.body_bytes()));
    match executed {
        Executed::Ran { recorded, .. } => format!(
            "{:?} by its own run, {recorded:?}",
            body.unwrap_or_default()
        ),
        Executed::Replayed(_) => format!("{:?} by a replay", body.unwrap_or_default()),
        other => format!("{other:?}"),
    }
}
