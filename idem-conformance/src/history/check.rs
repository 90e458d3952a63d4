//! The checker: Wing and Gong's search for an order, with Lowe's memory of where it has been.
//!
//! A *configuration* is the set of calls that have taken effect, and the record and time that they left.
//! From each, the next to take effect is any call that began before the earliest answer still to come:
//! one that began later must wait for it. What was visited once need not be visited again, so the search
//! is exponential in the number of callers only, not in the length of the history.

use std::collections::HashMap;
use std::sync::Arc;

use idem_core::Timestamp;
use idem_core::machine::{Change, Record};

use super::recorder::{End, Entry, Event, History};
use crate::agree::Precision;
use crate::call::Reply;

/// A history that no order of its calls explains. Displays the part of it that cannot be explained.
#[derive(Debug)]
pub struct NotLinearizable {
    /// Up to the first answer that cannot be explained.
    pub(super) shortest: History,
}

impl History {
    /// Looks for an order that explains the history; gives how many configurations that took.
    ///
    /// The record must have been vacant when it was first called. [`Precision::Exact`] where the store's
    /// clock stands still but for [`Recorder::time_moves`](super::Recorder::time_moves).
    ///
    /// # Errors
    /// If there is none.
    pub fn check(&self, precision: Precision) -> Result<usize, NotLinearizable> {
        let calls = Calls::of(&self.entries);
        explain(&calls, precision).map_err(|_| NotLinearizable {
            shortest: self.shortest_unexplained(precision),
        })
    }

    /// A history is explained only if each of its beginnings is: so the first answer that cannot be
    /// explained is found by halving.
    fn shortest_unexplained(&self, precision: Precision) -> Self {
        let mut answers: Vec<_> = self
            .entries
            .iter()
            .filter_map(|entry| entry.ended())
            .collect();
        answers.sort_unstable();
        let first = answers.partition_point(|end| {
            let beginning = self.up_to(end.turn);
            explain(&Calls::of(&beginning.entries), precision).is_ok()
        });
        answers
            .get(first)
            .map_or_else(|| self.up_to(u64::MAX), |end| self.up_to(end.turn))
    }

    /// What was known when the answer of this turn had come.
    fn up_to(&self, turn: u64) -> Self {
        let begun = self.entries.iter().filter(|entry| entry.began.turn < turn);
        let known = begun.map(|entry| match entry.ended() {
            Some(end) if end.turn > turn => Arc::new(Entry {
                end: Default::default(),
                event: entry.event.clone(),
                ..**entry
            }),
            _ => Arc::clone(entry),
        });
        Self {
            record: self.record.clone(),
            entries: known.collect(),
        }
    }
}

/// A call as the search sees it.
pub(super) struct Calls<'a>(pub(super) Vec<OneCall<'a>>);

pub(super) struct OneCall<'a> {
    pub(super) event: &'a Event,
    pub(super) began: u64,
    /// `u64::MAX` if it was never answered.
    pub(super) ended: u64,
    pub(super) answer: Option<&'a Reply>,
}

impl<'a> Calls<'a> {
    pub(super) fn of(entries: &'a [Arc<Entry>]) -> Self {
        let may_take_effect =
            |entry: &&'a Arc<Entry>| !matches!(entry.end.get(), Some(End::NotApplied));
        let calls = entries.iter().filter(may_take_effect).map(|entry| OneCall {
            event: &entry.event,
            began: entry.began.turn,
            ended: entry.ended().map_or(u64::MAX, |end| end.turn),
            answer: match entry.end.get() {
                Some(End::Answered(_, reply)) => Some(&**reply),
                _ => None,
            },
        });
        Self(calls.collect())
    }
}

/// The record and the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    record: Option<Record>,
    now: Timestamp,
}

impl State {
    /// What becomes of it when the call takes effect; `None` if its answer was another.
    pub(super) fn after(&self, call: &OneCall<'_>, precision: Precision) -> Option<Self> {
        let (record, now) = (self.record.as_ref(), self.now);
        match call.event {
            Event::Moved(by) => Some(Self {
                record: self.record.clone(),
                now: now.saturating_add(*by),
            }),
            Event::Call(asked) => {
                let (specified, change) = asked.specified(record, now);
                let agrees = call
                    .answer
                    .is_none_or(|seen| precision.agree(seen, &specified));
                agrees.then(|| Self {
                    record: match change {
                        Change::Keep => self.record.clone(),
                        Change::Put(record) => Some(record),
                        Change::Remove => None,
                    },
                    now,
                })
            }
        }
    }
}

/// How many configurations were visited until an order was found; as an error, if there is none.
pub(super) fn explain(calls: &Calls<'_>, precision: Precision) -> Result<usize, usize> {
    let calls = &calls.0;
    let mut visited: HashMap<Set, Vec<State>> = HashMap::new();
    let mut to_visit = vec![(Set::empty(calls.len()), State::default())];
    let mut count = 0;
    while let Some((done, state)) = to_visit.pop() {
        count += 1;
        let left = || {
            calls
                .iter()
                .enumerate()
                .filter(|(at, _)| !done.contains(*at))
        };
        let horizon = left().map(|(_, call)| call.ended).min().unwrap_or(u64::MAX);
        if horizon == u64::MAX {
            return Ok(count);
        }
        // The last pushed is tried first: the calls in the order of their answers.
        let mut next: Vec<_> = left().filter(|(_, call)| call.began < horizon).collect();
        next.sort_unstable_by_key(|(_, call)| std::cmp::Reverse(call.ended));
        for (at, call) in next {
            let Some(after) = state.after(call, precision) else {
                continue;
            };
            // Without an answer and without an effect: as if it never came.
            if call.ended == u64::MAX && after == state {
                continue;
            }
            let done = done.with(at);
            let states = visited.entry(done.clone()).or_default();
            if !states.contains(&after) {
                states.push(after.clone());
                to_visit.push((done, after));
            }
        }
    }
    Err(count)
}

/// A set of small numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Set(Box<[u64]>);

impl Set {
    fn empty(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)].into())
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    fn with(&self, at: usize) -> Self {
        let mut set = self.clone();
        set.0[at / 64] |= 1 << (at % 64);
        set
    }
}
