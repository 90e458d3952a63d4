//! What is explored in one search: the bounds, the rules, and where it starts.

use std::time::Duration;

use super::invariants::Invariant;
use super::rules::Rules;
use super::stored;
use super::world::{CALLERS, Caller, LATE, NEWCOMER, NODES, Phase, STRANGER, World};
use crate::{Holder, ReserveRequest, Terms};

/// More than there are in any search.
const ATTEMPTS: usize = 10;

/// The bounds of a search. All instants are in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    /// How many of the callers come at all.
    pub(super) callers: usize,
    /// The node of each caller; `None`: a process without the cache.
    pub(super) nodes: [Option<u8>; CALLERS],
    /// What each of them asks for: one of two fingerprints.
    pub(super) asks_for: [u8; CALLERS],
    /// One cache for all nodes. Otherwise each has its own.
    pub(super) shared: bool,
    pub(super) lease: u8,
    pub(super) retention: u8,
    pub(super) longest_mark: u8,
    /// Resends of all calls of the store together.
    pub(super) resends: u8,
    /// Late cache calls at a time.
    pub(super) late: usize,
    /// A copy's put may take effect after any time at all, not only within the time that it was to
    /// last: against the contract of [`Cache::put`](crate::Cache::put).
    pub(super) copies_land_at_any_time: bool,
    /// Renewals by the heartbeat of one caller.
    pub(super) beats: u8,
    pub(super) repeats: u8,
    /// How often an operator changes the record past the caches.
    pub(super) looks: u8,
}

pub(super) struct Model {
    pub(super) config: Config,
    pub(super) rules: Rules,
    /// Look for violations of this one only. `None`: of all.
    pub(super) only: Option<Invariant>,
    pub(super) terms: Terms,
    /// By token; the second of each is marked as a resend.
    requests: Vec<[ReserveRequest; 2]>,
    /// By token and attempt.
    holders: Vec<[Holder; ATTEMPTS]>,
}

impl Model {
    pub(super) fn new(config: Config, rules: Rules) -> Self {
        assert!(config.late <= LATE && config.callers <= CALLERS);
        let terms = Terms::new(stored::ticks(config.lease), stored::ticks(config.retention));
        let terms = terms.unwrap();
        let request = |token| {
            let request = stored::request(token, config.fingerprint(token), terms);
            [request.clone(), request.resent()]
        };
        let holders = |token| {
            let [request, _] = request(token);
            std::array::from_fn(|attempt| stored::holder(&request, attempt as u8))
        };
        let tokens = 0..=STRANGER;
        Self {
            config,
            rules,
            only: None,
            terms,
            requests: tokens.clone().map(request).collect(),
            holders: tokens.map(holders).collect(),
        }
    }

    pub(super) fn request(&self, token: u8, resent: bool) -> &ReserveRequest {
        &self.requests[usize::from(token)][usize::from(resent)]
    }

    pub(super) fn holder(&self, token: u8, attempt: u8) -> &Holder {
        &self.holders[usize::from(token)][usize::from(attempt)]
    }

    /// A vacant key, empty caches, and every caller is about to ask.
    pub(super) fn start_world(&self) -> World {
        let config = &self.config;
        let caller = |index: usize| {
            let mut caller = Caller {
                phase: Phase::Looks,
                attempt: 0,
                resent: false,
                granted: false,
                beats: config.beats,
                repeats: config.repeats,
                bypassed: false,
            };
            if index >= config.callers {
                caller.end();
            }
            caller
        };
        World {
            record: None,
            caches: [None; NODES],
            late: [None; LATE],
            callers: std::array::from_fn(caller),
            resends: config.resends,
            looks: config.looks,
            excused: 0,
        }
    }

    /// The cache that a caller's node asks.
    pub(super) fn cache_of(&self, index: usize) -> Option<usize> {
        let node = self.config.nodes[index]?;
        Some(if self.config.shared {
            0
        } else {
            usize::from(node)
        })
    }

    /// As in `Cached`: only a shared cache keeps marks.
    pub(super) fn longest_mark(&self) -> Duration {
        stored::ticks(if self.config.shared {
            self.config.longest_mark
        } else {
            0
        })
    }

    /// Ticks from which on nothing is kept any more after an answer.
    pub(super) fn oldest(&self) -> u8 {
        self.config.lease.max(self.config.retention.div_ceil(2))
    }
}

impl Config {
    pub(super) fn fingerprint(&self, token: u8) -> u8 {
        match self.asks_for.get(usize::from(token)) {
            Some(&fingerprint) => fingerprint,
            None => u8::from(token > NEWCOMER),
        }
    }
}
