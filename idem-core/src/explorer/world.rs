//! A state of the explored system: one record, its callers, what is under way between them, and the
//! few notes (ghosts) that the invariants need and no real party has.
//!
//! Instants are kept as ticks that are *left* from now, and saturate where nothing asks any more how
//! long ago they passed. So two states that differ by a shift in time are one state, and the clock
//! needs no bound.

/// How many callers there are.
pub(super) const CALLERS: usize = 3;

/// How many late copies a caller can have under way at most.
pub(super) const COPIES: usize = 2;

/// A try at reserving, and so its token; also names the answer that this try would give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Try {
    /// Index of the caller; [`OPERATOR`] for what a person wrote.
    pub(super) caller: u8,
    /// Counts the tries of that caller.
    pub(super) serial: u8,
}

/// The answer that an operator records.
pub(super) const OPERATOR: Try = Try {
    caller: CALLERS as u8,
    serial: 0,
};

/// A token that none of the callers has: to ask what a newcomer would be told.
pub(super) const NEWCOMER: Try = Try {
    caller: CALLERS as u8 + 1,
    serial: 0,
};

/// Who holds or held the record: what every write names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Held {
    pub(super) by: Try,
    pub(super) attempt: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) record: Option<Record>,
    pub(super) callers: [Caller; CALLERS],
    pub(super) operator: Operator,
    /// For how much longer the provider remembers the derived key.
    pub(super) provider: u8,
    /// How many more calls will be sent again.
    pub(super) resends: u8,
    pub(super) ghosts: Ghosts,
}

/// The stored record. What no decision rests on is left out: its fingerprint and terms are always
/// the same, `last_reserved` and progress are only shown and handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) holder: Held,
    pub(super) hold: bool,
    /// Ticks until its retention ends; 0: over.
    pub(super) retention: u8,
    /// Ticks since it was first reserved, up to the longest age that anybody asks for.
    pub(super) age: u8,
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
    Completed(Try),
}

/// What nobody in the system knows, and the invariants speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ghosts {
    /// Who was last told that he holds the record that stands.
    pub(super) holder: Option<Held>,
    /// The answer that was acknowledged as recorded, of the record that stands.
    pub(super) recorded: Option<Try>,
    /// The run under `Hold` whose effect may have happened, and that nobody has settled: neither its
    /// own handler by an abandonment or a release, nor an operator, nor a recorded answer that was
    /// remembered to its end.
    pub(super) unsettled: Option<Try>,
    /// Charges of the record that stands.
    pub(super) charges: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Caller {
    /// What its executor asks for if a lease lapses.
    pub(super) hold: bool,
    pub(super) phase: Phase,
    /// The serial of its current try.
    pub(super) serial: u8,
    /// How many more times it will begin anew, with a new token, once it is through.
    pub(super) retries: u8,
    /// The attempt that it was granted.
    pub(super) attempt: u8,
    /// Sends of the call that is under way.
    pub(super) sends: u8,
    /// Ticks until its lease is over by its own count.
    pub(super) deadline: u8,
    /// Renewals that the heartbeat of its run may still send.
    pub(super) beats: u8,
    /// Rounds in which an unrecorded completion is still sent in the background.
    pub(super) rounds: u8,
    /// It was told that another attempt took over (or that somebody settled the operation).
    pub(super) superseded: bool,
    /// Its future was dropped: it goes on in the background, and answers nobody.
    pub(super) gone: bool,
    /// Ticks in which its handler may still charge.
    pub(super) handler: u8,
    /// Its handler has charged.
    pub(super) charged: bool,
    /// Its reservation is of the record that stands, not of one that is gone. Kept only where charges
    /// are counted.
    pub(super) current: bool,
    /// Calls of its own that were given up, and may be applied at any later time.
    pub(super) copies: [Option<Late>; COPIES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Late {
    pub(super) op: Op,
    pub(super) serial: u8,
    pub(super) attempt: u8,
}

/// What a store can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Op {
    Reserve { hold: bool },
    Renew,
    Complete,
    Abandon,
    Release,
}

/// How far a caller has come. "Asks": a call is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Phase {
    /// Asks for the reservation.
    Reserving,
    /// The store granted it; the caller does not know yet.
    Granted,
    /// Asks for the renewal that starts it.
    Starting,
    /// The store renewed; the caller does not know yet.
    Renewed,
    /// The handler runs.
    Running,
    /// Tells the store how the run ended.
    Closing(Op),
    /// Superseded: reserves again.
    ReservingAgain { hold: bool },
    /// Background: reserves once more with the same token, to give back what it may have made.
    Undoing { hold: bool },
    /// Gives back a reservation that will not run, or whose run was dropped.
    GivingBack(Op),
    /// Background: renews before an unrecorded answer is sent once more.
    RenewingLater,
    /// Background: sends the unrecorded answer once more.
    CompletingLater,
    /// Through, or dead.
    Over,
}

/// A person who looks at the record once, and writes later with the holder that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Operator {
    /// How many more times.
    pub(super) looks: u8,
    pub(super) shown: Option<Held>,
}

impl Record {
    /// The law about expiry (section 2 of the design), restated by hand: what the checks compare the
    /// machine with.
    pub(super) fn may_be_forgotten(&self) -> bool {
        self.retention == 0
            && match self.state {
                State::Completed(_) => true,
                State::InFlight {
                    abandoned: true, ..
                } => true,
                State::InFlight { lease, started, .. } => lease == 0 && !(self.hold && started),
            }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, State::InFlight { lease, abandoned: false, .. } if lease > 0)
    }
}

impl Caller {
    pub(super) fn held(&self, index: usize) -> Held {
        Held {
            by: self.current_try(index),
            attempt: self.attempt,
        }
    }

    pub(super) fn current_try(&self, index: usize) -> Try {
        Try {
            caller: index as u8,
            serial: self.serial,
        }
    }

    /// Enters a phase in which a call is under way, sent for the first time.
    pub(super) fn ask(&mut self, phase: Phase) {
        self.phase = phase;
        self.sends = 1;
        self.deadline = 0;
    }

    /// Goes on with a call in which nothing matters any more of how the run went, or of who is to be
    /// answered.
    pub(super) fn ask_in_background(&mut self, phase: Phase) {
        *self = Self {
            beats: 0,
            rounds: 0,
            superseded: false,
            gone: false,
            handler: 0,
            charged: false,
            current: false,
            ..*self
        };
        self.ask(phase);
    }

    /// Nothing is left to do. Whatever this caller knew is forgotten: only what it left in the
    /// network, and its right to begin anew, matter from here on.
    pub(super) fn end(&mut self) {
        self.ask_in_background(Phase::Over);
        self.sends = 0;
        self.attempt = 0;
        if self.retries == 0 {
            self.serial = 0;
        }
    }

    /// Whether dropping its future changes nothing.
    pub(super) fn is_in_background(&self) -> bool {
        match self.phase {
            Phase::Undoing { .. } | Phase::RenewingLater | Phase::CompletingLater | Phase::Over => {
                true
            }
            Phase::Closing(_) => self.gone,
            _ => false,
        }
    }

    /// Leaves a call behind, to be applied at any later time.
    pub(super) fn leave_copy(&mut self, late: Late) {
        if let Some(free) = self.copies.iter_mut().find(|copy| copy.is_none()) {
            *free = Some(late);
            self.copies.sort_unstable();
        }
    }
}

impl World {
    pub(super) fn copies_under_way(&self) -> usize {
        let of_one = |caller: &Caller| caller.copies.iter().flatten().count();
        self.callers.iter().map(of_one).sum()
    }

    /// One tick later.
    pub(super) fn tick(&mut self, longest_age: u8) {
        if let Some(record) = &mut self.record {
            record.retention = record.retention.saturating_sub(1);
            if let State::InFlight { lease, .. } = &mut record.state {
                *lease = lease.saturating_sub(1);
                record.age = (record.age + 1).min(longest_age);
            }
        }
        for caller in &mut self.callers {
            caller.deadline = caller.deadline.saturating_sub(1);
            caller.handler = caller.handler.saturating_sub(1);
        }
        self.provider = self.provider.saturating_sub(1);
    }
}
