//! The store: every call is one step of the real state machine on the one record.

use super::config::Model;
use super::stored::{NOW, answer, answered, in_ticks, ticks};
use super::world::{Op, Said, World};
use crate::machine::{self, Change};
use crate::{Completion, Outcome, Replay, Update};

impl Model {
    /// Applies a call of the holder of `token`. (`records`: the answer that a completion records.)
    pub(super) fn apply(
        &self,
        world: &mut World,
        op: Op,
        (token, attempt): (u8, u8),
        records: u8,
    ) -> Said {
        let stored = world.record.map(|record| self.stored(&record));
        let stored = stored.as_ref();
        let request = self.request(token, false);
        let holder = self.holder(token, attempt);
        let (said, change) = match op {
            Op::Reserve => {
                let (outcome, change) = machine::reserve(stored, request, NOW);
                (of_outcome(&outcome), change)
            }
            Op::Complete => {
                let answer = answer(records);
                let (completion, change) = machine::complete(stored, holder, &answer, NOW);
                (of_completion(&completion), change)
            }
            Op::Renew => {
                let (update, change) = machine::renew(stored, holder, self.terms, None, NOW);
                (of_update(&update), change)
            }
            Op::Abandon => {
                let (update, change) = machine::abandon(stored, holder, NOW);
                (of_update(&update), change)
            }
            Op::Release => {
                let (update, change) = machine::release(stored, holder, NOW);
                (of_update(&update), change)
            }
        };
        match change {
            Change::Keep => {}
            Change::Put(record) => world.record = Some(self.kept(&record)),
            Change::Remove => world.record = None,
        }
        said
    }

    /// A janitor's purge of the one record.
    pub(super) fn purge(&self, world: &mut World) {
        world.record = world
            .record
            .filter(|record| !machine::is_expired(&self.stored(record), NOW));
    }
}

fn of_outcome(outcome: &Outcome) -> Said {
    match outcome {
        Outcome::Reserved { attempt, .. } => Said::Reserved {
            attempt: *attempt as u8,
        },
        Outcome::Replay(replay) => stands(replay),
        Outcome::Conflict { .. } | Outcome::Mismatch => Said::Refused,
    }
}

fn of_completion(completion: &Completion) -> Said {
    match completion {
        Completion::Completed { remembered_for } => Said::Completed {
            remembered: in_ticks(*remembered_for),
        },
        Completion::AlreadyCompleted(replay) => stands(replay),
        Completion::Superseded => Said::Superseded,
    }
}

fn of_update(update: &Update) -> Said {
    match update {
        Update::Done => Said::Done,
        Update::AlreadyCompleted(replay) => stands(replay),
        Update::Superseded => Said::Superseded,
    }
}

fn stands(replay: &Replay) -> Said {
    Said::Stands {
        answer: answered(&replay.answer),
        remembered: in_ticks(replay.remembered_for),
    }
}

/// And back: what `Cached` hears.
impl Said {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Reserved { attempt } => Outcome::Reserved {
                attempt: u32::from(attempt),
                progress: None,
            },
            Self::Refused => Outcome::Conflict { retry_after: None },
            said => Outcome::Replay(said.replay()),
        }
    }

    pub(super) fn completion(self) -> Completion {
        match self {
            Self::Completed { remembered } => Completion::Completed {
                remembered_for: ticks(remembered),
            },
            Self::Superseded => Completion::Superseded,
            said => Completion::AlreadyCompleted(said.replay()),
        }
    }

    pub(super) fn update(self) -> Update {
        match self {
            Self::Done => Update::Done,
            Self::Superseded => Update::Superseded,
            said => Update::AlreadyCompleted(said.replay()),
        }
    }

    fn replay(self) -> Replay {
        let Self::Stands {
            answer: by,
            remembered,
        } = self
        else {
            unreachable!("{self:?} replays nothing");
        };
        Replay {
            answer: answer(by),
            remembered_for: ticks(remembered),
        }
    }
}
