//! What is explored: a table of the very functions that ship. A planted fault replaces one of them.

use std::time::Duration;

use super::super::entry::Entry;
use super::super::rules::{self, Keep};
use super::world::Op;
use crate::{
    Answer, Completion, Fingerprint, Holder, Outcome, ReserveRequest, Terms, Token, Update,
};

pub(super) type AfterRenew = fn(Fingerprint, &Holder, Terms, &Update, Duration, Duration) -> Keep;

#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) may_answer: fn(&ReserveRequest) -> bool,
    pub(super) answer: fn(&Entry, Duration, &Fingerprint, Option<Token>) -> Option<Outcome>,
    pub(super) after_reserve: fn(&ReserveRequest, &Outcome, Duration, Duration) -> Keep,
    pub(super) after_complete: fn(Fingerprint, &Answer, &Completion, Duration) -> Keep,
    pub(super) after_renew: AfterRenew,
    // What `Cached` does around them, and is not a function of its own.
    /// Whether the mark is removed before this call of the store.
    pub(super) removes_before: fn(Op) -> bool,
    /// The mark is put before the store is asked.
    pub(super) marks_first: bool,
    /// The copy is put before the store is told of the completion.
    pub(super) copies_first: bool,
    /// A put that failed is sent again.
    pub(super) puts_again: bool,
}

/// What ships.
pub(super) const SHIPPED: Rules = Rules {
    may_answer: rules::may_answer,
    answer: rules::answer,
    after_reserve: rules::after_reserve,
    after_complete: rules::after_complete,
    after_renew: rules::after_renew,
    removes_before: |op| matches!(op, Op::Complete | Op::Abandon | Op::Release),
    marks_first: false,
    copies_first: false,
    puts_again: false,
};
