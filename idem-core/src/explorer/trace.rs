//! The model as it is searched, and a violation, told so that a person can follow it.

use std::fmt;

use super::happened::Step;
use super::invariants::Violation;
use super::model::Model;
use super::search::{Searched, Steps, Successor, Trace};
use super::world::{CALLERS, Held, OPERATOR, Phase, State, Try, World};

impl Searched for Model {
    type State = World;
    type Step = Step;
    type Violation = Violation;

    fn start(&self) -> World {
        self.start()
    }

    fn successors(&self, from: &World, found: &mut Vec<Successor<Self>>) {
        self.successors(from, found);
    }

    fn check_state(&self, world: &World) -> Result<(), Violation> {
        self.check_state(world)
    }

    fn canonical(&self, world: &World) -> World {
        world.canonical().0
    }

    /// States are searched under canonical names of the callers; here each caller keeps the name that
    /// it had at the start.
    fn walk(&self, choices: &[u16]) -> Steps<Self> {
        let (mut world, mut names) = self.start().canonical();
        let mut found = Vec::new();
        let mut steps = Vec::new();
        for &choice in choices {
            self.successors(&world, &mut found);
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
}

impl World {
    /// The same state with its callers under the names that they had at the start.
    pub(super) fn named(&self, names: &[u8; CALLERS]) -> Self {
        let mut world = *self;
        for (index, caller) in self.callers.iter().enumerate() {
            world.callers[usize::from(names[index])] = *caller;
        }
        world.rename(names);
        world
    }
}

impl fmt::Display for Trace<Model> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, invariant) = (self.steps.len(), self.violation.invariant);
        writeln!(
            f,
            "{invariant:?} violated after {count} steps: {}",
            self.violation.what
        )?;
        for (number, (step, world)) in self.steps.iter().enumerate() {
            let step = match step {
                Step::Caller(index, act) => format!("{}: {act:?}", letter(*index)),
                step => format!("{step:?}"),
            };
            write!(f, "{:>4}  {step:<52}", number + 1)?;
            match world {
                Some(world) => writeln!(f, "{world}")?,
                None => writeln!(f, "(violated)")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.record {
            None => write!(f, "vacant")?,
            Some(record) => {
                write!(f, "{}", record.holder)?;
                match record.state {
                    State::Completed(answer) => write!(f, " completed with {answer}")?,
                    State::InFlight {
                        lease,
                        started,
                        abandoned,
                    } => {
                        let started = if started { " started" } else { "" };
                        let abandoned = if abandoned { " abandoned" } else { "" };
                        write!(f, " lease {lease}{started}{abandoned}")?;
                    }
                }
                write!(f, " kept {} age {}", record.retention, record.age)?;
            }
        }
        for (index, caller) in self.callers.iter().enumerate() {
            if caller.phase != Phase::Over {
                write!(f, "; {} {:?}", letter(index as u8), caller.phase)?;
            }
            if caller.superseded {
                write!(f, " superseded")?;
            }
            for copy in caller.copies.iter().flatten() {
                write!(f, " +late {:?}", copy.op)?;
            }
        }
        if self.provider > 0 {
            write!(f, "; provider remembers {}", self.provider)?;
        }
        Ok(())
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.by, self.attempt)
    }
}

impl fmt::Display for Try {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == OPERATOR {
            return write!(f, "operator");
        }
        write!(f, "{}{}", letter(self.caller), self.serial)
    }
}

fn letter(index: u8) -> char {
    char::from(b'A' + index)
}
