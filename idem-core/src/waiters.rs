//! Who waits for a record to be written. No wake-up is lost: law W1.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use crate::RecordId;
use crate::sync::{Mutex, MutexGuard};

/// Those who wait, by record.
///
/// In the in-memory store they live under the shard's lock, as its records do: a waiter is listed
/// either before a write, and then woken by it, or after it. Where the records live elsewhere, they are
/// taken after the write took effect: who is listed before the write is woken, too.
#[derive(Default)]
pub(crate) struct Waiters {
    listed: HashMap<RecordId, Vec<(u64, Waker)>>,
    last_ticket: u64,
}

impl Waiters {
    fn add(&mut self, id: &RecordId, waker: Waker) -> u64 {
        self.last_ticket += 1;
        self.listed
            .entry(id.clone())
            .or_default()
            .push((self.last_ticket, waker));
        self.last_ticket
    }

    /// Puts `waker` in the place of the one listed, and gives that back; `None` if none is listed.
    fn replace(&mut self, id: &RecordId, ticket: u64, waker: &Waker) -> Option<Waker> {
        let listed = self.listed.get_mut(id)?;
        let (_, slot) = listed.iter_mut().find(|(listed, _)| *listed == ticket)?;
        Some(std::mem::replace(slot, waker.clone()))
    }

    fn remove(&mut self, id: &RecordId, ticket: u64) -> Option<Waker> {
        let listed = self.listed.get_mut(id)?;
        let at = listed.iter().position(|(listed, _)| *listed == ticket)?;
        let (_, waker) = listed.swap_remove(at);
        if listed.is_empty() {
            self.listed.remove(id);
        }
        Some(waker)
    }

    /// Takes all who wait for this record off the list: it was written.
    pub(crate) fn take(&mut self, id: &RecordId) -> Vec<Waker> {
        let listed = self.listed.remove(id).unwrap_or_default();
        listed.into_iter().map(|(_, waker)| waker).collect()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

impl AsMut<Waiters> for Waiters {
    fn as_mut(&mut self) -> &mut Waiters {
        self
    }
}

/// One waiter: listed from its first poll until the record is written or it is dropped.
pub(crate) struct Waiting<'a, L: AsMut<Waiters>> {
    list: &'a Mutex<L>,
    id: &'a RecordId,
    ticket: Option<u64>,
}

impl<'a, L: AsMut<Waiters>> Waiting<'a, L> {
    /// One who will wait in this list, or in what holds it.
    pub(crate) fn new(list: &'a Mutex<L>, id: &'a RecordId) -> Self {
        Self {
            list,
            id,
            ticket: None,
        }
    }

    /// Ready once the record was written after the first poll.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut list = lock(self.list);
        let Some(ticket) = self.ticket else {
            self.ticket = Some(list.as_mut().add(self.id, cx.waker().clone()));
            return Poll::Pending;
        };
        let displaced = list.as_mut().replace(self.id, ticket, cx.waker());
        // Dropping a waker may drop a task, and with it another waiter of this list: unlock first.
        drop(list);
        if displaced.is_some() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl<L: AsMut<Waiters>> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let removed = lock(self.list).as_mut().remove(self.id, ticket);
            // Only now that the list is unlocked, for the reason given in `poll`.
            drop(removed);
        }
    }
}

/// A panic of another thread leaves the list whole: nothing panics half-way through a change to it.
fn lock<L>(list: &Mutex<L>) -> MutexGuard<'_, L> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
