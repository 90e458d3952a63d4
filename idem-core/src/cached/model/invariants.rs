//! What must hold of every answer that a cache gives, or would give to anybody who asked.

use std::time::Duration;

use super::config::Model;
use super::stored::{answered, ticks};
use super::world::{ASKERS, Kept, NODES, Record, State, What, World};
use crate::{Outcome, Replay};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invariant {
    /// A replay is the recorded answer of the record that the store remembers at that instant, for the
    /// same fingerprint.
    NoStaleReplay,
    /// Nor does it say that it is remembered for longer than it is.
    NotRememberedForLonger,
    /// A cache never says mismatch.
    NoMismatch,
    /// Only the store grants.
    OnlyTheStoreGrants,
    /// A conflict is one that the store would answer as well: a live lease, of another token and for
    /// the same fingerprint. Unless, no longer ago than a mark may last, a mark was not removed because
    /// the cache failed, a mark's put landed late (or after the record was changed past the caches), or
    /// the record was changed past the caches.
    NoFalseConflict,
    /// And in any case: no conflict once a mark's length has passed since the last call of the cache
    /// took effect.
    MarksEnd,
    /// A hint is more than zero, and at most what is left of the lease.
    HintWithinLease,
    /// Nobody is ever in conflict with himself: one's own mark is no answer, and a resend asks the
    /// store.
    NotWithOneself,
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

    /// Whoever asks now, at whichever node. Nothing of this changes the state.
    pub(super) fn check_what_caches_answer(&self, world: &World) -> Result<(), Violation> {
        for kept in world.caches.iter().take(NODES).flatten() {
            for token in ASKERS {
                if let Some(outcome) = self.found(kept, token) {
                    self.check_answer(world, kept, token, &outcome)?;
                }
            }
        }
        Ok(())
    }

    /// What an entry answers.
    pub(super) fn found(&self, kept: &Kept, token: u8) -> Option<Outcome> {
        let request = self.request(token, false);
        let fingerprint = &request.operation.fingerprint;
        (self.rules.answer)(
            &kept.entry(),
            ticks(kept.left),
            fingerprint,
            Some(request.token),
        )
    }

    pub(super) fn check_answer(
        &self,
        world: &World,
        kept: &Kept,
        token: u8,
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        use Invariant::{NoMismatch, OnlyTheStoreGrants};
        let standing = world.record.filter(|record| {
            !record.is_forgotten()
                && self.config.fingerprint(record.token) == self.config.fingerprint(token)
        });
        match outcome {
            Outcome::Replay(replay) => self.check_replay(standing, replay),
            Outcome::Conflict { retry_after } => {
                self.check_conflict(world, standing, kept, token, *retry_after)
            }
            Outcome::Mismatch => self.check(NoMismatch, false, "a cache said mismatch"),
            Outcome::Reserved { .. } => self.check(OnlyTheStoreGrants, false, "a cache granted"),
        }
    }

    /// `standing`: the record, if the store remembers one for what was asked.
    fn check_replay(&self, standing: Option<Record>, replay: &Replay) -> Result<(), Violation> {
        use Invariant::{NoStaleReplay, NotRememberedForLonger};
        let recorded = standing.filter(
            |record| matches!(record.state, State::Completed(by) if by == answered(&replay.answer)),
        );
        let what = "replayed what the store does not remember";
        self.check(NoStaleReplay, recorded.is_some(), what)?;
        let within = recorded.is_none_or(|record| replay.remembered_for <= ticks(record.retention));
        let what = "said to be remembered for longer than it is";
        self.check(NotRememberedForLonger, within, what)
    }

    fn check_conflict(
        &self,
        world: &World,
        standing: Option<Record>,
        kept: &Kept,
        token: u8,
        retry_after: Option<Duration>,
    ) -> Result<(), Violation> {
        use Invariant::{HintWithinLease, MarksEnd, NoFalseConflict, NotWithOneself};
        let own = kept.what == What::Mark(token);
        self.check(NotWithOneself, !own, "one's own mark was a conflict")?;
        let ended = kept.age >= self.config.longest_mark;
        self.check(MarksEnd, !ended, "a conflict after a mark's length")?;
        let hint = retry_after.filter(|hint| !hint.is_zero());
        self.check(HintWithinLease, hint.is_some(), "a conflict without a hint")?;
        let lease = standing.filter(|record| record.token != token);
        let lease = lease.and_then(|record| match record.state {
            State::InFlight { lease, .. } if record.is_live() => Some(ticks(lease)),
            _ => None,
        });
        let excused = world.excused > 0;
        let Some(lease) = lease else {
            return self.check(NoFalseConflict, excused, "nobody else holds a live lease");
        };
        let within = hint.is_none_or(|hint| hint <= lease);
        let what = "a hint beyond what is left of the lease";
        self.check(HintWithinLease, within || excused, what)
    }
}
