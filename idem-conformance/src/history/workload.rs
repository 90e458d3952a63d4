//! Makes histories: many callers on few records, in phases between which time moves.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use idem_core::{
    Fingerprint, Holder, Inspect as _, OnLapse, Operation, Outcome, Progress, RecordId,
    ReserveRequest,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::recorder::{History, Recorder};
use crate::Harness;
use crate::agree::Precision;
use crate::call::{Call, Reply};
use crate::effort::{effort, report, seed};
use crate::faults::{Faults, Unreliable, dropped_after};
use crate::fixture::{HOUR, age, answer, record, terms_of};
use crate::random::Random;
use crate::readable::token;

/// By default; `IDEM_EFFORT` multiplies it.
const ROUNDS: u32 = 80;
const RECORDS: u64 = 3;
const CALLERS: u64 = 8;
const PHASES: u64 = 3;
const CALLS_A_PHASE: u64 = 2;

/// Some calls lose their answers; some of those take effect later, perhaps in a later phase.
const FAULTS: Faults = Faults {
    refused: 10,
    lost: 10,
    unanswered: 25,
    slow: 0,
    late: 25,
    copied: 0,
    dropped: 20,
    silent: 0,
    longest_delay: Duration::from_millis(3),
};

/// Whether time moves between the phases of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Moves,
    /// For stores behind a cache: a call whose answer was lost may still be under way, and its put must
    /// not land later than its time to live ([`idem_core::Cache::put`]), which a leap of hours exceeds.
    StandsStill,
}

/// Records histories on the harness's store and checks each.
///
/// # Panics
/// If one is not linearizable, or if fewer than 30 % of the calls overlap another on their record.
pub(crate) async fn check_histories<H: Harness>(harness: &H, precision: Precision, time: Time) {
    let seed = seed().unwrap_or(1);
    let mut figures = Figures::default();
    for round in 0..ROUNDS.saturating_mul(effort()) {
        let mut random = Random::new(seed.wrapping_add(u64::from(round)));
        for history in record_round(harness, round, time, &mut random).await {
            let began = Instant::now();
            match history.check(precision) {
                Ok(configurations) => figures.add(&history, configurations, began.elapsed()),
                Err(broken) => panic!(
                    "round {round} from seed {seed} (again with IDEM_SEED={}; threads meet \
                     differently each time): {broken}",
                    seed.wrapping_add(u64::from(round)),
                ),
            }
        }
    }
    report(&figures.to_string());
    assert!(
        figures.overlapping * 10 >= figures.answered * 3,
        "too few calls overlap to prove anything: {figures}"
    );
}

/// One history for each of the round's records.
async fn record_round<H: Harness>(
    harness: &H,
    round: u32,
    time: Time,
    random: &mut Random,
) -> Vec<History> {
    let unreliable = Unreliable::new(harness.store(), FAULTS, random.next());
    let recorder = Recorder::new(Arc::new(unreliable));
    // All callers of all records, and the one who moves the time.
    let barrier = Arc::new(Barrier::new((RECORDS * CALLERS + 1) as usize));
    let mut callers = JoinSet::new();
    for number in 0..RECORDS {
        let known = Arc::new(Known::new(record("history", format!("{round}.{number}"))));
        for caller in 0..CALLERS {
            let store = recorder.caller(caller as usize);
            let (known, barrier) = (Arc::clone(&known), Arc::clone(&barrier));
            let mut random = random.fork();
            callers.spawn(async move {
                for _ in 0..PHASES {
                    barrier.wait().await;
                    for _ in 0..CALLS_A_PHASE {
                        known.call(&store, &mut random).await;
                    }
                    barrier.wait().await;
                }
            });
        }
    }
    for phase in 0..PHASES {
        if phase > 0 && time == Time::Moves {
            let by = HOUR * random.one_of([1, 1, 2, 9]);
            recorder.time_moves(by, harness.advance(by)).await;
        }
        barrier.wait().await;
        // Purging beside them changes nothing that anybody could see.
        recorder.purge_expired(3).await.expect("the store purges");
        barrier.wait().await;
    }
    callers.join_all().await;
    recorder.take()
}

/// What the callers of a record have seen, so that they can get in each other's way.
struct Known {
    record: RecordId,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    tokens: u64,
    requests: Vec<ReserveRequest>,
    holders: Vec<Holder>,
}

impl Known {
    fn new(record: RecordId) -> Self {
        Self {
            record,
            seen: Mutex::default(),
        }
    }

    async fn call(&self, store: &Recorder, random: &mut Random) {
        let call = self.choose(random);
        let reply = if random.per_mille(30) {
            // The caller goes away.
            dropped_after(1 + random.below(3) as u32, call.send(store)).await
        } else {
            Some(call.send(store).await)
        };
        if let (
            Call::Reserve(request),
            Some(Ok(Reply::Reserve(Outcome::Reserved { attempt, .. }))),
        ) = (call, reply)
        {
            let holder = Holder::new(self.record.clone(), request.token, attempt);
            self.lock().holders.push(holder);
        }
    }

    fn choose(&self, random: &mut Random) -> Call {
        let mut seen = self.lock();
        let kind = random.below(100);
        if kind < 8
            && let Some(request) = random.pick(&seen.requests)
        {
            return Call::Reserve(request.clone().resent());
        }
        // Mostly the latest.
        let latest = seen
            .holders
            .len()
            .saturating_sub(if random.per_mille(700) { 1 } else { 4 });
        let Some(holder) = random
            .pick(&seen.holders[latest..])
            .filter(|_| kind >= 45)
            .cloned()
        else {
            let request = self.request(&mut seen, random);
            return Call::Reserve(request);
        };
        match kind {
            45..60 => {
                // An answer of its own: which one stands can be told.
                seen.tokens += 1;
                Call::Complete(holder, answer(&format!("answer {}", seen.tokens)))
            }
            60..74 => {
                let text = format!("progress of attempt {}", holder.attempt);
                let progress = random
                    .per_mille(500)
                    .then(|| Progress::new(text).expect("short"));
                Call::Renew(holder, terms_of(1, 3), progress)
            }
            74..83 => Call::Abandon(holder),
            83..89 => Call::Release(holder),
            _ => Call::Get(self.record.clone()),
        }
    }

    fn request(&self, seen: &mut Seen, random: &mut Random) -> ReserveRequest {
        seen.tokens += 1;
        let operation = Operation {
            record: self.record.clone(),
            fingerprint: Fingerprint::raw(if random.per_mille(70) { "b" } else { "a" }),
        };
        let (lease_hours, retention_hours) = random.one_of([(0, 1), (0, 8), (1, 3), (1, 8)]);
        let on_lapse = if random.per_mille(200) {
            OnLapse::Hold
        } else {
            OnLapse::RunAgain
        };
        let longest_age = random.per_mille(100).then(|| age(random.below(3) as u32));
        let request = ReserveRequest::new(
            operation,
            token(seen.tokens),
            terms_of(lease_hours, retention_hours),
        )
        .on_lapse(on_lapse)
        .longest_age(longest_age);
        seen.requests.push(request.clone());
        request
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was recorded and checked.
#[derive(Default)]
struct Figures {
    histories: usize,
    calls: usize,
    answered: usize,
    unknown: usize,
    overlapping: usize,
    most_configurations: usize,
    longest_check: Duration,
}

impl Figures {
    fn add(&mut self, history: &History, configurations: usize, check: Duration) {
        self.histories += 1;
        self.calls += history.calls();
        self.answered += history.answered();
        self.unknown += history.unknown();
        self.overlapping += history.overlapping();
        self.most_configurations = self.most_configurations.max(configurations);
        self.longest_check = self.longest_check.max(check);
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = self.overlapping * 100 / self.answered.max(1);
        write!(
            f,
            "{} histories, {} calls, {} of them of unknown outcome; {share} % of the answered ones \
             overlap another on their record; longest check {:.1?}, {} configurations",
            self.histories, self.calls, self.unknown, self.longest_check, self.most_configurations
        )
    }
}
