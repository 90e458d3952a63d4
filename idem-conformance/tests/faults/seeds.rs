//! Runs a scenario from many seeds.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use idem_conformance::effort::{effort, seed};
use idem_core::Executed;
use tokio::runtime::{Builder, Runtime};

use crate::provider::Provider;
use crate::world::{Rules, World};

/// How many seeds each scenario begins from; `IDEM_EFFORT` multiplies it.
const SEEDS: u64 = 1000;

/// How often a given seed is run: the pauses between an executor's resends are jittered, so that a seed
/// fixes what goes wrong but not every millisecond.
const REPLAYS: usize = 200;

/// Lives through the faults of each seed, asks once more when all is well, and checks what is promised.
///
/// # Panics
/// If a promise is broken: with all that happened, and the command that replays it.
pub(crate) fn for_each_seed(
    name: &str,
    rules: Rules,
    provider: impl Fn() -> Provider,
    promise: impl AsyncFn(&World, Executed),
) {
    let seeds: Vec<u64> = match seed() {
        Some(seed) => vec![seed; REPLAYS],
        None => (0..SEEDS * u64::from(effort())).collect(),
    };
    let mut figures = Figures::default();
    for seed in &seeds {
        let (runtime, world) = begin(rules, provider(), *seed);
        let lived = AssertUnwindSafe(|| {
            runtime.block_on(async {
                world.live_through_faults().await;
                let last = world.ask_once_more().await;
                world.check_answers().await;
                promise(&world, last).await;
            });
        });
        if let Err(panic) = catch_unwind(lived) {
            eprintln!("{}", world.trace());
            eprintln!(
                "seed {seed}; to replay it: \
                 IDEM_SEED={seed} cargo test -p idem-conformance --test faults {name}"
            );
            resume_unwind(panic);
        }
        world.add_to(&mut figures);
    }
    println!("{} seeds: {figures}", seeds.len());
    // Otherwise nothing was proven.
    for fault in [
        "refused",
        "lost",
        "unanswered",
        "slow",
        "late",
        "copied",
        "dropped",
        "silent",
    ] {
        assert!(figures.faults.contains_key(fault), "no call was {fault}");
    }
}

/// How many of so many seeds end with more than one charge.
pub(crate) fn seeds_that_charge_twice(
    seeds: u64,
    rules: Rules,
    provider: impl Fn() -> Provider,
) -> usize {
    let charges_twice = |seed: &u64| {
        let (runtime, world) = begin(rules, provider(), *seed);
        runtime.block_on(async {
            world.live_through_faults().await;
            world.ask_once_more().await;
        });
        world.provider.charges() > 1
    };
    (0..seeds).filter(charges_twice).count()
}

fn begin(rules: Rules, provider: Provider, seed: u64) -> (Runtime, Arc<World>) {
    // Paused, time moves only when everybody waits for it: an hour takes a millisecond.
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let world = runtime.block_on(async { World::new(rules, provider, seed) });
    (runtime, world)
}

/// What happened, added up.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) calls: usize,
    pub(crate) charges: usize,
    pub(crate) faults: BTreeMap<&'static str, u64>,
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} calls, of them {:?}; requests: {:?}; {} cards charged",
            self.calls, self.faults, self.outcomes, self.charges
        )
    }
}

/// Random numbers from a seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `from` to below `to`.
    pub(crate) fn between(&mut self, from: usize, to: usize) -> usize {
        from + (self.next() % (to - from) as u64) as usize
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.between(0, 100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.between(0, choices.len())]
    }

    /// Numbers of its own for somebody.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
