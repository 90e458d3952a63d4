//! The store: every call is one step of the real state machine on the one record, and each such step
//! is held against the invariants.

use super::invariants::{Invariant, Violation};
use super::model::Model;
use super::stored::{answer, answered, token};
use super::world::{Held, OPERATOR, Op, Record, State, Try, World};
use crate::machine::Change;
use crate::{Completion, Holder, Outcome, Update};

/// A call to the store, complete with who makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) by: Held,
    pub(super) made_by: MadeBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MadeBy {
    /// The caller whose token it names.
    Holder,
    /// A superseded attempt that looks at what stands.
    Superseded,
    /// A person, with the holder that was shown.
    Operator,
}

impl Call {
    /// The answer that it would record.
    fn answer(&self) -> Try {
        match self.made_by {
            MadeBy::Operator => OPERATOR,
            MadeBy::Holder | MadeBy::Superseded => self.by.by,
        }
    }
}

/// What the store said.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Reserve(Outcome),
    Complete(Completion),
    Update(Update),
}

impl Model {
    /// Applies a call: machine step, change, ghosts, checks.
    pub(super) fn apply(&self, world: &mut World, call: Call) -> Result<Said, Violation> {
        let stored = world.record.map(|record| self.stored(&record));
        let stored = stored.as_ref();
        let now = self.now(0);
        let holder = || {
            Holder::new(
                self.operation.record.clone(),
                token(call.by.by),
                u32::from(call.by.attempt),
            )
        };
        let (said, change) = match call.op {
            Op::Reserve { hold } => {
                let request = self.request(call.by.by, hold);
                let (outcome, change) = (self.rules.reserve)(stored, request, now);
                (Said::Reserve(outcome), change)
            }
            Op::Renew => {
                let terms = self.terms;
                let (update, change) = (self.rules.renew)(stored, &holder(), terms, None, now);
                (Said::Update(update), change)
            }
            Op::Complete => {
                let answer = answer(call.answer());
                let (completion, change) = (self.rules.complete)(stored, &holder(), &answer, now);
                (Said::Complete(completion), change)
            }
            Op::Abandon => {
                let (update, change) = (self.rules.abandon)(stored, &holder(), now);
                (Said::Update(update), change)
            }
            Op::Release => {
                let (update, change) = (self.rules.release)(stored, &holder(), now);
                (Said::Update(update), change)
            }
        };
        let after = match change {
            Change::Keep => world.record,
            Change::Put(record) => Some(self.kept(&record)),
            Change::Remove => None,
        };
        self.settle(world, call, &said, after)?;
        Ok(said)
    }

    /// Takes the record's new state over, and checks what was said and done.
    fn settle(
        &self,
        world: &mut World,
        call: Call,
        said: &Said,
        after: Option<Record>,
    ) -> Result<(), Violation> {
        use Invariant::{OneAnswer, Orderly};
        match (call.op, said) {
            (Op::Reserve { hold }, Said::Reserve(outcome)) => {
                self.settle_reserve(world, call, hold, outcome, after)?;
            }
            (op, said) => {
                let superseded = matches!(
                    said,
                    Said::Complete(Completion::Superseded) | Said::Update(Update::Superseded)
                );
                self.check_write(op, call.by, superseded, world, after)?;
                if after.is_none() && world.record.is_some() {
                    world.record_ends();
                }
                world.record = after;
            }
        }
        match said {
            Said::Complete(Completion::Completed { .. }) => {
                let first = world.ghosts.recorded.is_none();
                self.check(OneAnswer, first, "a second answer was recorded")?;
                let mine = matches!(world.record, Some(Record { state: State::Completed(answer), .. })
                    if answer == call.answer());
                self.check(OneAnswer, mine, "recorded, and not in the record")?;
                world.ghosts.recorded = Some(call.answer());
            }
            Said::Complete(Completion::AlreadyCompleted(replay))
            | Said::Update(Update::AlreadyCompleted(replay))
            | Said::Reserve(Outcome::Replay(replay)) => {
                let stands = world.ghosts.recorded == Some(answered(replay));
                self.check(
                    OneAnswer,
                    stands,
                    "replayed what is not the recorded answer",
                )?;
            }
            Said::Reserve(Outcome::Mismatch) => {
                self.check(Orderly, false, "a mismatch, and all ask for the same")?;
            }
            _ => {}
        }
        let held = world.record.map(|record| record.holder);
        let known = held.is_none() || held == world.ghosts.holder;
        let other = "the record names another holder than the one who was told so";
        self.check(Orderly, known, other)
    }

    fn settle_reserve(
        &self,
        world: &mut World,
        call: Call,
        hold: bool,
        outcome: &Outcome,
        after: Option<Record>,
    ) -> Result<(), Violation> {
        use Invariant::{Kept, NoWayBack, Orderly};
        let Outcome::Reserved { attempt, .. } = outcome else {
            let kept = after == world.record;
            return self.check(Orderly, kept, "a refused reserve changed the record");
        };
        let Some(new) = after else {
            return self.check(Orderly, false, "reserved, and no record is there");
        };
        let told = Held {
            by: call.by.by,
            attempt: *attempt as u8,
        };
        match world.record {
            Some(old) if new.holder.attempt > 1 || !old.may_be_forgotten() => {
                let State::InFlight {
                    started, abandoned, ..
                } = old.state
                else {
                    return self.check(Kept, false, "a completed record was reserved anew");
                };
                if old.holder == told {
                    // R10
                    let again = "granted again, although it has started or was abandoned";
                    self.check(NoWayBack, !started && !abandoned, again)?;
                } else if new.holder.attempt == 1 {
                    self.check(Kept, false, "an unfinished record was reserved anew")?;
                    world.record_ends();
                } else {
                    let again = call.made_by == MadeBy::Superseded;
                    self.check_takeover(hold, again, &old, &new, world)?;
                }
            }
            ended => {
                if ended.is_some() {
                    world.record_ends();
                }
                let first = new.holder.attempt == 1 && new.retention == self.config.retention;
                self.check(Orderly, first, "a vacant key was not reserved as attempt 1")?;
            }
        }
        let leased = new.hold == hold
            && matches!(new.state, State::InFlight { lease, abandoned: false, .. }
                if lease >= self.config.lease);
        self.check(
            Orderly,
            leased,
            "reserved without the lease that was asked for",
        )?;
        world.record = Some(new);
        world.ghosts.holder = Some(told);
        Ok(())
    }

    /// A janitor's purge of the one record, if the rules call it expired.
    pub(super) fn purge(&self, world: &mut World) -> Result<bool, Violation> {
        let Some(record) = world.record else {
            return Ok(false);
        };
        if !(self.rules.is_expired)(&self.stored(&record), self.now(0)) {
            return Ok(false);
        }
        let may = record.may_be_forgotten();
        self.check(Invariant::Kept, may, "purged before it was expired")?;
        world.record_ends();
        world.record = None;
        Ok(true)
    }
}

impl World {
    /// The record is gone; what comes next is another one.
    fn record_ends(&mut self) {
        let settled = self.record.is_some_and(|record| {
            matches!(record.state, State::Completed(_)) && record.may_be_forgotten()
        });
        if settled {
            self.ghosts.unsettled = None;
        }
        self.ghosts.holder = None;
        self.ghosts.recorded = None;
        self.ghosts.charges = 0;
        for caller in &mut self.callers {
            caller.current = false;
        }
    }
}
