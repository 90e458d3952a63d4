//! A state of the explored system: one record, the caches in front of it, callers on two nodes, the
//! cache calls that are still under way, and the one note (ghost) that the invariants need.
//!
//! Instants are ticks that are *left* from now, as in the [explorer](crate::explorer): the clock needs
//! no bound.

/// How many callers there are.
pub(super) const CALLERS: usize = 3;

/// How many nodes, and so caches where each has its own.
pub(super) const NODES: usize = 2;

/// How many cache calls can be late at a time at most.
pub(super) const LATE: usize = 2;

/// The answer that an operator records. Callers' answers have the numbers of their tokens.
pub(super) const OPERATOR: u8 = CALLERS as u8;

/// A token that none of the callers has, and who holds it asks for what the first fingerprint asks for.
pub(super) const NEWCOMER: u8 = CALLERS as u8 + 1;

/// The same for the second fingerprint.
pub(super) const STRANGER: u8 = CALLERS as u8 + 2;

/// Who asks: the callers, and those who are asked about in every state.
pub(super) const ASKERS: [u8; 5] = [0, 1, 2, NEWCOMER, STRANGER];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) record: Option<Record>,
    /// The second is used only where each node has its own.
    pub(super) caches: [Option<Kept>; NODES],
    pub(super) late: [Option<Late>; LATE],
    pub(super) callers: [Caller; CALLERS],
    /// How many more calls of the store will be sent again.
    pub(super) resends: u8,
    /// How many more times an operator changes the record past the caches.
    pub(super) looks: u8,
    /// Ghost: for how many more ticks a false conflict is allowed.
    pub(super) excused: u8,
}

/// The stored record. Its fingerprint is the one of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) token: u8,
    pub(super) attempt: u8,
    /// Ticks until its retention ends; 0: over.
    pub(super) retention: u8,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    InFlight {
        /// Ticks until its lease ends; 0: not live.
        lease: u8,
        started: bool,
        abandoned: bool,
    },
    Completed(u8),
}

/// An entry of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Kept {
    pub(super) what: What,
    pub(super) fingerprint: u8,
    /// Ticks until it ends; of a put under way, its time to live.
    pub(super) left: u8,
    /// Ghost, of a mark: ticks since its put took effect, up to the longest that a mark may last.
    pub(super) age: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum What {
    /// Of this token.
    Mark(u8),
    /// Of this answer.
    Copy(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Put {
    pub(super) kept: Kept,
    pub(super) lands: Lands,
    /// Ghost, of a mark: time has passed since it was sent.
    pub(super) late: bool,
}

/// When a put under way can still take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Lands {
    AnyTime,
    /// Within so many ticks.
    Within(u8),
    Never,
}

/// A cache call that its caller has passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Late {
    pub(super) cache: u8,
    /// `None`: a removal.
    pub(super) put: Option<Put>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    pub(super) phase: Phase,
    /// The attempt that it was granted.
    pub(super) attempt: u8,
    /// Its reserve was sent before, and no answer came.
    pub(super) resent: bool,
    /// Its node's `granted` has its token.
    pub(super) granted: bool,
    /// Renewals that its heartbeat may still send.
    pub(super) beats: u8,
    /// How many more times it asks for what it holds already, without the mark of a resend.
    pub(super) repeats: u8,
    /// Ghost: its reservation was ended past the caches while the store's answer, or the put that
    /// follows it, was under way.
    pub(super) bypassed: bool,
}

/// What the store can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Reserve,
    Renew,
    Complete,
    Abandon,
    Release,
}

/// How far a caller's call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// A reserve looks into the cache.
    Looks,
    /// The mark is being removed, before this call of the store.
    Removes(Op),
    /// A call of the store is under way.
    Asks { op: Op, elapsed: u8 },
    /// The store has answered; the answer is still under way.
    Hears { op: Op, said: Said, elapsed: u8 },
    /// A put is under way.
    Keeps { put: Put, then: Then },
    /// The reservation is held: the handler runs.
    Holds,
    /// Through, or dead.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    /// Planted faults only: the store is asked after the cache was told.
    Asks(Op),
    Holds,
    Over,
}

/// What the store said, of what matters to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Said {
    Reserved { attempt: u8 },
    Stands { answer: u8, remembered: u8 },
    Completed { remembered: u8 },
    Done,
    Superseded,
    Refused,
}

impl Record {
    /// Law R8, restated by hand for what all callers here ask (`RunAgain`).
    pub(super) fn is_forgotten(&self) -> bool {
        self.retention == 0 && !self.is_live()
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, State::InFlight { lease, abandoned: false, .. } if lease > 0)
    }
}

impl Caller {
    pub(super) fn end(&mut self) {
        *self = Self {
            phase: Phase::Over,
            attempt: 0,
            resent: false,
            granted: false,
            beats: 0,
            repeats: 0,
            bypassed: false,
        };
    }
}

impl World {
    /// Leaves a cache call behind, if there is room.
    pub(super) fn leave(&mut self, late: Late) {
        if let Some(free) = self.late.iter_mut().find(|late| late.is_none()) {
            *free = Some(late);
            self.late.sort_unstable();
        }
    }

    pub(super) fn late_calls(&self) -> usize {
        self.late.iter().flatten().count()
    }

    /// One tick later. Whatever lasts longer than `oldest` makes no more difference.
    pub(super) fn tick(&mut self, oldest: u8, longest_mark: u8) {
        if let Some(record) = &mut self.record {
            record.retention = record.retention.saturating_sub(1);
            if let State::InFlight { lease, .. } = &mut record.state {
                *lease = lease.saturating_sub(1);
            }
        }
        for cache in &mut self.caches {
            *cache = cache.and_then(|kept| kept.a_tick_later(longest_mark));
        }
        for late in &mut self.late {
            if let Some(Late { put: Some(put), .. }) = late {
                put.tick();
                if put.lands == Lands::Never {
                    *late = None;
                }
            }
        }
        self.late.sort_unstable();
        for caller in &mut self.callers {
            match &mut caller.phase {
                Phase::Asks { op, elapsed } | Phase::Hears { op, elapsed, .. } if op.keeps() => {
                    *elapsed = (*elapsed + 1).min(oldest);
                }
                Phase::Keeps { put, .. } => put.tick(),
                _ => {}
            }
        }
        self.excused = self.excused.saturating_sub(1);
    }
}

impl Op {
    /// Whether something may be kept after its answer.
    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Reserve | Self::Renew | Self::Complete)
    }
}

impl Kept {
    pub(super) fn is_mark(&self) -> bool {
        matches!(self.what, What::Mark(_))
    }

    fn a_tick_later(mut self, longest_mark: u8) -> Option<Self> {
        self.left -= 1;
        if self.is_mark() {
            self.age = (self.age + 1).min(longest_mark);
        }
        (self.left > 0).then_some(self)
    }
}

impl Put {
    fn tick(&mut self) {
        self.late = self.kept.is_mark();
        self.lands = match self.lands {
            Lands::Within(ticks) => ticks.checked_sub(1).map_or(Lands::Never, Lands::Within),
            lands => lands,
        };
    }
}
