//! A history as a person reads it.

use std::fmt;

use super::check::NotLinearizable;
use super::recorder::{End, Event, History};
use crate::readable::Plain;

/// A line for each call: its bar from its beginning to its answer, who called, what, and what was
/// answered. The bars count beginnings and answers, not time.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut turns: Vec<u64> = Vec::new();
        for entry in &self.entries {
            turns.push(entry.began.turn);
            turns.extend(entry.ended().map(|end| end.turn));
        }
        turns.sort_unstable();
        let column = |turn: u64| turns.partition_point(|other| *other < turn);
        writeln!(f, "{}", Plain(&self.record))?;
        for entry in &self.entries {
            let from = column(entry.began.turn);
            let (line, answer) = match entry.end.get() {
                None => ("?".repeat(turns.len() - from), "no answer".to_owned()),
                Some(End::NotApplied) => ("x".to_owned(), "not applied".to_owned()),
                Some(End::Moved(end)) => ("=".repeat(column(end.turn) - from + 1), String::new()),
                Some(End::Answered(end, reply)) => {
                    ("=".repeat(column(end.turn) - from + 1), reply.to_string())
                }
            };
            let bar = format!("{}{line}", " ".repeat(from));
            let at = entry.began.since_begin;
            write!(f, "  {bar:width$} {at:>10.1?} ", width = turns.len())?;
            match &entry.event {
                Event::Moved(by) => writeln!(f, "{} pass", Plain(*by))?,
                Event::Call(call) => writeln!(f, "caller {}: {call} -> {answer}", entry.caller)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no order of these calls explains their answers:")?;
        self.shortest.fmt(f)
    }
}

impl std::error::Error for NotLinearizable {}
