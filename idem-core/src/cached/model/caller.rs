//! What `Cached` does for its callers, step by step. Every decision is that of the rules; the order of
//! steps follows `impl IdempotencyStore for Cached`.

use std::time::Duration;

use super::super::rules::Keep;
use super::config::Model;
use super::stored::answer;
use super::world::{Kept, Lands, Late, Op, Phase, Put, Said, Then, World};
use crate::{Completion, Outcome};

impl Model {
    pub(super) fn reserves(&self, world: &mut World, index: usize) {
        let request = self.request(index as u8, world.callers[index].resent);
        if self.cache_of(index).is_some() && (self.rules.may_answer)(request) {
            world.callers[index].phase = Phase::Looks;
        } else {
            self.reserves_from_store(world, index);
        }
    }

    /// The cache did not answer.
    pub(super) fn reserves_from_store(&self, world: &mut World, index: usize) {
        let keep = if self.rules.marks_first {
            let granted = Outcome::Reserved {
                attempt: 1,
                progress: None,
            };
            let request = self.request(index as u8, false);
            let longest = self.longest_mark();
            (self.rules.after_reserve)(request, &granted, longest, Duration::ZERO)
        } else {
            Keep::Nothing
        };
        self.keep(world, index, keep, Then::Asks(Op::Reserve));
    }

    pub(super) fn closes(&self, world: &mut World, index: usize, op: Op) {
        let caller = &mut world.callers[index];
        caller.granted &= op == Op::Complete;
        caller.beats = 0;
        caller.repeats = 0;
        let has_marks = self.cache_of(index).is_some() && !self.longest_mark().is_zero();
        if has_marks && (self.rules.removes_before)(op) {
            caller.phase = Phase::Removes(op);
        } else {
            self.removed(world, index, op);
        }
    }

    /// The mark was removed before this call of the store, or that was passed over.
    pub(super) fn removed(&self, world: &mut World, index: usize, op: Op) {
        let keep = if self.rules.copies_first && op == Op::Complete {
            let completed = Completion::Completed {
                remembered_for: self.terms.retention(),
            };
            self.after_complete(index, &completed, Duration::ZERO)
        } else {
            Keep::Nothing
        };
        self.keep(world, index, keep, Then::Asks(op));
    }

    /// The store's answer to the call under way arrives.
    pub(super) fn hear(
        &self,
        world: &mut World,
        index: usize,
        (op, said): (Op, Said),
        elapsed: Duration,
    ) {
        let request = self.request(index as u8, false);
        let longest = self.longest_mark();
        let caller = &mut world.callers[index];
        caller.resent = false;
        if let Said::Reserved { attempt } = said {
            caller.attempt = attempt;
            caller.granted = true;
        }
        let keep = match op {
            Op::Reserve => (self.rules.after_reserve)(request, &said.outcome(), longest, elapsed),
            Op::Renew if caller.granted => {
                let holder = self.holder(index as u8, caller.attempt);
                let fingerprint = request.operation.fingerprint;
                let update = said.update();
                let after_renew = self.rules.after_renew;
                after_renew(fingerprint, holder, self.terms, &update, longest, elapsed)
            }
            Op::Complete if caller.granted => {
                caller.granted = false;
                self.after_complete(index, &said.completion(), elapsed)
            }
            _ => Keep::Nothing,
        };
        let then = match (op, said) {
            (Op::Reserve, Said::Reserved { .. }) | (Op::Renew, _) => Then::Holds,
            _ => Then::Over,
        };
        self.keep(world, index, keep, then);
    }

    fn after_complete(&self, index: usize, completion: &Completion, elapsed: Duration) -> Keep {
        let fingerprint = self.request(index as u8, false).operation.fingerprint;
        let answer = answer(index as u8);
        (self.rules.after_complete)(fingerprint, &answer, completion, elapsed)
    }

    /// The call under way got no answer. A reserve, and what ends a run, are sent again, within bounds.
    pub(super) fn hear_nothing(&self, world: &mut World, index: usize, op: Op) {
        let caller = &mut world.callers[index];
        match op {
            Op::Renew => caller.phase = Phase::Holds,
            _ if world.resends == 0 => caller.end(),
            Op::Reserve => {
                world.resends -= 1;
                caller.resent = true;
                self.reserves(world, index);
            }
            Op::Complete | Op::Abandon | Op::Release => {
                world.resends -= 1;
                self.closes(world, index, op);
            }
        }
    }

    /// What is to be kept is put, if anything, and then the caller goes on.
    fn keep(&self, world: &mut World, index: usize, keep: Keep, then: Then) {
        let cached = self.cache_of(index).is_some();
        let Some((entry, time_to_live)) = keep.entry().filter(|_| cached) else {
            return world.goes_on(index, then);
        };
        let kept = Kept::new(&entry, time_to_live);
        let lands = if kept.is_mark() || self.config.copies_land_at_any_time {
            Lands::AnyTime
        } else {
            Lands::Within(kept.left)
        };
        let late = false;
        let put = Put { kept, lands, late };
        world.callers[index].phase = Phase::Keeps { put, then };
    }

    /// A put or a removal takes effect.
    pub(super) fn lands(&self, world: &mut World, cache: usize, put: Option<Put>) {
        world.caches[cache] = put.map(|put| put.kept);
        if put.is_some_and(|put| put.late) {
            self.excuse(world);
        }
    }

    /// A put fails, and is passed over.
    pub(super) fn put_fails(&self, world: &mut World, cache: usize, put: Put) {
        if self.rules.puts_again {
            let put = Some(Put {
                lands: Lands::AnyTime,
                ..put
            });
            let cache = cache as u8;
            world.leave(Late { cache, put });
        }
    }

    /// An operator has ended the reservation of `token`.
    pub(super) fn is_ended_past_the_caches(&self, world: &mut World, token: u8) {
        self.excuse(world);
        let caller = &mut world.callers[usize::from(token)];
        caller.bypassed = matches!(caller.phase, Phase::Hears { .. } | Phase::Keeps { .. });
    }

    /// From here on, a false conflict is allowed for as long as a mark may last.
    pub(super) fn excuse(&self, world: &mut World) {
        if self.config.shared {
            world.excused = self.config.longest_mark;
        }
    }
}

impl World {
    pub(super) fn goes_on(&mut self, index: usize, then: Then) {
        let caller = &mut self.callers[index];
        caller.bypassed = false;
        match then {
            Then::Asks(op) => caller.phase = Phase::Asks { op, elapsed: 0 },
            Then::Holds => caller.phase = Phase::Holds,
            Then::Over => caller.end(),
        }
    }
}
