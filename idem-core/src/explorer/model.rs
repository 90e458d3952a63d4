//! What is explored in one search: the bounds, the rules, and where it starts.

use super::invariants::Invariant;
use super::rules::Rules;
use super::stored;
use super::world::{CALLERS, Caller, Ghosts, Operator, Phase, World};
use crate::{Operation, ReserveRequest, Terms};

/// The bounds of a search. All instants are in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) name: &'static str,
    /// How many of the callers come at all.
    pub(super) callers: usize,
    /// For each caller, whether it asks `Hold`.
    pub(super) holds: [bool; CALLERS],
    pub(super) lease: u8,
    pub(super) retention: u8,
    pub(super) longest_age: Option<u8>,
    /// Where set, handlers charge, and charges are counted.
    pub(super) provider: Option<Provider>,
    /// Sends of one call, before it counts as unanswered.
    pub(super) sends: u8,
    /// Resends of all calls of all callers together.
    pub(super) resends: u8,
    /// Late copies under way at a time, of all callers together.
    pub(super) copies: usize,
    /// Renewals by the heartbeat of one run.
    pub(super) beats: u8,
    /// Background rounds for an unrecorded answer.
    pub(super) rounds: u8,
    /// How often a caller that is through begins anew, with a new token.
    pub(super) retries: u8,
    /// How often an operator looks at the record, and resolves what was shown.
    pub(super) looks: u8,
    /// What an operator says of a holder, that he is dead, is true.
    pub(super) operator_is_right: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Provider {
    /// For how long it remembers a derived key.
    pub(super) window: u8,
    /// How long after its start a handler may still charge.
    pub(super) handler: u8,
}

pub(super) struct Model {
    pub(super) config: Config,
    pub(super) rules: Rules,
    /// Look for violations of this one only. `None`: of all.
    pub(super) only: Option<Invariant>,
    pub(super) operation: Operation,
    pub(super) terms: Terms,
    pub(super) requests: Vec<ReserveRequest>,
    /// Asks for something else under the same key.
    pub(super) stranger: ReserveRequest,
}

impl Model {
    pub(super) fn new(config: Config, rules: Rules) -> Self {
        Self {
            config,
            rules,
            only: None,
            operation: stored::operation(),
            terms: config.terms(),
            requests: stored::requests(&config),
            stranger: stored::stranger(&config),
        }
    }

    /// A vacant key, and every caller asks for it.
    pub(super) fn start(&self) -> World {
        let caller = |hold| Caller {
            hold,
            phase: Phase::Reserving,
            serial: 0,
            retries: self.config.retries,
            attempt: 0,
            sends: 1,
            deadline: 0,
            beats: 0,
            rounds: 0,
            superseded: false,
            gone: false,
            handler: 0,
            charged: false,
            current: false,
            copies: [None; _],
        };
        let mut callers = self.config.holds.map(caller);
        for absent in &mut callers[self.config.callers..] {
            absent.retries = 0;
            absent.end();
        }
        World {
            record: None,
            callers,
            operator: Operator {
                looks: self.config.looks,
                shown: None,
            },
            provider: 0,
            resends: self.config.resends,
            ghosts: Ghosts {
                holder: None,
                recorded: None,
                unsettled: None,
                charges: 0,
            },
        }
    }

    /// Up to where ages are told apart.
    pub(super) fn oldest(&self) -> u8 {
        self.config.longest_age.unwrap_or(0)
    }
}
