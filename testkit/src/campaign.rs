//! Kills, while clients go on asking.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::RetryingClient;
use crate::history::{History, Try};
use crate::http::Request;
use crate::landing::{Landing, Tally};
use crate::ledger::Effect;
use crate::marks::{Aim, Marks};
use crate::random::{Rng, Seed};
use crate::verdict::{self, Violation};
use crate::victim::Victim;

/// How long a kill waits for its mark. Longer than all clients together stand still.
const PATIENCE: Duration = Duration::from_secs(10);

/// A run of kills.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// Decides when to kill, and how long clients pause.
    pub seed: &'a Seed,
    /// Who is killed.
    pub victim: Victim,
    /// What it reports.
    pub marks: Marks,
    /// How the clients ask. Its marks and history are the campaign's.
    pub client: RetryingClient,
    /// How many of them ask at a time.
    pub clients: u64,
    /// How many clients ask for the same operation, at about the same time.
    pub copies: u64,
    /// How often it is killed.
    pub kills: u64,
    /// The marks to kill at, in turn; each the first, second or third time that a life comes to it.
    pub at: Vec<&'static str>,
    /// One kill in so many is at a random moment instead; none if this is 0.
    pub random_one_in: u64,
    /// The latest random moment, from when the child is ready.
    pub random_within: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Findings {
    /// How it can be replayed.
    pub replay: String,
    /// Where the kills landed.
    pub landings: Vec<Landing>,
    /// The same, counted.
    pub tally: Tally,
    /// Kills whose mark never came: they landed wherever the child was.
    pub missed: u64,
    /// What the clients were told.
    pub history: History,
    /// How long it took.
    pub took: Duration,
}

impl<'a> Campaign<'a> {
    /// 4 clients, 2 for an operation; 100 kills at the marks that begin a stage, and one in 5 at random.
    #[must_use]
    pub fn new(seed: &'a Seed, victim: Victim, marks: &Marks, client: RetryingClient) -> Self {
        Self {
            seed,
            victim,
            marks: marks.clone(),
            client,
            clients: 4,
            copies: 2,
            kills: 100,
            at: vec!["received", "reserved", "charging", "charged", "completed"],
            random_one_in: 5,
            random_within: Duration::from_millis(20),
        }
    }

    /// A few kills at one mark: enough for a service that is wrong there.
    pub fn only_at(&mut self, mark: &'static str) {
        self.kills = 6;
        self.at = vec![mark];
        self.random_one_in = 0;
    }

    /// Starts the child, sends operation after operation, kills and restarts the child meanwhile; then
    /// lets every operation end and asks for each once more. Operations are called `op-0`, `op-1` and so
    /// on; `request` says what to send for one.
    ///
    /// # Panics
    ///
    /// If the child does not start, or ends by itself.
    pub fn run(mut self, request: impl Fn(&str) -> Request + Sync) -> Findings {
        let begun = Instant::now();
        let history = History::default();
        self.client.history = history.clone();
        self.client.marks = Some(self.marks.clone());
        let (over, next) = (AtomicBool::new(false), AtomicU64::new(0));
        let copies = self.copies;
        let operation = || format!("op-{}", next.fetch_add(1, Ordering::SeqCst) / copies);

        let mut rng = self.seed.rng("kills", 0);
        let aims: Vec<_> = (1..=self.kills)
            .map(|kill| self.aim(kill, &mut rng))
            .collect();
        self.victim.start(&self.marks);
        let mut landings = Vec::new();
        let mut missed = 0;
        thread::scope(|scope| {
            let _over = SetWhenDropped(&over);
            for number in 0..self.clients {
                let (client, operation) = (&self.client, &operation);
                let (over, request) = (&over, &request);
                let mut rng = self.seed.rng("client", number);
                scope.spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        let operation = operation();
                        client.ask(&operation, &request(&operation), &mut rng);
                    }
                });
            }
            for (kill, aim) in (1..).zip(&aims) {
                missed += u64::from(!self.marks.wait_for(aim, PATIENCE));
                self.victim.kill();
                landings.extend(self.marks.landings(kill));
                self.victim.start(&self.marks);
            }
        });
        self.ask_once_more(&request);
        Findings {
            replay: self.seed.to_string(),
            tally: Tally::of(self.kills, &landings),
            landings,
            missed,
            history,
            took: begun.elapsed(),
        }
    }

    fn ask_once_more(&self, request: impl Fn(&str) -> Request) {
        let mut rng = self.seed.rng("once more", 0);
        for (operation, tries) in self.client.history.operations() {
            // What is stuck has had its time.
            if tries.last().is_some_and(|last| last.definitive) {
                self.client.ask(&operation, &request(&operation), &mut rng);
            }
        }
    }

    /// Marks take turns, so that each is aimed at as often as the others.
    fn aim(&self, kill: u64, rng: &mut Rng) -> Aim {
        if self.at.is_empty() || kill.is_multiple_of(self.random_one_in) {
            return Aim::After(rng.shorter_than(self.random_within));
        }
        let at_marks = kill - kill.checked_div(self.random_one_in).unwrap_or(0);
        let turn = at_marks % self.at.len() as u64;
        Aim::Mark {
            name: self.at[usize::try_from(turn).unwrap()].to_owned(),
            nth: 1 + rng.below(3),
        }
    }
}

/// By a panic too: the clients have to end.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Findings {
    /// What must not have happened, and did.
    #[must_use]
    pub fn violations(&self, effects: &[Effect]) -> Vec<Violation> {
        verdict::all(&self.history.operations(), effects)
    }

    /// What the client of each operation was first told for good.
    #[must_use]
    pub fn told(&self) -> BTreeMap<String, Vec<u8>> {
        let operations = self.history.operations().into_iter();
        let told = operations.filter_map(|(operation, tries)| {
            let first = tries.iter().find_map(Try::acknowledged)?;
            Some((operation, first.body.clone()))
        });
        told.collect()
    }

    /// Nothing that must not have happened did.
    ///
    /// # Panics
    ///
    /// If something did: the message lists it.
    #[track_caller]
    pub fn assert_clean(&self, effects: &[Effect]) {
        let violations = self.violations(effects);
        let shown: Vec<_> = violations.iter().map(Violation::to_string).collect();
        assert!(violations.is_empty(), "{}\n{self}", shown.join("\n"));
    }
}

/// The figures, in one line, and how to have them again.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = self.history.operations();
        let tries: usize = operations.values().map(Vec::len).sum();
        write!(
            f,
            "{}, {} at no mark in time; {} operations, {tries} tries, {:.1?}; {}",
            self.tally,
            self.missed,
            operations.len(),
            self.took,
            self.replay
        )
    }
}
