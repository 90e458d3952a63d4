//! Callers that run operations, each again until it is answered, and what they were told.
#![cfg_attr(
    feature = "cluster",
    allow(dead_code, reason = "the points need a part")
)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use idem_core::{Executed, Idempotency, Recorded, Reservation, Response, Token};
use testkit::{Ledger, LedgerClient, Remembers, Rng, Seed, verdict};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

use crate::support::operation;

/// For what must not be stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// One answer that a caller may rely on.
struct Told {
    key: String,
    answer: String,
    at: Instant,
}

/// One executor, and the provider.
#[derive(Clone)]
struct Service {
    idempotency: Idempotency,
    provider: String,
}

impl Service {
    /// The answer that is recorded: one that nobody has acknowledged may be another one later.
    async fn ask(&self, key: &str) -> Told {
        let handler = async |reservation: Reservation| {
            let provider_key = reservation.derived_key("charge").to_string();
            let charge = block_in_place(|| {
                LedgerClient::connect(&self.provider)?.charge(key, Some(&provider_key))
            })?;
            // No two runs have the same answer.
            let answer = format!("{charge} {:?}", Token::random());
            Ok::<_, std::io::Error>(Response::new(201).body(answer))
        };
        loop {
            match self.idempotency.execute(&operation(key), handler).await {
                Ok(Executed::Ran {
                    recorded: Recorded::Unrecorded,
                    ..
                })
                | Err(_) => tokio::task::yield_now().await,
                Ok(executed) => {
                    if let Some(response) = executed.response() {
                        let answer = String::from_utf8(response.body_bytes().to_vec()).unwrap();
                        return Told {
                            key: key.to_owned(),
                            answer,
                            at: Instant::now(),
                        };
                    }
                }
            }
        }
    }
}

/// Two callers for each executor's operations, and now and then for one that was answered before.
pub(crate) struct Load {
    ledger: Ledger,
    services: Vec<Service>,
    ended: Arc<AtomicBool>,
    callers: JoinSet<Vec<Told>>,
}

impl Load {
    pub(crate) fn start(seed: &Seed, executors: Vec<Idempotency>) -> Self {
        // A provider remembers for longer than anything here takes.
        let ledger = Ledger::start(Remembers::Keys(Duration::from_secs(3600)));
        let provider = ledger.address().to_string();
        let service = |idempotency| Service {
            idempotency,
            provider: provider.clone(),
        };
        let services: Vec<_> = executors.into_iter().map(service).collect();
        let ended = Arc::new(AtomicBool::new(false));
        let mut callers = JoinSet::new();
        for caller in 0..2 * services.len() {
            // The two that ask for the same come from different executors.
            let service = services[(caller + caller / services.len()) % services.len()].clone();
            let rng = seed.rng("caller", caller as u64);
            let pair = caller % services.len();
            callers.spawn(ask_until(Arc::clone(&ended), service, pair, rng));
        }
        Self {
            ledger,
            services,
            ended,
            callers,
        }
    }

    /// Waits for the callers, asks for everything once more, and gives what came of it.
    pub(crate) async fn end(self) -> Findings {
        self.ended.store(true, Ordering::Relaxed);
        let told = timeout(PATIENCE, self.callers.join_all()).await;
        let mut told: Vec<_> = told
            .expect("a caller is stuck")
            .into_iter()
            .flatten()
            .collect();
        for service in &self.services {
            assert_eq!(service.idempotency.drain(PATIENCE).await, 0);
        }
        let keys: std::collections::BTreeSet<_> = told.iter().map(|it| it.key.clone()).collect();
        for key in &keys {
            let again = timeout(PATIENCE, self.services[0].ask(key)).await;
            told.push(again.unwrap_or_else(|_| panic!("{key} is stuck")));
        }
        Findings {
            calls: self.ledger.calls(),
            effects: self.ledger.effects(),
            answers: told.len(),
            by_key: answers_by_key(told),
        }
    }
}

async fn ask_until(
    ended: Arc<AtomicBool>,
    service: Service,
    pair: usize,
    mut rng: Rng,
) -> Vec<Told> {
    let (mut told, mut next) = (Vec::new(), 0);
    while !ended.load(Ordering::Relaxed) {
        let mut number = next;
        if next > 0 && rng.one_in(4) {
            number = rng.below(next);
        } else {
            next += 1;
        }
        told.push(service.ask(&format!("{pair}-{number}")).await);
    }
    told
}

/// The different answers that were given for an operation, in order, each with the first time.
fn answers_by_key(mut told: Vec<Told>) -> BTreeMap<String, Vec<(String, Instant)>> {
    told.sort_by_key(|told| told.at);
    let mut by_key = BTreeMap::<String, Vec<(String, Instant)>>::new();
    for Told { key, answer, at } in told {
        let answers = by_key.entry(key).or_default();
        if answers.last().is_none_or(|(last, _)| *last != answer) {
            answers.push((answer, at));
        }
    }
    by_key
}

pub(crate) struct Findings {
    effects: Vec<testkit::Effect>,
    /// Of the provider, repeats included.
    calls: u64,
    answers: usize,
    by_key: BTreeMap<String, Vec<(String, Instant)>>,
}

/// An answer that was acknowledged, and followed by another one.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) acknowledged: Instant,
    pub(crate) noticed: Instant,
}

impl Findings {
    /// No effect twice, and none missing; the answers that did not stand.
    #[track_caller]
    pub(crate) fn lost(&self) -> Vec<Lost> {
        let twice = verdict::no_effect_twice(&self.effects);
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(self.effects.len(), self.by_key.len(), "one effect each");
        let lost = self.by_key.values().flat_map(|answers| {
            answers.windows(2).map(|pair| Lost {
                acknowledged: pair[0].1,
                noticed: pair[1].1,
            })
        });
        lost.collect()
    }

    pub(crate) fn operations(&self) -> usize {
        self.by_key.len()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations, {} answers, {} effects by {} calls of the provider",
            self.by_key.len(),
            self.answers,
            self.effects.len(),
            self.calls
        )
    }
}
