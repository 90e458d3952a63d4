//! Who waits for a record to be written. No wake-up is lost: law W1.

use std::collections::HashMap;
use std::task::{Context, Poll, Waker};

use super::lock;
use super::shard::Shard;
use crate::RecordId;
use crate::sync::Mutex;

/// The waiters of a shard. Lives under the shard's lock, as its records do: a waiter is listed either
/// before a write, and then woken by it, or after it.
#[derive(Default)]
pub(super) struct Waiters {
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
    pub(super) fn take(&mut self, id: &RecordId) -> Vec<Waker> {
        let listed = self.listed.remove(id).unwrap_or_default();
        listed.into_iter().map(|(_, waker)| waker).collect()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

/// One waiter: listed from its first poll until the record is written or it is dropped.
pub(super) struct Waiting<'a> {
    shard: &'a Mutex<Shard>,
    id: &'a RecordId,
    ticket: Option<u64>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(shard: &'a Mutex<Shard>, id: &'a RecordId) -> Self {
        Self {
            shard,
            id,
            ticket: None,
        }
    }

    /// Ready once the record was written after the first poll.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut shard = lock(self.shard);
        let Some(ticket) = self.ticket else {
            self.ticket = Some(shard.waiters.add(self.id, cx.waker().clone()));
            return Poll::Pending;
        };
        let displaced = shard.waiters.replace(self.id, ticket, cx.waker());
        // Dropping a waker may drop a task, and with it another waiter of this shard: unlock first.
        drop(shard);
        if displaced.is_some() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let removed = lock(self.shard).waiters.remove(self.id, ticket);
            // Only now that the shard is unlocked, for the reason given in `poll`.
            drop(removed);
        }
    }
}
