//! What must hold in every state and of every step, and how a violation is told.

use super::model::Model;
use super::world::{Held, NEWCOMER, Op, Record, State, World};
use crate::Outcome;
use crate::machine::Change;

/// The invariants, by the words of the design's section 4 where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invariant {
    /// Of one record, at most one recorded answer; replays are only ever that one, and nobody is told
    /// that his answer is recorded when another one is.
    OneAnswer,
    /// An attempt that was told that it is superseded never sends its own answer. (A resent abandon or
    /// release that finds its work done is told so too, and that does not count.)
    SupersededIsSilent,
    /// A write by anybody but the current holder changes nothing, and is told so.
    DeadTokenNeverWrites,
    /// The current holder is never told that he is superseded, unless he abandoned.
    HolderIsHeard,
    /// Under `RunAgain`, within the longest age, nothing is stuck once its lease lapsed; and what
    /// never started is never stuck.
    NothingStuck,
    /// A started effect of a caller that asked `Hold` never runs a second time without a resolution,
    /// and a caller that asks `Hold` never takes over what may have run.
    HoldRunsOnce,
    /// With a provider that remembers long enough, one charge per record.
    OneCharge,
    /// No handler starts but under its own live lease. (Where an operator may call a living holder
    /// dead, this is not checked.)
    StartsUnderItsLease,
    /// A superseded attempt that reserves again takes nothing from a successor that may be running.
    TakesNothingFromSuccessor,
    /// An abandoned record is never live again but by a new attempt, and a started reservation is not
    /// granted again.
    NoWayBack,
    /// A record is forgotten only when it is expired or released: a live lease, an unresolved record
    /// and a retention that is not over keep it. Retention ends never move towards now, and at least
    /// half of it is left where the law says so.
    Kept,
    /// Attempts count up by one; what is refused changes nothing; a hint is more than zero and at most
    /// what is left of the lease; another fingerprint is a mismatch.
    Orderly,
}

#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) invariant: Invariant,
    pub(super) what: &'static str,
}

impl Model {
    /// `Err` if `holds` is false and the invariant is one that this search looks at.
    pub(super) fn check(
        &self,
        invariant: Invariant,
        holds: bool,
        what: &'static str,
    ) -> Result<(), Violation> {
        if holds || self.only.is_some_and(|only| only != invariant) {
            return Ok(());
        }
        Err(Violation { invariant, what })
    }

    /// What a write may do to the record, whoever wrote it.
    pub(super) fn check_write(
        &self,
        op: Op,
        by: Held,
        superseded: bool,
        before: &World,
        after: Option<Record>,
    ) -> Result<(), Violation> {
        use Invariant::{DeadTokenNeverWrites, HolderIsHeard, Kept, NoWayBack, OneAnswer, Orderly};
        let changed = before.record != after;
        let standing = before.record.filter(|record| !record.may_be_forgotten());
        if standing.is_none() || before.ghosts.holder != Some(by) {
            self.check(DeadTokenNeverWrites, !changed, "a dead token wrote")?;
            let told = "a dead token was not told that it is superseded";
            return self.check(DeadTokenNeverWrites, superseded, told);
        }
        let Some(standing) = standing else {
            return Ok(());
        };
        let withdrawn = matches!(
            standing.state,
            State::InFlight {
                abandoned: true,
                ..
            }
        );
        let heard = !superseded || (withdrawn && op == Op::Renew);
        self.check(
            HolderIsHeard,
            heard,
            "the holder was told that he is superseded",
        )?;
        let State::InFlight {
            abandoned, lease, ..
        } = standing.state
        else {
            return self.check(OneAnswer, !changed, "a completed record changed");
        };
        let renewed_when_abandoned = abandoned && op == Op::Renew && changed;
        let back = "an abandoned record was renewed";
        self.check(NoWayBack, !renewed_when_abandoned, back)?;
        let Some(after) = after else {
            return self.check(Kept, op == Op::Release, "forgotten, and not by a release");
        };
        let same = after.holder == standing.holder;
        self.check(Orderly, same, "a write changed who holds the record")?;
        let longer = after.retention >= standing.retention;
        self.check(Kept, longer, "a write made the retention shorter")?;
        let half = !changed || 2 * after.retention >= self.config.retention;
        let what = "less than half the retention is left after a lease ended or an answer";
        let ends = matches!(op, Op::Complete | Op::Abandon);
        self.check(Kept, half || !ends, what)?;
        if op == Op::Renew
            && let State::InFlight { lease: renewed, .. } = after.state
        {
            let longer = renewed >= lease && (!changed || renewed >= self.config.lease);
            self.check(Orderly, longer, "a renewal made the lease shorter")?;
        }
        Ok(())
    }

    /// Who may be granted a record that stands. (`again`: by a superseded attempt.)
    pub(super) fn check_takeover(
        &self,
        hold: bool,
        again: bool,
        old: &Record,
        new: &Record,
        world: &World,
    ) -> Result<(), Violation> {
        use Invariant::{HoldRunsOnce, Kept, NoWayBack, Orderly, TakesNothingFromSuccessor};
        let counted = new.holder.attempt == old.holder.attempt + 1 && new.age == old.age;
        self.check(Orderly, counted, "a takeover is not the next attempt")?;
        let longer = new.retention >= old.retention;
        self.check(Kept, longer, "a takeover made the retention shorter")?;
        let State::InFlight {
            abandoned, started, ..
        } = old.state
        else {
            return self.check(
                Invariant::OneAnswer,
                false,
                "a completed record was taken over",
            );
        };
        if abandoned {
            return Ok(());
        }
        self.check(NoWayBack, !old.is_live(), "a live lease was taken over")?;
        let may_have_run = started || !old.hold;
        let held = "taken over for a caller that asked to hold what may have run";
        self.check(HoldRunsOnce, !(hold && may_have_run), held)?;
        let successor = world.callers.get(old.holder.by.caller as usize);
        let runs = successor.is_some_and(|caller| caller.runs_as(old.holder));
        let taken = "taken from a successor that is running";
        self.check(TakesNothingFromSuccessor, !(again && runs), taken)
    }

    /// What a newcomer would find in this state. Nothing of this changes the state.
    pub(super) fn check_state(&self, world: &World) -> Result<(), Violation> {
        use Invariant::{Kept, NothingStuck, Orderly};
        let Some(record) = world.record else {
            return Ok(());
        };
        let State::InFlight {
            lease,
            started,
            abandoned,
        } = record.state
        else {
            return Ok(());
        };
        let stored = self.stored(&record);
        let now = self.now(0);
        let live = record.is_live();
        let expired = (self.rules.is_expired)(&stored, now);
        self.check(Kept, !(live && expired), "a live lease is expired")?;
        let ask = |hold, later| {
            let request = self.request(NEWCOMER, hold);
            (self.rules.reserve)(Some(&stored), request, self.now(later))
        };
        if live {
            let (outcome, change) = ask(false, 0);
            let fits = matches!(outcome, Outcome::Conflict { retry_after: Some(hint) }
                if !hint.is_zero() && hint.as_millis() <= u128::from(lease));
            let what = "a live lease did not answer a conflict with a hint within it";
            self.check(Orderly, fits && change == Change::Keep, what)?;
        }
        if !record.may_be_forgotten() {
            let (outcome, change) = (self.rules.reserve)(Some(&stored), &self.stranger, now);
            let refused = outcome == Outcome::Mismatch && change == Change::Keep;
            self.check(Orderly, refused, "another fingerprint was not a mismatch")?;
        }
        // As soon as the lease has lapsed.
        let later = if abandoned { 0 } else { lease };
        let young = self
            .config
            .longest_age
            .is_none_or(|longest| record.age.saturating_add(later) < longest);
        let hold = record.hold && !abandoned;
        if young && !(hold && started) {
            let (outcome, _) = ask(hold, later);
            let granted = matches!(outcome, Outcome::Reserved { .. });
            self.check(NothingStuck, granted, "refused although the lease lapsed")?;
        }
        Ok(())
    }
}
