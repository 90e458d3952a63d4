//! What is explored: a table of the very functions that ship. A planted fault replaces one of them.

use crate::executor::protocol::{
    self, AfterStart, Begin, Close, End, GiveBack, Reply, Sequel, Superseded,
};
use crate::machine::{self, Change, Record};
use crate::time::Timestamp;
use crate::{
    Answer, Completion, Holder, OnLapse, Outcome, Progress, ReserveRequest, Terms, Update,
};

pub(super) type Reserve = fn(Option<&Record>, &ReserveRequest, Timestamp) -> (Outcome, Change);
pub(super) type Complete = fn(Option<&Record>, &Holder, &Answer, Timestamp) -> (Completion, Change);
pub(super) type Renew =
    fn(Option<&Record>, &Holder, Terms, Option<&Progress>, Timestamp) -> (Update, Change);
pub(super) type Withdraw = fn(Option<&Record>, &Holder, Timestamp) -> (Update, Change);

#[derive(Clone, Copy)]
pub(super) struct Rules {
    // The state machine.
    pub(super) reserve: Reserve,
    pub(super) complete: Complete,
    pub(super) renew: Renew,
    pub(super) abandon: Withdraw,
    pub(super) release: Withdraw,
    pub(super) is_expired: fn(&Record, Timestamp) -> bool,
    // The executor's decisions.
    pub(super) begin: fn(OnLapse, bool, bool, u32, bool) -> Begin,
    pub(super) start_by: fn(u8, u8, u32, bool) -> u8,
    pub(super) after_start: fn(Reply<Update>, bool) -> AfterStart,
    pub(super) give_back: fn(u32) -> GiveBack,
    pub(super) close: fn(End, u32, OnLapse, bool) -> Close,
    pub(super) after_completing: fn(Reply<Completion>, &Answer) -> Sequel,
    pub(super) after_withdrawing: fn(Reply<Update>) -> Sequel,
    pub(super) after_reserving_again: fn(Reply<Outcome>) -> Superseded,
    // What the executor does around them, and is not a function of its own.
    /// What a superseded attempt asks for when it reserves again.
    pub(super) again: OnLapse,
    /// An answer that stays unrecorded: the key is given back for the next to run.
    pub(super) abandons_unrecorded: bool,
    /// How to tell the store that a run ended is decided while a renewal may still be under way.
    pub(super) decides_before_heartbeat_stops: bool,
}

/// What ships.
pub(super) const SHIPPED: Rules = Rules {
    reserve: machine::reserve,
    complete: machine::complete,
    renew: machine::renew,
    abandon: machine::abandon,
    release: machine::release,
    is_expired: machine::is_expired,
    begin: protocol::begin,
    start_by: protocol::start_by,
    after_start: protocol::after_start,
    give_back: protocol::give_back,
    close: protocol::close,
    after_completing: protocol::after_completing,
    after_withdrawing: protocol::after_withdrawing,
    after_reserving_again: protocol::after_reserving_again,
    again: OnLapse::Hold,
    abandons_unrecorded: false,
    decides_before_heartbeat_stops: false,
};
