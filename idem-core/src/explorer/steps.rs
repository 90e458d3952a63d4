//! Everything that can happen next: to the clock, in the network, to a caller.
//!
//! Where a caller only takes note of an answer, that is part of the step in which the store gave it:
//! such a note can be taken any time later without any difference to anybody, except where a lease is
//! counted meanwhile. So a grant and a starting renewal are noted in steps of their own.

use super::happened::{Act, Fate, Step};
use super::invariants::{Invariant, Violation};
use super::model::Model;
use super::search::Successor;
use super::store::{Call, MadeBy, Said};
use super::world::{CALLERS, Caller, Held, Late, Op, Phase, State, Try, World};
use crate::executor::protocol::End;

/// Collects the successors of one state.
pub(super) struct Steps<'a> {
    model: &'a Model,
    from: World,
    found: &'a mut Vec<Successor<Model>>,
}

impl Model {
    /// All states that can come next, in an order that depends on nothing but the state.
    pub(super) fn successors(&self, from: &World, found: &mut Vec<Successor<Self>>) {
        found.clear();
        let mut steps = Steps {
            model: self,
            from: *from,
            found,
        };
        steps.take(Step::Tick, |model, world| {
            world.tick(model.oldest());
            Ok(())
        });
        if from.record.is_some() {
            steps.take(Step::Purge, |model, world| model.purge(world).map(drop));
        }
        for index in 0..CALLERS {
            steps.of_caller(index);
        }
        steps.of_operator();
    }

    fn send(&self, world: &mut World, index: usize, op: Op) -> Result<Said, Violation> {
        let caller = &world.callers[index];
        let made_by = match caller.phase {
            Phase::ReservingAgain { .. } => MadeBy::Superseded,
            _ => MadeBy::Holder,
        };
        let by = caller.held(index);
        self.apply(world, Call { op, by, made_by })
    }
}

impl Steps<'_> {
    fn take(
        &mut self,
        step: Step,
        change: impl FnOnce(&Model, &mut World) -> Result<(), Violation>,
    ) {
        let mut world = self.from;
        let changed = change(self.model, &mut world);
        if changed.is_err() || world != self.from {
            self.found.push(Successor {
                step,
                world: changed.map(|()| world),
            });
        }
    }

    fn of_caller(&mut self, index: usize) {
        let caller = self.from.callers[index];
        let act = |act| Step::Caller(index as u8, act);
        if let Some(op) = caller.asks() {
            self.of_call(index, op);
        }
        match caller.phase {
            Phase::Granted => {
                self.take(act(Act::Hears), |model, world| model.begins(world, index));
            }
            Phase::Renewed => {
                let late = caller.deadline == 0;
                self.take(act(Act::Hears), |model, world| {
                    model.after_start(world, index, Said::Update(crate::Update::Done), late)
                });
            }
            Phase::Running => self.of_run(index),
            Phase::Closing(_)
                if self.model.rules.decides_before_heartbeat_stops && caller.sends == 1 =>
            {
                self.of_heartbeat(index);
            }
            Phase::Over if caller.retries > 0 => {
                self.take(act(Act::BeginsAnew), |_, world| {
                    let caller = &mut world.callers[index];
                    caller.retries -= 1;
                    caller.serial += 1;
                    caller.ask(Phase::Reserving);
                    Ok(())
                });
            }
            _ => {}
        }
        self.of_end(index);
        self.of_copies(index);
    }

    /// The call under way meets its fate.
    fn of_call(&mut self, index: usize, op: Op) {
        let act = |fate| Step::Caller(index as u8, Act::Call(op, fate));
        self.take(act(Fate::Answered), |model, world| {
            let said = model.send(world, index, op)?;
            model.hear(world, index, said, false)
        });
        let caller = self.from.callers[index];
        if matches!(caller.phase, Phase::Reserving | Phase::Starting) {
            self.take(act(Fate::AnsweredLate), |model, world| {
                let said = model.send(world, index, op)?;
                model.hear(world, index, said, true)
            });
        }
        self.take(act(Fate::AnswerLost), |model, world| {
            model.send(world, index, op)?;
            model.hear_nothing(world, index)
        });
        self.take(act(Fate::Lost), |model, world| {
            model.hear_nothing(world, index)
        });
        if self.has_room_for_a_copy() {
            self.take(act(Fate::Delayed), |model, world| {
                world.callers[index].leave(op);
                model.hear_nothing(world, index)
            });
        }
    }

    fn of_run(&mut self, index: usize) {
        let act = |act| Step::Caller(index as u8, act);
        self.of_heartbeat(index);
        let caller = self.from.callers[index];
        if !caller.charged && caller.handler > 0 {
            self.take(act(Act::Charges), |model, world| {
                model.charges(world, index)
            });
        }
        // `Release` says that nothing happened, and `Abandon` that it is safe to run again: under
        // `Hold`, where nothing deduplicates, that nothing happened.
        let mut ends = vec![End::Complete, End::Unknown];
        if !caller.charged {
            ends.push(End::Release);
        }
        if !caller.charged || !caller.hold {
            ends.push(End::Abandon);
        }
        for end in ends {
            self.take(act(Act::Ends(end)), |model, world| {
                model.ends(world, index, end)
            });
        }
    }

    fn of_heartbeat(&mut self, index: usize) {
        let caller = self.from.callers[index];
        if caller.beats == 0 {
            return;
        }
        let act = |fate| Step::Caller(index as u8, Act::Beats(fate));
        self.take(act(Fate::Answered), |model, world| {
            let said = model.send(world, index, Op::Renew)?;
            let caller = &mut world.callers[index];
            match said {
                Said::Update(crate::Update::Done) => caller.beats -= 1,
                _ => {
                    caller.beats = 0;
                    caller.superseded = true;
                }
            }
            Ok(())
        });
        self.take(act(Fate::AnswerLost), |model, world| {
            model.send(world, index, Op::Renew)?;
            world.callers[index].beats -= 1;
            Ok(())
        });
        if self.has_room_for_a_copy() {
            self.take(act(Fate::Delayed), |_, world| {
                let caller = &mut world.callers[index];
                caller.leave(Op::Renew);
                caller.beats -= 1;
                Ok(())
            });
        }
    }

    /// The process dies, or its future is dropped.
    fn of_end(&mut self, index: usize) {
        let caller = self.from.callers[index];
        let act = |act| Step::Caller(index as u8, act);
        if caller.phase == Phase::Over {
            return;
        }
        let asks = caller.asks();
        let copies: &[bool] = if asks.is_some() && self.has_room_for_a_copy() {
            &[false, true]
        } else {
            &[false]
        };
        for &copy in copies {
            let left = asks.filter(|_| copy);
            self.take(act(Act::Crashes { copy }), |_, world| {
                let caller = &mut world.callers[index];
                if let Some(op) = left {
                    caller.leave(op);
                }
                caller.end();
                Ok(())
            });
            if caller.is_in_background() {
                continue;
            }
            self.take(act(Act::IsDropped { copy }), |model, world| {
                let caller = &mut world.callers[index];
                if let Some(op) = left {
                    caller.leave(op);
                }
                model.is_dropped(caller);
                Ok(())
            });
        }
    }

    fn of_copies(&mut self, index: usize) {
        let copies = self.from.callers[index].copies;
        for (place, late) in copies.iter().enumerate() {
            let Some(late) = *late else { continue };
            if place > 0 && copies[place - 1] == Some(late) {
                continue;
            }
            let step = Step::Caller(index as u8, Act::CopyLands(late.op));
            self.take(step, |model, world| {
                let caller = &mut world.callers[index];
                caller.copies[place] = None;
                caller.copies.sort_unstable();
                let by = Held {
                    by: Try {
                        caller: index as u8,
                        serial: late.serial,
                    },
                    attempt: late.attempt,
                };
                let call = Call {
                    op: late.op,
                    by,
                    made_by: MadeBy::Holder,
                };
                model.apply(world, call).map(drop)
            });
        }
    }

    fn of_operator(&mut self) {
        let operator = self.from.operator;
        if let Some(record) = self.from.record
            && matches!(record.state, State::InFlight { .. })
            && operator.looks > 0
        {
            self.take(Step::OperatorLooks, |_, world| {
                world.operator.looks -= 1;
                world.operator.shown = Some(record.holder);
                Ok(())
            });
        }
        let Some(by) = operator.shown else { return };
        // Who resolves so that it may run again says that the holder is dead.
        let index = usize::from(by.by.caller);
        let dead = !self.from.callers[index].is_alive_as(by);
        for op in [Op::Complete, Op::Abandon, Op::Release] {
            if op != Op::Complete && !dead && self.model.config.operator_is_right {
                continue;
            }
            self.take(Step::OperatorResolves(op), |model, world| {
                world.operator.shown = None;
                let made_by = MadeBy::Operator;
                let before = world.record;
                model.apply(world, Call { op, by, made_by })?;
                if world.record != before {
                    world.ghosts.unsettled = None;
                }
                Ok(())
            });
        }
    }

    fn has_room_for_a_copy(&self) -> bool {
        self.from.copies_under_way() < self.model.config.copies
    }
}

impl Model {
    /// The handler charges: once per run, with the derived key, which is the same in every attempt.
    fn charges(&self, world: &mut World, index: usize) -> Result<(), Violation> {
        let Some(provider) = self.config.provider else {
            return Ok(());
        };
        let caller = &mut world.callers[index];
        caller.charged = true;
        if world.provider > 0 {
            return Ok(()); // It remembers, and answers as it did.
        }
        world.provider = provider.window;
        // A run of a record that is gone counts for none that stands.
        if caller.current {
            let first = world.ghosts.charges == 0;
            self.check(Invariant::OneCharge, first, "charged a second time")?;
            world.ghosts.charges = 1;
        }
        Ok(())
    }
}

impl Caller {
    /// The call that is under way.
    pub(super) fn asks(&self) -> Option<Op> {
        match self.phase {
            Phase::Reserving => Some(Op::Reserve { hold: self.hold }),
            Phase::ReservingAgain { hold } | Phase::Undoing { hold } => Some(Op::Reserve { hold }),
            Phase::Starting | Phase::RenewingLater => Some(Op::Renew),
            Phase::Closing(op) | Phase::GivingBack(op) => Some(op),
            Phase::CompletingLater => Some(Op::Complete),
            Phase::Granted | Phase::Renewed | Phase::Running | Phase::Over => None,
        }
    }

    /// The call under way stays behind.
    fn leave(&mut self, op: Op) {
        // A reserve names no attempt.
        let attempt = match op {
            Op::Reserve { .. } => 0,
            _ => self.attempt,
        };
        self.leave_copy(Late {
            op,
            serial: self.serial,
            attempt,
        });
    }
}
