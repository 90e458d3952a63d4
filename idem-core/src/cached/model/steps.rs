//! Everything that can happen next: to the clock, to the caches, in the network, to a caller.

use super::config::Model;
use super::invariants::{Invariant, Violation};
use super::stored::ticks;
use super::world::{
    CALLERS, Lands, Late, NODES, OPERATOR, Op, Phase, Put, Said, State, Then, World,
};
use crate::explorer::search::{Searched, Successor};

/// What happened, for the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Tick,
    Purge,
    Evicts(usize),
    LateCallLands(usize),
    OperatorMakes(Op),
    /// Of the caller with this index.
    Caller(usize, Act),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Its look into the cache is answered.
    Finds,
    /// Nothing there, too slow, or failed.
    FindsNothing,
    Puts(Fate),
    Removes(Fate),
    /// Its call of the store met this fate.
    Calls(Op, Fate),
    /// The store's answer arrives.
    Hears,
    Begins(Op),
    AsksAgain,
    Dies,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// Of the store: applied, and the answer takes its time.
    AnswerDelayed,
    /// Of the store: applied, and the answer is lost.
    AnswerLost,
    /// Lost before it was applied, or refused.
    Lost,
    /// Of the cache: passed over by its caller, and still under way.
    Late,
}

impl Searched for Model {
    type State = World;
    type Step = Step;
    type Violation = Violation;

    fn start(&self) -> World {
        let mut world = self.start_world();
        for index in 0..self.config.callers {
            self.reserves(&mut world, index);
        }
        world
    }

    fn successors(&self, from: &World, found: &mut Vec<Successor<Self>>) {
        found.clear();
        let model = self;
        let from = *from;
        let mut steps = Steps { model, from, found };
        steps.of_surroundings();
        for index in 0..CALLERS {
            steps.of_caller(index);
        }
    }

    fn check_state(&self, world: &World) -> Result<(), Violation> {
        self.check_what_caches_answer(world)
    }
}

/// Collects the successors of one state.
struct Steps<'a> {
    model: &'a Model,
    from: World,
    found: &'a mut Vec<Successor<Model>>,
}

impl Steps<'_> {
    fn take(&mut self, step: Step, change: impl FnOnce(&Model, &mut World)) {
        self.try_take(step, |model, world| {
            change(model, world);
            Ok(())
        });
    }

    fn try_take(
        &mut self,
        step: Step,
        change: impl FnOnce(&Model, &mut World) -> Result<(), Violation>,
    ) {
        let mut world = self.from;
        let changed = change(self.model, &mut world);
        if changed.is_err() || world != self.from {
            let world = changed.map(|()| world);
            self.found.push(Successor { step, world });
        }
    }

    fn of_surroundings(&mut self) {
        let from = self.from;
        self.take(Step::Tick, |model, world| model.tick(world));
        self.take(Step::Purge, |model, world| model.purge(world));
        for cache in 0..NODES {
            self.take(Step::Evicts(cache), |_, world| world.caches[cache] = None);
        }
        for (place, late) in from.late.iter().enumerate() {
            let Some(Late { cache, put }) = *late else {
                continue;
            };
            self.take(Step::LateCallLands(place), |model, world| {
                world.late[place] = None;
                world.late.sort_unstable();
                model.lands(world, usize::from(cache), put);
            });
        }
        let Some(record) = from.record else { return };
        if from.looks > 0 && matches!(record.state, State::InFlight { .. }) {
            for op in [Op::Complete, Op::Abandon, Op::Release] {
                self.take(Step::OperatorMakes(op), |model, world| {
                    world.looks -= 1;
                    let holder = (record.token, record.attempt);
                    model.apply(world, op, holder, OPERATOR);
                    if world.record != from.record {
                        model.is_ended_past_the_caches(world, record.token);
                    }
                });
            }
        }
    }

    fn of_caller(&mut self, index: usize) {
        let caller = self.from.callers[index];
        let act = |act| Step::Caller(index, act);
        match caller.phase {
            Phase::Looks => self.of_look(index),
            Phase::Removes(op) => self.of_removal(index, op),
            Phase::Asks { op, elapsed } => self.of_call(index, op, elapsed),
            Phase::Hears { op, said, elapsed } => {
                self.take(act(Act::Hears), |model, world| {
                    model.hear(world, index, (op, said), ticks(elapsed));
                });
            }
            Phase::Keeps { put, then } => self.of_put(index, put, then),
            Phase::Holds => self.of_holder(index),
            Phase::Over => {}
        }
    }

    fn of_look(&mut self, index: usize) {
        let act = |act| Step::Caller(index, act);
        let model = self.model;
        let token = index as u8;
        let resent = self.from.callers[index].resent;
        let kept = model.cache_of(index).and_then(|at| self.from.caches[at]);
        let found = kept.and_then(|kept| Some((kept, model.found(&kept, token)?)));
        if let Some((kept, outcome)) = found {
            self.try_take(act(Act::Finds), |model, world| {
                let what = "a resend was answered by the cache";
                model.check(Invariant::NotWithOneself, !resent, what)?;
                model.check_answer(world, &kept, token, &outcome)?;
                world.callers[index].end();
                Ok(())
            });
        }
        self.take(act(Act::FindsNothing), |model, world| {
            model.reserves_from_store(world, index);
        });
    }

    fn of_removal(&mut self, index: usize, op: Op) {
        let Some(cache) = self.model.cache_of(index) else {
            return;
        };
        let act = |fate| Step::Caller(index, Act::Removes(fate));
        self.take(act(Fate::Done), |model, world| {
            model.lands(world, cache, None);
            model.removed(world, index, op);
        });
        let has_room = self.has_room_for_a_late_call();
        let mut passed_over = |fate, late: Option<Late>| {
            self.take(act(fate), |model, world| {
                if let Some(late) = late {
                    world.leave(late);
                }
                model.excuse(world);
                model.removed(world, index, op);
            });
        };
        passed_over(Fate::Lost, None);
        if has_room {
            let cache = cache as u8;
            passed_over(Fate::Late, Some(Late { cache, put: None }));
        }
    }

    fn of_put(&mut self, index: usize, put: Put, then: Then) {
        let Some(cache) = self.model.cache_of(index) else {
            return;
        };
        let act = |fate| Step::Caller(index, Act::Puts(fate));
        self.take(act(Fate::Lost), |model, world| {
            model.put_fails(world, cache, put);
            world.goes_on(index, then);
        });
        if put.lands == Lands::Never {
            return;
        }
        self.take(act(Fate::Done), |model, world| {
            let late = put.late || (put.kept.is_mark() && world.callers[index].bypassed);
            model.lands(world, cache, Some(Put { late, ..put }));
            world.goes_on(index, then);
        });
        if self.has_room_for_a_late_call() {
            self.take(act(Fate::Late), |_, world| {
                let (cache, late) = (cache as u8, put.kept.is_mark());
                let put = Some(Put { late, ..put });
                world.leave(Late { cache, put });
                world.goes_on(index, then);
            });
        }
    }

    fn of_call(&mut self, index: usize, op: Op, elapsed: u8) {
        let act = |fate| Step::Caller(index, Act::Calls(op, fate));
        let holder = (index as u8, self.from.callers[index].attempt);
        let send = |model: &Model, world: &mut World| model.apply(world, op, holder, index as u8);
        self.take(act(Fate::Done), |model, world| {
            let said = send(model, world);
            model.hear(world, index, (op, said), ticks(elapsed));
        });
        if op.keeps() && self.model.cache_of(index).is_some() {
            self.take(act(Fate::AnswerDelayed), |model, world| {
                let said = send(model, world);
                if !matches!(said, Said::Refused | Said::Superseded) {
                    world.callers[index].phase = Phase::Hears { op, said, elapsed };
                }
            });
        }
        self.take(act(Fate::AnswerLost), |model, world| {
            send(model, world);
            model.hear_nothing(world, index, op);
        });
        self.take(act(Fate::Lost), |model, world| {
            model.hear_nothing(world, index, op);
        });
    }

    fn of_holder(&mut self, index: usize) {
        let caller = self.from.callers[index];
        let act = |act| Step::Caller(index, act);
        if caller.beats > 0 {
            self.take(act(Act::Begins(Op::Renew)), |_, world| {
                world.callers[index].beats -= 1;
                world.goes_on(index, Then::Asks(Op::Renew));
            });
        }
        if caller.repeats > 0 {
            self.take(act(Act::AsksAgain), |model, world| {
                world.callers[index].repeats -= 1;
                model.reserves(world, index);
            });
        }
        for op in [Op::Complete, Op::Abandon, Op::Release] {
            self.take(act(Act::Begins(op)), |model, world| {
                model.closes(world, index, op);
            });
        }
        self.take(act(Act::Dies), |_, world| world.callers[index].end());
    }

    fn has_room_for_a_late_call(&self) -> bool {
        self.from.late_calls() < self.model.config.late
    }
}

impl Model {
    fn tick(&self, world: &mut World) {
        world.tick(self.oldest(), self.config.longest_mark);
        // What a process without the cache waits for is not counted.
        for index in 0..CALLERS {
            if self.cache_of(index).is_none()
                && let Phase::Asks { elapsed, .. } = &mut world.callers[index].phase
            {
                *elapsed = 0;
            }
        }
    }
}
