//! Looks for a script on which a store differs from the specification, and makes it short.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::play::play;
use super::script::Script;
use crate::Harness;
use crate::agree::Precision;
use crate::effort::{effort, report, seed};

/// How many scripts are played by default; `IDEM_EFFORT` multiplies it.
const SCRIPTS: u32 = 128;

/// How often a failing script is played again to make it shorter.
const SHRINK_STEPS: usize = 500;

/// Plays scripts until the store differs from the specification.
///
/// # Panics
/// If it differs: with the shortest script found.
pub(crate) async fn search<H: Harness>(
    scripts: impl Strategy<Value = Script>,
    precision: Precision,
) {
    let seed = seed().unwrap_or(1);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng(seed));
    let count = SCRIPTS.saturating_mul(effort());
    let mut steps = 0;
    for number in 1..=count {
        let mut tree = scripts
            .new_tree(&mut runner)
            .expect("scripts are never rejected");
        let script = tree.current();
        let length = script.len();
        if let Err(found) = attempt::<H>(script, precision).await {
            let shortest = shrink::<H>(&mut tree, precision).await.unwrap_or(found);
            panic!(
                "script {number} from seed {seed} (again with IDEM_SEED={seed}): \
                 the store is not the state machine. The shortest script found:\n{shortest}"
            );
        }
        steps += length;
    }
    report(&format!("{count} scripts, {steps} steps, from seed {seed}"));
}

/// Plays a script; a panic of the store is a fault like any other.
async fn attempt<H: Harness>(script: Script, precision: Precision) -> Result<(), String> {
    match tokio::spawn(play::<H>(script.clone(), precision)).await {
        Ok(result) => result,
        Err(failed) => Err(format!("{script:#?}\n   it ended in a panic: {failed}\n")),
    }
}

/// The fault of the shortest script that still fails, if any shorter one does.
async fn shrink<H: Harness>(
    tree: &mut impl ValueTree<Value = Script>,
    precision: Precision,
) -> Option<String> {
    let mut shortest = None;
    let mut going_on = tree.simplify();
    for _ in 0..SHRINK_STEPS {
        if !going_on {
            break;
        }
        going_on = match attempt::<H>(tree.current(), precision).await {
            Err(fault) => {
                shortest = Some(fault);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    shortest
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
