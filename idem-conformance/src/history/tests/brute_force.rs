//! Another checker, as plain as can be: every order of every choice of the calls.

use std::time::Duration;

use idem_core::Timestamp;
use idem_core::machine::{Change, Record};

use crate::agree::Precision;
use crate::history::recorder::{End, Event, History};

/// Whether any order of its calls explains the history.
pub(super) fn is_linearizable(history: &History, precision: Precision) -> bool {
    let all: Vec<usize> = (0..history.entries.len()).collect();
    let unknown: Vec<usize> = all
        .iter()
        .copied()
        .filter(|at| is_unknown(history, *at))
        .collect();
    // Every choice of the unknown calls that never took effect.
    (0..1_u32 << unknown.len()).any(|choice| {
        let never = |at: &usize| {
            let place = unknown.iter().position(|unknown| unknown == at);
            place.is_some_and(|place| choice & (1 << place) != 0)
        };
        let mut order: Vec<usize> = all.iter().copied().filter(|at| !never(at)).collect();
        let len = order.len();
        some_permutation(&mut order, len, &|order| {
            explains(history, order, precision)
        })
    })
}

fn is_unknown(history: &History, at: usize) -> bool {
    history.entries[at].end.get().is_none()
}

/// Heap's algorithm.
fn some_permutation(order: &mut [usize], len: usize, check: &dyn Fn(&[usize]) -> bool) -> bool {
    if len <= 1 {
        return check(order);
    }
    for at in 0..len {
        if some_permutation(order, len - 1, check) {
            return true;
        }
        order.swap(if len.is_multiple_of(2) { at } else { 0 }, len - 1);
    }
    false
}

fn explains(history: &History, order: &[usize], precision: Precision) -> bool {
    for (place, &earlier) in order.iter().enumerate() {
        for &later in &order[place + 1..] {
            let ended = history.entries[later].ended();
            if ended.is_some_and(|ended| ended < history.entries[earlier].began) {
                return false;
            }
        }
    }
    let mut record: Option<Record> = None;
    let mut now = Duration::ZERO;
    for &at in order {
        match &history.entries[at].event {
            Event::Moved(by) => now += *by,
            Event::Call(call) => {
                let instant = Timestamp::default().saturating_add(now);
                let (right, change) = call.specified(record.as_ref(), instant);
                if let Some(End::Answered(_, seen)) = history.entries[at].end.get()
                    && !precision.agree(seen, &right)
                {
                    return false;
                }
                match change {
                    Change::Put(new) => record = Some(new),
                    Change::Remove => record = None,
                    Change::Keep => {}
                }
            }
        }
    }
    true
}
