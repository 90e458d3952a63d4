//! The executor's steps: what a caller does when it hears an answer, hears nothing, or goes away. Every
//! decision is the protocol's own; the order of steps follows `executor::{held, reserving}`.

use super::invariants::{Invariant, Violation};
use super::model::Model;
use super::store::Said;
use super::stored::{answer, on_lapse};
use super::world::{Caller, Held, Op, Phase, World};
use crate::executor::protocol::{
    AfterStart, Begin, Close, End, GiveBack, Reply, Sequel, Superseded,
};
use crate::{OnLapse, Outcome, Update};

impl Model {
    /// The call under way was answered. `late`: it was sent a lease ago or longer.
    pub(super) fn hear(
        &self,
        world: &mut World,
        index: usize,
        said: Said,
        late: bool,
    ) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        match (caller.phase, said) {
            (Phase::Reserving, Said::Reserve(Outcome::Reserved { attempt, .. })) => {
                caller.attempt = attempt as u8;
                caller.deadline = self.config.lease;
                if late {
                    caller.deadline = 0;
                    return self.begins(world, index);
                }
                caller.phase = Phase::Granted;
            }
            // A replay, a conflict or a mismatch is answered.
            (Phase::Reserving, _) => caller.end(),
            (Phase::Starting, Said::Update(Update::Done)) => {
                let renewed_until = if late { 0 } else { self.config.lease };
                let attempt = u32::from(caller.attempt);
                let bounded = self.config.longest_age.is_some();
                let start_by = self.rules.start_by;
                caller.deadline = start_by(caller.deadline, renewed_until, attempt, bounded);
                if caller.deadline == 0 {
                    return self.after_start(world, index, Said::Update(Update::Done), true);
                }
                caller.phase = Phase::Renewed;
            }
            (Phase::Starting, said) => return self.after_start(world, index, said, late),
            (Phase::Closing(_), said) => return self.after_closing(world, index, Some(said)),
            (Phase::ReservingAgain { .. }, Said::Reserve(value)) => {
                let resent = caller.sends > 1;
                self.after_reserving_again(caller, Reply::Answered { value, resent });
            }
            (Phase::Undoing { .. }, Said::Reserve(Outcome::Reserved { attempt, .. })) => {
                caller.attempt = attempt as u8;
                self.gives_back(caller);
            }
            (Phase::RenewingLater, Said::Update(Update::Superseded)) => caller.end(),
            (Phase::RenewingLater, _) => caller.ask(Phase::CompletingLater),
            (Phase::Undoing { .. } | Phase::GivingBack(_) | Phase::CompletingLater, _) => {
                caller.end();
            }
            (phase, said) => unreachable!("{phase:?} heard {said:?}"),
        }
        Ok(())
    }

    /// The call under way got no answer: it is sent again, within bounds.
    pub(super) fn hear_nothing(&self, world: &mut World, index: usize) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        // The background does not resend its renewals: the completion that follows is as good.
        let more = caller.sends < self.config.sends && world.resends > 0;
        if more && caller.phase != Phase::RenewingLater {
            caller.sends += 1;
            world.resends -= 1;
            return Ok(());
        }
        match caller.phase {
            // The caller is told that the store did not answer; what it may have reserved is undone.
            Phase::Reserving => caller.ask_in_background(Phase::Undoing { hold: caller.hold }),
            Phase::Starting => {
                let after = (self.rules.after_start)(Reply::Unanswered, true);
                self.starts(world, index, after)?;
            }
            Phase::Closing(_) => return self.after_closing(world, index, None),
            Phase::ReservingAgain { hold } => {
                let after = (self.rules.after_reserving_again)(Reply::Unanswered);
                debug_assert_eq!(after, Superseded::Conflict);
                caller.ask_in_background(Phase::Undoing { hold });
            }
            Phase::RenewingLater => caller.ask(Phase::CompletingLater),
            Phase::CompletingLater if caller.rounds > 0 => {
                caller.rounds -= 1;
                caller.ask(Phase::RenewingLater);
            }
            Phase::CompletingLater | Phase::Undoing { .. } | Phase::GivingBack(_) => caller.end(),
            phase => unreachable!("{phase:?} waits for no answer"),
        }
        Ok(())
    }

    /// The reservation is known to its caller.
    pub(super) fn begins(&self, world: &mut World, index: usize) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        let (deadline, resent) = (caller.deadline, caller.sends > 1);
        let bounded = self.config.longest_age.is_some();
        let attempt = u32::from(caller.attempt);
        let on_lapse = on_lapse(caller.hold);
        match (self.rules.begin)(on_lapse, deadline == 0, resent, attempt, bounded) {
            Begin::Run => return self.runs(world, index),
            Begin::RenewFirst => {
                caller.ask(Phase::Starting);
                // Asked for again only where there is a longest age.
                caller.deadline = if bounded { deadline } else { 0 };
            }
            Begin::GiveBack => self.gives_back(caller),
        }
        Ok(())
    }

    pub(super) fn after_start(
        &self,
        world: &mut World,
        index: usize,
        said: Said,
        late: bool,
    ) -> Result<(), Violation> {
        let Said::Update(value) = said else {
            unreachable!("a renewal heard {said:?}");
        };
        let resent = world.callers[index].sends > 1;
        let after = (self.rules.after_start)(Reply::Answered { value, resent }, late);
        self.starts(world, index, after)
    }

    fn starts(&self, world: &mut World, index: usize, after: AfterStart) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        match after {
            AfterStart::Run => return self.runs(world, index),
            AfterStart::Standing(_) => caller.end(),
            AfterStart::Abandon => caller.ask_in_background(Phase::GivingBack(Op::Abandon)),
        }
        Ok(())
    }

    /// The handler starts.
    fn runs(&self, world: &mut World, index: usize) -> Result<(), Violation> {
        let held = world.callers[index].held(index);
        let holds = world.ghosts.holder == Some(held);
        let live = holds && world.record.is_some_and(|record| record.is_live());
        // An operator may have ended the lease, and if he called a living holder dead, there is nothing
        // left to say about who runs.
        let under = live || self.config.looks > 0;
        let what = "a handler started without a live lease";
        self.check(Invariant::StartsUnderItsLease, under, what)?;
        let settled = world.ghosts.unsettled.is_none();
        let what = "ran again, and nobody knows what became of an earlier run under Hold";
        let once = settled || !holds || !self.config.operator_is_right;
        self.check(Invariant::HoldRunsOnce, once, what)?;

        let caller = &mut world.callers[index];
        caller.phase = Phase::Running;
        caller.sends = 0;
        caller.deadline = 0;
        caller.beats = self.config.beats;
        if let Some(provider) = self.config.provider {
            caller.handler = provider.handler;
            caller.current = holds;
        }
        if caller.hold && holds {
            world.ghosts.unsettled = Some(held.by);
        }
        Ok(())
    }

    /// The run has ended.
    pub(super) fn ends(&self, world: &mut World, index: usize, end: End) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        if matches!(end, End::Abandon | End::Release)
            && world.ghosts.unsettled == Some(caller.current_try(index))
        {
            world.ghosts.unsettled = None;
        }
        caller.handler = 0;
        caller.charged = false;
        caller.current = false;
        if !self.rules.decides_before_heartbeat_stops {
            caller.beats = 0;
        }
        let attempt = u32::from(caller.attempt);
        match (self.rules.close)(end, attempt, on_lapse(caller.hold), caller.superseded) {
            Close::Complete => caller.ask(Phase::Closing(Op::Complete)),
            Close::Abandon => caller.ask(Phase::Closing(Op::Abandon)),
            Close::Release => caller.ask(Phase::Closing(Op::Release)),
            Close::Nothing => return self.answers(world, index, Sequel::Own),
            Close::ReserveAgain => return self.answers(world, index, Sequel::ReserveAgain),
        }
        Ok(())
    }

    /// The store was told how the run ended. `None`: it did not answer.
    fn after_closing(
        &self,
        world: &mut World,
        index: usize,
        said: Option<Said>,
    ) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        let resent = caller.sends > 1;
        let completes = caller.phase == Phase::Closing(Op::Complete);
        let own = caller.current_try(index);
        let sequel = match said {
            Some(Said::Complete(value)) => {
                caller.superseded |= value == crate::Completion::Superseded;
                (self.rules.after_completing)(Reply::Answered { value, resent }, &answer(own))
            }
            Some(Said::Update(value)) => {
                caller.superseded |= value == Update::Superseded && !resent;
                (self.rules.after_withdrawing)(Reply::Answered { value, resent })
            }
            None if completes => (self.rules.after_completing)(Reply::Unanswered, &answer(own)),
            None => (self.rules.after_withdrawing)(Reply::Unanswered),
            Some(said) => unreachable!("a close heard {said:?}"),
        };
        if completes && sequel == Sequel::Own && !caller.gone {
            let recorded = world.ghosts.recorded == Some(own);
            let what = "an answer was sent as recorded, and is not";
            self.check(Invariant::OneAnswer, recorded, what)?;
        }
        self.answers(world, index, sequel)
    }

    /// What the caller answers, and does next.
    fn answers(&self, world: &mut World, index: usize, sequel: Sequel) -> Result<(), Violation> {
        let caller = &mut world.callers[index];
        let completes = caller.phase == Phase::Closing(Op::Complete);
        let own = matches!(sequel, Sequel::Own | Sequel::OwnUnrecorded);
        let silent = caller.gone || !(own && caller.superseded);
        let what = "a superseded attempt sent its own answer";
        self.check(Invariant::SupersededIsSilent, silent, what)?;
        match sequel {
            Sequel::OwnUnrecorded if completes && self.rules.abandons_unrecorded => {
                caller.ask_in_background(Phase::GivingBack(Op::Abandon));
            }
            Sequel::OwnUnrecorded if completes && self.config.rounds > 0 => {
                caller.ask_in_background(Phase::RenewingLater);
                caller.rounds = self.config.rounds - 1;
            }
            Sequel::ReserveAgain if !caller.gone => {
                let hold = self.rules.again == OnLapse::Hold;
                caller.ask_in_background(Phase::ReservingAgain { hold });
                caller.serial += 1;
                caller.attempt = 0;
            }
            _ => caller.end(),
        }
        Ok(())
    }

    fn after_reserving_again(&self, caller: &mut Caller, reply: Reply<Outcome>) {
        match (self.rules.after_reserving_again)(reply) {
            Superseded::ConflictAndGiveBack { attempt } => {
                caller.attempt = attempt as u8;
                self.gives_back(caller);
            }
            Superseded::Standing(_) | Superseded::Conflict => caller.end(),
        }
    }

    /// A reservation that did not run is given back.
    fn gives_back(&self, caller: &mut Caller) {
        let op = match (self.rules.give_back)(u32::from(caller.attempt)) {
            GiveBack::Release => Op::Release,
            GiveBack::Abandon => Op::Abandon,
        };
        caller.ask_in_background(Phase::GivingBack(op));
    }

    /// The caller's future is dropped: what is left to do is done in the background.
    pub(super) fn is_dropped(&self, caller: &mut Caller) {
        match caller.phase {
            Phase::Reserving => caller.ask_in_background(Phase::Undoing { hold: caller.hold }),
            Phase::ReservingAgain { hold } => caller.ask_in_background(Phase::Undoing { hold }),
            // Nothing ran yet.
            Phase::Granted | Phase::Starting | Phase::Renewed => self.gives_back(caller),
            Phase::Running => {
                let on_lapse = on_lapse(caller.hold);
                let attempt = u32::from(caller.attempt);
                match (self.rules.close)(End::Unknown, attempt, on_lapse, caller.superseded) {
                    Close::Abandon => caller.ask_in_background(Phase::GivingBack(Op::Abandon)),
                    _ => caller.end(),
                }
            }
            Phase::Closing(op) => {
                caller.gone = true;
                caller.ask(Phase::Closing(op));
            }
            // Once more, from the start.
            Phase::GivingBack(op) => caller.ask(Phase::GivingBack(op)),
            Phase::Undoing { .. } | Phase::RenewingLater | Phase::CompletingLater | Phase::Over => {
            }
        }
    }
}

impl Caller {
    /// Whether it is running, as this holder.
    pub(super) fn runs_as(&self, held: Held) -> bool {
        self.phase == Phase::Running && self.is_alive_as(held)
    }

    /// Whether it still does anything as this holder.
    pub(super) fn is_alive_as(&self, held: Held) -> bool {
        self.phase != Phase::Over
            && self.serial == held.by.serial
            && (self.attempt == held.attempt || self.attempt == 0)
    }
}
