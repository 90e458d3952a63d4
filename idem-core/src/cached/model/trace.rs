//! A violation, told so that a person can follow it.

use std::fmt;

use super::config::Model;
use super::steps::Step;
use super::world::{Kept, OPERATOR, Phase, State, What, World};
use crate::explorer::search::Trace;

impl fmt::Display for Trace<Model> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, invariant) = (self.steps.len(), self.violation.invariant);
        let what = self.violation.what;
        writeln!(f, "{invariant:?} violated after {count} steps: {what}")?;
        for (number, (step, world)) in self.steps.iter().enumerate() {
            let step = match step {
                Step::Caller(index, act) => format!("{}: {act:?}", letter(*index as u8)),
                step => format!("{step:?}"),
            };
            write!(f, "{:>4}  {step:<40}", number + 1)?;
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
                write!(f, "{}#{}", letter(record.token), record.attempt)?;
                match record.state {
                    State::Completed(by) => write!(f, " completed by {}", letter(by))?,
                    State::InFlight { lease, .. } if record.is_live() => {
                        write!(f, " lease {lease}")?;
                    }
                    State::InFlight { .. } => write!(f, " not live")?,
                }
                write!(f, " kept {}", record.retention)?;
            }
        }
        for kept in self.caches.iter().flatten() {
            write!(f, "; cache: {kept}")?;
        }
        for late in self.late.iter().flatten() {
            match &late.put {
                Some(put) => write!(f, "; late: {}", put.kept)?,
                None => write!(f, "; late: removal")?,
            }
        }
        for (index, caller) in self.callers.iter().enumerate() {
            match caller.phase {
                Phase::Over => {}
                Phase::Keeps { put, .. } => {
                    write!(f, "; {} keeps {}", letter(index as u8), put.kept)?;
                }
                phase => write!(f, "; {} {phase:?}", letter(index as u8))?,
            }
        }
        if self.excused > 0 {
            write!(f, "; excused {}", self.excused)?;
        }
        Ok(())
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Mark(by) => write!(f, "mark of {} for {}", letter(by), self.left),
            What::Copy(by) => write!(f, "copy of {} for {}", letter(by), self.left),
        }
    }
}

fn letter(name: u8) -> char {
    match name {
        OPERATOR => 'O',
        name => char::from(b'A' + name),
    }
}
