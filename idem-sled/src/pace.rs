//! How much is written between two syncs.
//!
//! sled takes its log for stable before it is synced, and may write over what it has moved once it has gone on for
//! about two of its segments, a megabyte. If the machine stops then, what was moved may be gone, although it had
//! been synced where it was. So whoever has written much waits for a sync before the next piece. What sled writes of
//! its own accord comes on top, some times as much: hence so little.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::core::{Core, Told};

/// Of what is handed to sled. An eighth of a segment.
const MOST: usize = 64 << 10;

/// What an entry takes beside its value: its key, and what sled notes of it.
const ENTRY: usize = 128;

/// What has been handed to sled since the last commit began.
#[derive(Default)]
pub(crate) struct Pace(AtomicUsize);

impl Pace {
    /// A commit begins: it covers what was written before.
    pub(crate) fn begin(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// An entry was written, or removed.
    pub(crate) fn wrote(&self, value: usize) {
        self.0
            .fetch_add(ENTRY.saturating_add(value), Ordering::SeqCst);
    }
}

impl Core {
    /// After an entry of this length was written or removed, outside of a transaction.
    pub(crate) fn wrote(&self, length: usize) {
        self.pace.wrote(length);
        self.keep_pace();
    }

    /// Outside of a transaction: waits for a commit if much was written since the last.
    pub(crate) fn keep_pace(&self) {
        if self.pace.0.load(Ordering::SeqCst) < MOST {
            return;
        }
        let (tell, told) = mpsc::channel();
        self.commits.when_all_durable(Told::new(move |_| {
            // That it failed is met by the write, or by whoever waits for it.
            let _ = tell.send(());
        }));
        let _ = told.recv();
    }
}
