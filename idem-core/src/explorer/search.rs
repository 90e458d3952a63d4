//! Breadth first, so that the first violation found is one of the shortest.
//!
//! A state is kept whole only while it waits to be looked at. Of those already seen, a 128-bit hash
//! remains (two different states would have to collide in all of it to hide one: with ten million
//! states, less likely than 1 in 10^24), and the step by which each was found, from which the way to it
//! is walked again.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::{Duration, Instant};

use super::happened::Step;
use super::invariants::Violation;
use super::model::Model;
use super::steps::Successor;
use super::world::World;

/// What a search has seen.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) states: usize,
    pub(super) transitions: u64,
    /// Steps from the start to the farthest state.
    pub(super) depth: usize,
    /// There is no state within the bounds that was not seen.
    pub(super) closed: bool,
    pub(super) took: Duration,
}

/// A violation, and one of the shortest ways to it: each step with the state that it led to.
pub(super) struct Trace {
    pub(super) violation: Violation,
    pub(super) steps: Vec<(Step, Option<World>)>,
    /// How many states were seen before it was found.
    pub(super) states: usize,
}

/// How a state was found: from which one, and by which of its successors.
struct Link {
    parent: u32,
    choice: u16,
}

/// Looks at no more than `most` states.
pub(super) fn explore(model: &Model, most: usize) -> Result<Report, Box<Trace>> {
    let began = Instant::now();
    let (start, _) = model.start().canonical();
    let mut seen = HashSet::<u128, BuildHasherDefault<AsItIs>>::default();
    seen.insert(hash_of(&start));
    let mut links = vec![Link {
        parent: 0,
        choice: 0,
    }];
    let mut waiting = VecDeque::from([start]);
    let mut transitions = 0;
    let mut depth = 0;
    let mut level_ends_at = 1;
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(world) = waiting.pop_front() {
        if at == level_ends_at {
            depth += 1;
            level_ends_at = links.len();
        }
        model.successors(&world, &mut found);
        for (choice, successor) in found.drain(..).enumerate() {
            transitions += 1;
            let checked = successor.world.and_then(|world| {
                let (world, _) = world.canonical();
                let new = seen.insert(hash_of(&world));
                if new {
                    model.check_state(&world)?;
                }
                Ok(new.then_some(world))
            });
            match checked {
                Ok(None) => {}
                Ok(Some(world)) => {
                    links.push(Link {
                        parent: at as u32,
                        choice: choice as u16,
                    });
                    waiting.push_back(world);
                }
                Err(violation) => {
                    let mut choices = vec![choice as u16];
                    choices.extend(way_to(at, &links));
                    choices.reverse();
                    return Err(Box::new(Trace {
                        violation,
                        steps: walk(model, &choices),
                        states: links.len(),
                    }));
                }
            }
        }
        at += 1;
        if links.len() >= most {
            break;
        }
    }
    Ok(Report {
        states: links.len(),
        transitions,
        depth,
        closed: waiting.is_empty(),
        took: began.elapsed(),
    })
}

/// The choices that lead to a state, the last one first.
fn way_to(mut at: usize, links: &[Link]) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let link = links.get(at).filter(|_| at > 0)?;
        at = link.parent as usize;
        Some(link.choice)
    })
}

/// Walks the way again. States are searched under canonical names of the callers; here each caller
/// keeps the name that it had at the start.
fn walk(model: &Model, choices: &[u16]) -> Vec<(Step, Option<World>)> {
    let (mut world, mut names) = model.start().canonical();
    let mut found = Vec::new();
    let mut steps = Vec::new();
    for &choice in choices {
        model.successors(&world, &mut found);
        let Successor { step, world: next } = found.swap_remove(usize::from(choice));
        let step = match step {
            Step::Caller(index, act) => Step::Caller(names[usize::from(index)], act),
            step => step,
        };
        let Ok(next) = next else {
            steps.push((step, None));
            break;
        };
        steps.push((step, Some(next.named(&names))));
        let (canonical, order) = next.canonical();
        names = order.map(|before| names[usize::from(before)]);
        world = canonical;
    }
    steps
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.closed { "closed" } else { "stopped" };
        write!(
            f,
            "{:>9} states, {:>10} transitions, depth {:>3}, {how}, {:.1} s",
            self.states,
            self.transitions,
            self.depth,
            self.took.as_secs_f64()
        )
    }
}

fn hash_of(world: &World) -> u128 {
    let mut hasher = Wide::default();
    world.hash(&mut hasher);
    hasher.wide()
}

/// Two multiplicative hashes side by side. Every field of a state is less than a byte, so eight fields
/// go into one word.
#[derive(Default)]
struct Wide {
    low: u64,
    high: u64,
    word: u64,
    bytes: u32,
}

impl Wide {
    fn add(&mut self, byte: u8) {
        self.word = (self.word << 8) | u64::from(byte);
        self.bytes += 1;
        if self.bytes == 8 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.low = (self.low.rotate_left(5) ^ self.word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.high = (self.high.rotate_left(23) ^ self.word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.low ^= self.low >> 29;
        self.high ^= self.high >> 31;
        (self.word, self.bytes) = (0, 0);
    }

    fn wide(mut self) -> u128 {
        // How many bytes there were tells apart what differs in length only.
        self.add(self.bytes as u8);
        self.flush();
        let mixed = |word: u64| {
            let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let word = (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            word ^ (word >> 32)
        };
        (u128::from(mixed(self.high)) << 64) | u128::from(mixed(self.low))
    }
}

impl Hasher for Wide {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a state has fields, not slices");
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(byte);
    }

    /// The variant of an enum.
    fn write_isize(&mut self, variant: isize) {
        self.add(variant as u8);
    }

    fn write_usize(&mut self, _: usize) {
        // The length of an array, which is always the same.
    }

    fn finish(&self) -> u64 {
        unreachable!("only the wide hash is used");
    }
}

/// For keys that are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u128 is hashed");
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
