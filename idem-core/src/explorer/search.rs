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

/// What can be searched.
pub(crate) trait Searched: Sized {
    /// Every field fits into a byte: see [`Wide`].
    type State: Copy + Hash;
    /// What happened, for the trace.
    type Step: Copy;
    type Violation;

    fn start(&self) -> Self::State;

    /// All states that can come next, in an order that depends on nothing but the state.
    fn successors(&self, from: &Self::State, found: &mut Vec<Successor<Self>>);

    /// What must hold in every state, whichever way led to it.
    fn check_state(&self, state: &Self::State) -> Result<(), Self::Violation>;

    /// The one of all states without a difference that is searched.
    fn canonical(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// Walks a way again, for the trace.
    fn walk(&self, choices: &[u16]) -> Steps<Self> {
        let mut state = self.canonical(&self.start());
        let mut found = Vec::new();
        let mut steps = Vec::new();
        for &choice in choices {
            self.successors(&state, &mut found);
            let Successor { step, world } = found.swap_remove(usize::from(choice));
            let next = world.ok().map(|next| self.canonical(&next));
            steps.push((step, next));
            let Some(next) = next else { break };
            state = next;
        }
        steps
    }
}

/// Each step with the state that it led to, unless it violated something.
pub(crate) type Steps<M> = Vec<(<M as Searched>::Step, Option<<M as Searched>::State>)>;

pub(crate) struct Successor<M: Searched> {
    pub(crate) step: M::Step,
    pub(crate) world: Result<M::State, M::Violation>,
}

/// What a search has seen.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    /// Steps from the start to the farthest state.
    pub(crate) depth: usize,
    /// There is no state within the bounds that was not seen.
    pub(crate) closed: bool,
    pub(crate) took: Duration,
}

/// A violation, and one of the shortest ways to it.
pub(crate) struct Trace<M: Searched> {
    pub(crate) violation: M::Violation,
    pub(crate) steps: Steps<M>,
    /// How many states were seen before it was found.
    pub(crate) states: usize,
}

/// How a state was found: from which one, and by which of its successors.
struct Link {
    parent: u32,
    choice: u16,
}

/// Looks at no more than `most` states.
pub(crate) fn explore<M: Searched>(model: &M, most: usize) -> Result<Report, Box<Trace<M>>> {
    let began = Instant::now();
    let start = model.canonical(&model.start());
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
                let world = model.canonical(&world);
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
                        steps: model.walk(&choices),
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

fn hash_of(world: &impl Hash) -> u128 {
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
